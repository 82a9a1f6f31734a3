# A trace of `dpsim run --trace` as rows for timeline.gp: stream start_ms end_ms kind, of the first process
# (a class of GPUs) only; and the names of its streams, as comment lines "# stream N NAME". Time counts
# from the first forward kernel: the host issues work long before, which would leave the figure empty.
function value(key,    text) {
    if (!match($0, "\"" key "\": (\"[^\"]*\"|[-0-9.e+]+)")) return ""
    text = substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4)
    gsub(/"/, "", text)
    return text
}
value("pid") != "0" { next }
/"thread_name"/ {
    match($0, /"args": [{]"name": "[^"]*"/)
    name = substr($0, RSTART + 18, RLENGTH - 19)
    print "# stream " value("tid") " " name
}
/"ph": "X"/ {
    n++
    stream[n] = value("tid"); kind[n] = value("cat")
    start[n] = value("ts") / 1000; end[n] = start[n] + value("dur") / 1000
    gsub(/ /, "_", kind[n])
    if (kind[n] == "forward" && (zero == "" || start[n] < zero)) zero = start[n]
}
END {
    for (i = 1; i <= n; i++)
        if (end[i] > zero)
            printf "%d %.6f %.6f %s\n", stream[i], (start[i] > zero ? start[i] - zero : 0), end[i] - zero, kind[i]
}
