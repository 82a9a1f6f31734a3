#!/bin/sh
# Scores the published tables: their part of docs/validation.md, and today's headline.
#
#   DPSIM=./dpsim docs/validation.sh OUT [PNG_DIR]
#
# OUT/tables.md      scores of every table, by half, size, kind and group, with baselines
# OUT/headline.now   one line per number of the headline: table, name, value
# OUT/check.block    the headline as README.md shows it
# OUT/scale-up.md    constants of a few servers judged on many (docs/scale-up.sh)
# OUT/interval.md    how often 90 % intervals hold, and how wide they are (reads OUT/interval.txt of demo.awk, if there)
# OUT/limits.block   the sentence of README.md on steps without a measurement
# PNG_DIR/TABLE.png  predicted against measured, where asked for (needs gnuplot)
set -eu
dpsim=${DPSIM:-./dpsim}
out=$1
pictures=${2:-}
cd "$(dirname "$0")/.."

# number NAME — of an object on one line (standard input)
number() {
    sed -n "s/.*\"$1\": \([-0-9.e+]*\).*/\1/p"
}

headline() { # TABLE — from its JSON
    json=$out/$1.json
    overall=$(sed -n 's/^  "overall": //p' "$json")
    rows=$(sed -n 's/^  "rows": \([0-9]*\).*/\1/p' "$json")
    suspect=$(sed -n 's/^  "suspect": \([0-9]*\).*/\1/p' "$json")
    covered=$(sed -n 's/^  "covered": \([0-9]*\).*/\1/p' "$json")
    better=$(sed -n 's/^  "groups_better_than_moved": \([0-9]*\).*/\1/p' "$json")
    moved=$(sed -n 's/^  "groups_moved": \([0-9]*\).*/\1/p' "$json")
    echo "$1 covered $(awk "BEGIN { printf \"%.4f\", $covered / ($rows - $suspect) }")"
    echo "$1 median_abs_err $(echo "$overall" | number median_abs_err)"
    echo "$1 within_25 $(echo "$overall" | number within_25)"
    echo "$1 median_of_groups $(sed -n 's/^  "median_of_groups": \([-0-9.e+]*\).*/\1/p' "$json")"
    half_b=$(sed -n '/^  "halves"/,/^  ]/s/^ *\({"id": "b".*\)/\1/p' "$json")
    echo "$1 interval_coverage_b $(echo "$half_b" | number interval_coverage)"
    echo "$1 interval_score_b $(echo "$half_b" | number interval_score)"
    echo "$1 groups_better $(awk "BEGIN { printf \"%.4f\", $moved ? $better / $moved : 0 }")"
    sed -n 's/^ *{"id": "> 64 MB".*"median_abs_err": \([-0-9.e+]*\), "mean_.*/\1/p' "$json" |
        while read -r value; do echo "$1 above_64MB_median_abs_err $value"; done
    sed -n '/^  "scaling"/,/"series"/s/^    "median_abs_points": \([-0-9.e+]*\).*/\1/p' "$json" |
        while read -r value; do echo "$1 efficiency_median_points $value"; done
}

: >"$out/headline.now"
: >"$out/tables.md"
{
    echo
    echo '| published table | rows covered | median error | within 25 % | baseline, moved | groups better than it |'
    echo '|---|---|--:|--:|--:|--:|'
} >"$out/check.block"
check_table() { # TABLE
    "$dpsim" check --table "tests/published/$1.csv" --json --report "$out/$1.md" \
        ${pictures:+--plot "$pictures/$1.png"} >"$out/$1.json"
}
check_table collectives &
collectives=$!
check_table training
wait $collectives
for table in collectives training; do
    headline $table >>"$out/headline.now"
    {
        echo
        sed 's/^# .*/## Published '"$table"'/' "$out/$table.md"
        printf '\n![predicted against measured](%s.png)\n' $table
    } >>"$out/tables.md"
    overall=$(sed -n 's/^  "overall": //p' "$out/$table.json")
    awk -v table=$table -v n="$(echo "$overall" | number n)" \
        -v all="$(sed -n 's/^  "rows": \([0-9]*\).*/\1/p' "$out/$table.json")" \
        -v suspect="$(sed -n 's/^  "suspect": \([0-9]*\).*/\1/p' "$out/$table.json")" \
        -v median="$(echo "$overall" | number median_abs_err)" -v within="$(echo "$overall" | number within_25)" \
        -v moved="$(echo "$overall" | number moved_median_abs_err)" \
        -v better="$(sed -n 's/^  "groups_better_than_moved": \([0-9]*\).*/\1/p' "$out/$table.json")" \
        -v groups="$(sed -n 's/^  "groups_moved": \([0-9]*\).*/\1/p' "$out/$table.json")" 'BEGIN {
            printf "| %s | %d of %d | %.1f %% | %.0f %% | %.1f %% | %d of %d |\n", table, n, all - suspect,
                100 * median, 100 * within, 100 * moved, better, groups }' >>"$out/check.block"
done
DPSIM=$dpsim docs/scale-up.sh "$out"
cat "$out/scale-up.now" >>"$out/headline.now"
echo >>"$out/check.block"

# interval TABLE NAME JSON — one line of the table of intervals, from a score
interval() {
    echo "$3" | awk -v table="$1" -v name="$2" -v n="$(echo "$3" | number n)" \
        -v coverage="$(echo "$3" | number interval_coverage)" -v width="$(echo "$3" | number interval_width)" \
        -v score="$(echo "$3" | number interval_score)" 'BEGIN {
            printf "| %s | %s | %d | %.1f %% | %.0f %% | %.2f |\n", table, name, n, 100 * coverage, 100 * (exp(width) - 1), score }'
}
{
    echo '| runs | which | rows | inside 90 % | half-width | interval score |'
    echo '|---|---|--:|--:|--:|--:|'
    for table in collectives training; do
        for half in a b; do
            interval $table "half $half" "$(sed -n '/^  "halves"/,/^  ]/s/^ *\({"id": "'$half'".*\)/\1/p' "$out/$table.json")"
        done
    done
    sed -n '/^  "bands"/,/^  ]/s/^ *\({"id".*\)/\1/p' "$out/collectives.json" | while read -r line; do
        interval collectives "$(echo "$line" | sed 's/{"id": "\([^"]*\)".*/\1/')" "$line"
    done
    [ ! -f "$out/interval.txt" ] || awk '{ printf "| demo | one GPU given | %d | %.1f %% | %.0f %% | %.2f |\n", $1, 100 * $2, 100 * (exp($3) - 1), $4 }' "$out/interval.txt"
} >"$out/interval.md"
overall=$(sed -n 's/^  "overall": //p' "$out/training.json")
awk -v median="$(echo "$overall" | number median_abs_err)" -v within="$(echo "$overall" | number within_25)" \
    -v n="$(echo "$overall" | number n)" 'BEGIN {
        printf "Without a measurement, training steps are predicted to %.1f %% in the median, and %.0f %% of %d published runs within\n", 100 * median, 100 * within, n
        print "25 %; small batches of many small kernels are mostly predicted too fast." }' >"$out/limits.block"
