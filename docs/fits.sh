#!/bin/sh
# fits.sh — the table of docs/calibration.md: matrix products of tests/published/gemm.csv fitted on half of the
# shapes of each GPU and type and judged on the other half, both ways round.
set -eu
cd "$(dirname "$0")/.."
dpsim=${DPSIM:-./dpsim}
table=tests/published/gemm.csv

echo '| GPU | type | rows | shapes | fitted: median | p90 | left out: median | p90 | bias | contradicting | clean shapes | left out, in clean shapes: median | p90 |'
echo '|---|---|---|---|---|---|---|---|---|---|---|---|---|'
awk -F, 'NR > 1 { print $3, $4 }' $table | sort | uniq -c | awk '$1 >= 50 { print $2, $3 }' | while read -r gpu dtype; do
    "$dpsim" fit $table --device "$gpu" --base "$gpu" --dtype "$dtype" --folds 2 </dev/null |
        awk -v gpu="$gpu" -v dtype="$dtype" '
            $1 == "product" && NF == 10 {
                row = sprintf("| %s | %s | %d | %d | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %+.1f %% |", gpu, dtype, $3, $4, $5, $6, $8, $9, $10)
                clean = sprintf("0 | %d | %.1f %% | %.1f %% |", $4, $8, $9)
            }
            / contradict larger / { clean = sprintf("%d | %d | %.1f %% | %.1f %% |", $1, $(NF - 9), $(NF - 3), $NF) }
            END { print row, clean }'
done
