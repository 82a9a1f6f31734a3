# A trace of `dpsim run --trace` as rows for timeline.gp: row start_ms end_ms kind, of the first process
# (a class of GPUs) only; and the names of its streams as comment lines "# stream ROW NAME". Time counts
# from the first forward kernel: the host issues work long before, which would leave the figure empty.
# Spans of one kind that follow each other are one, and a stream on which nothing can be seen is left out.
function value(key,    text) {
    if (!match($0, "\"" key "\": (\"[^\"]*\"|[-0-9.e+]+)")) return ""
    text = substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4)
    gsub(/"/, "", text)
    return text
}
value("pid") != "0" { next }
/"thread_name"/ {
    tid = streams[++n_streams] = value("tid")
    match($0, /"args": [{]"name": "[^"]*"/)
    name[tid] = substr($0, RSTART + 18, RLENGTH - 19)
}
/"ph": "X"/ {
    n++
    stream[n] = value("tid"); kind[n] = value("cat")
    start[n] = value("ts") / 1000; end[n] = start[n] + value("dur") / 1000
    gsub(/ /, "_", kind[n])
    if (kind[n] == "forward" && (zero == "" || start[n] < zero)) zero = start[n]
    if (end[n] > last) last = end[n]
}
function draw(row, from, to, what) { printf "%d %.6f %.6f %s\n", row, from, to, what }
END {
    visible = (last - zero) / 2000
    for (s = 1; s <= n_streams; s++) {
        busy = 0
        for (i = 1; i <= n; i++)
            if (stream[i] == streams[s] && end[i] > zero) busy += end[i] - (start[i] > zero ? start[i] : zero)
        if (busy < visible) continue
        print "# stream " row + 0 " " name[streams[s]]
        open = ""
        for (i = 1; i <= n; i++) {
            if (stream[i] != streams[s] || end[i] <= zero) continue
            if (start[i] < zero) start[i] = zero
            # communication keeps its gaps: each span is a collective
            if (open == kind[i] && open != "communication" && start[i] - to < visible) { to = end[i]; continue }
            if (open != "") draw(row, from - zero, to - zero, open)
            open = kind[i]; from = start[i]; to = end[i]
        }
        if (open != "") draw(row, from - zero, to - zero, open)
        row++
    }
}
