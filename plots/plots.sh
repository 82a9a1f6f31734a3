#!/bin/sh
# Figures from the shipped scenarios, in build/plots:   DPSIM=./dpsim plots/plots.sh
#   scaling.png    a published run: predicted line, measured points
#   breakdown.png  where the step goes, over GPU counts
#   timeline.png   the streams of one GPU
set -eu
dpsim=${DPSIM:-./dpsim}
cd "$(dirname "$0")/.."
out=${PLOTS_OUT:-build/plots}
mkdir -p "$out"
rm -f "$out"/*.png "$out"/*.dat "$out"/*.csv "$out"/*.json

# sweep SCENARIO COUNT... — one prediction per number of GPUs, as CSV
sweep() {
    scenario=$1
    shift
    { echo scenario,set; for n; do echo "$scenario,/n_gpus=$n"; done; } >"$out/list.csv"
    "$dpsim" run --csv --list "$out/list.csv"
}

# columns NAME... — these columns of a CSV, separated by blanks
columns() {
    awk -v names="$*" -f plots/csv.awk -f plots/columns.awk
}

series=dlperf-resnet50-v100-ngc-pytorch-fp32-b128
sweep scenarios/published/$series.json 1 8 16 32 64 128 >"$out/scaling.csv"
columns n_gpus throughput iteration_s interval_low_s interval_high_s <"$out/scaling.csv" |
    awk '{ print $1, $2, $2 * $3 / $5, $2 * $3 / $4 }' >"$out/scaling.dat"
columns series n_gpus measured_throughput <tests/published/demo.csv |
    awk -v series=$series '$1 == series { print $2, $3 }' >"$out/measured.dat"
gnuplot -e "predicted='$out/scaling.dat'; measured='$out/measured.dat'; unit='images/s'; \
    name='ResNet-50 on V100, fp32, 128 images per GPU, 100 Gb/s InfiniBand (DLPerf)'; \
    output='$out/scaling.png'" plots/scaling.gp

sweep scenarios/resnet50-25gbe.json 1 8 16 32 64 128 256 >"$out/breakdown.csv"
columns n_gpus iteration_s scaling_efficiency forward_s backward_s optimizer_s exposed_communication_s \
    straggler_s launch_s input_s bubble_s <"$out/breakdown.csv" |
    awk '{ exposed = $7; bubble = $11
           print $1, 1e3 * $2, $3, 1e3 * $4, 1e3 * $5, 1e3 * $6, 1e3 * exposed, 1e3 * $8, 1e3 * $9, 1e3 * $10,
               1e3 * (bubble > 0 ? bubble : 0) }' >"$out/breakdown.dat"
gnuplot -e "shares='$out/breakdown.dat'; name='ResNet-50 on V100 over 25 Gb/s Ethernet'; \
    output='$out/breakdown.png'" plots/breakdown.gp

"$dpsim" run scenarios/resnet50-25gbe.json --trace "$out/trace.json" >"$out/page.txt"
awk -f plots/timeline.awk "$out/trace.json" >"$out/timeline.dat"
gnuplot -e "spans='$out/timeline.dat'; name='ResNet-50, 64 V100 over 25 Gb/s Ethernet'; \
    output='$out/timeline.png'" plots/timeline.gp
ls "$out"/*.png
