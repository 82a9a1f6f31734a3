#!/bin/sh
# How the jitter of the GPU profiles was fitted: the error of published runs (none of them in
# tests/published/demo.csv) for each value of a grid. The least mean over sources of the median error
# is the value in scenarios/hardware.
#
#   DPSIM=./dpsim plots/jitter.sh
set -eu
dpsim=${DPSIM:-./dpsim}
cd "$(dirname "$0")/.."
table=tests/published/jitter.csv
out=build/jitter
mkdir -p "$out"
for jitter in 0 0.005 0.01 0.015 0.02 0.025 0.03 0.035 0.04 0.045 0.05 0.055 0.06; do
    sed "s#,/n_gpus#,/jitter=$jitter;/n_gpus#" "$table" >"$out/table.csv"
    "$dpsim" run --csv --list "$out/table.csv" >"$out/predicted.csv"
    awk -v out="$out" -f plots/csv.awk -f plots/demo.awk "$out/table.csv" "$out/predicted.csv" |
        awk -v jitter="$jitter" '/^summary/ { on = 1; next }
            on && $1 == "all" { printf "jitter %-6s mean over sources of the median error %.2f %%\n", jitter, sum / n; exit }
            on && NF > 4 { sub("%", "", $3); sum += $3; n++ }'
done
