# A trace of `dpsim run --trace` as rows for timeline.gp: stream start_ms end_ms kind, of the first process
# (a class of GPUs) only; and the names of its streams, as comment lines "# stream N NAME".
function value(key,    text) {
    if (!match($0, "\"" key "\": (\"[^\"]*\"|[-0-9.e+]+)")) return ""
    text = substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4)
    gsub(/"/, "", text)
    return text
}
value("pid") != "0" { next }
/"thread_name"/ {
    match($0, /"args": \{"name": "[^"]*"/)
    print "# stream " value("tid") " " substr($0, RSTART + 18, RLENGTH - 19)
}
/"ph": "X"/ {
    kind = value("cat")
    gsub(/ /, "_", kind)
    printf "%d %.6f %.6f %s\n", value("tid"), value("ts") / 1000, (value("ts") + value("dur")) / 1000, kind
}
