#!/bin/sh
# Published multi-GPU runs, predicted: table on standard output, figures in build/demo.
#
#   DPSIM=./dpsim plots/demo.sh [TABLE]       TABLE defaults to tests/published/demo.csv
#
# TABLE is CSV with a header row; a row is one published run:
#   series               runs that differ only in their number of GPUs
#   source               who published it
#   scenario             a scenario file, from the root of the repository
#   set                  what this row changes in it: /pointer=value, several separated by ';'
#   n_gpus               as in the scenario after `set` (checked)
#   measured_throughput  published
#   unit                 as dpsim prints it for the model (images/s, ...), checked; or samples/s
#   given                optional: yes = the measured value is an input of the prediction, so it is not
#                        scored; without this column the rows of one GPU are taken as given
# Further columns are ignored.
set -eu
dpsim=${DPSIM:-./dpsim}
cd "$(dirname "$0")/.."
table=${1:-tests/published/demo.csv}
out=${DEMO_OUT:-build/demo}
mkdir -p "$out"
rm -f "$out"/*.png "$out"/*.dat "$out"/*.txt "$out"/*.csv

DPSIM=$dpsim plots/predict.sh "$table" "$out" >"$out/predicted.csv"
awk -v out="$out" -f plots/csv.awk -f plots/demo.awk "$table" "$out/predicted.csv" | tee "$out/table.txt"
[ -s "$out/sources.txt" ] || exit 1
[ "${DEMO_PLOT:-yes}" = no ] && exit 0
while IFS='|' read -r k source; do
    gnuplot -e "points='$out/source-$k.dat'; source='$source'; output='$out/efficiency-$k.png'" plots/efficiency.gp
done <"$out/sources.txt"
gnuplot -e "out='$out'" plots/error.gp
gnuplot -e "out='$out'; output='$out/efficiency.png'" plots/scatter.gp
echo
ls "$out"/*.png
