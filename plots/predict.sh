#!/bin/sh
# Predict all rows of a table of runs (see demo.sh) and print them as CSV in the table's order; processes,
# one per core, take the rows in turn.
#
#   DPSIM=./dpsim plots/predict.sh TABLE WORK       WORK: a folder for parts
set -eu
dpsim=${DPSIM:-./dpsim}
table=$1
work=$2
rows=$(awk 'NR > 1' "$table" | wc -l)
n=$(nproc)
[ "$n" -le "$rows" ] || n=$rows
awk -v n="$n" -v work="$work" '
    NR == 1 { for (k = 0; k < n; k++) print >(work "/part-" k ".csv"); next }
    { print >(work "/part-" (NR - 2) % n ".csv") }' "$table"
k=0
while [ "$k" -lt "$n" ]; do
    { "$dpsim" run --csv --list "$work/part-$k.csv" >"$work/out-$k.csv" || echo failed >"$work/failed-$k.csv"; } &
    k=$((k + 1))
done
wait
k=0
while [ "$k" -lt "$n" ]; do
    [ ! -e "$work/failed-$k.csv" ] || exit 1
    sed 1d "$work/out-$k.csv" >"$work/rows-$k.csv"
    set -- "$@" "$work/rows-$k.csv"
    k=$((k + 1))
done
shift 2
head -n 1 "$work/out-0.csv"
paste -d '\n' "$@" | sed '/^$/d'
rm -f "$work"/part-*.csv "$work"/out-*.csv "$work"/rows-*.csv
