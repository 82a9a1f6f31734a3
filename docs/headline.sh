#!/bin/sh
# The headline: numbers of the published tables that may not get worse than they were recorded by more
# than their margin. Getting better is fine, and `make headline` records it. Some have bounds ("least", "most")
# that hold whatever was recorded: an interval that holds too often is as wrong as one that holds too rarely.
#
#   docs/headline.sh NOW            compare (NOW: lines "table name value" of docs/validation.sh)
#   docs/headline.sh NOW --record   write the values of NOW, keep the margins
set -eu
cd "$(dirname "$0")/.."
recorded=tests/published/headline.json
awk -v record="${2:-}" -v recorded=$recorded '
    function text(line, key) { return match(line, "\"" key "\": \"[^\"]*\"") ? substr(line, RSTART + length(key) + 5, RLENGTH - length(key) - 6) : "" }
    function number(line, key) { return match(line, "\"" key "\": [-0-9.e+]+") ? substr(line, RSTART + length(key) + 4, RLENGTH - length(key) - 4) : "" }
    FNR == NR { now[$1 " " $2] = $3; n_now++; next }
    !/"table":/ { if (record) print; next }
    {
        n++
        name = text($0, "table") " " text($0, "name")
        was = number($0, "value")
        margin = number($0, "margin") + 0
        if (!(name in now)) { print "headline: no " name " now" > "/dev/stderr"; bad = 1; next }
        worse = text($0, "better") == "more" ? was - now[name] : now[name] - was
        least = number($0, "least"); most = number($0, "most")
        if ((least != "" && now[name] < least) || (most != "" && now[name] > most)) {
            printf "headline: %s is %.4g, outside of %g to %g (%s)\n", name, now[name], least, most, recorded > "/dev/stderr"
            bad = 1
        }
        if (record) { sub("\"value\": [-0-9.e+]+", "\"value\": " sprintf("%.4g", now[name])); print }
        else if (worse > margin) {
            printf "headline: %s is %.4g, was %.4g: worse by more than the margin %g (%s)\n", name, now[name], was, margin, recorded > "/dev/stderr"
            bad = 1
        }
    }
    END { if (n != n_now) { print "headline: " n_now " numbers now, " n " recorded" > "/dev/stderr"; bad = 1 }; exit bad }
' "$1" $recorded >build/docs/headline.json
[ "${2:-}" != --record ] || cat build/docs/headline.json >$recorded
