#!/bin/sh
# Nothing is predicted faster than its links allow: rows of the published tables, and what each library takes
# for each operation on several networks. (Every algorithm in every fidelity: tests/sim/test_bound.c.)
cd "$(dirname "$0")/../.." || exit 1
dpsim=${DPSIM:-./dpsim}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# claim NAME COMMAND...
claim() {
    name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $name"
    fi
}

"$dpsim" check --table tests/published/collectives.csv --out "$work/rows.csv" >/dev/null
cat >"$work/rows.awk" <<'END2'
FNR == 1 { csv_columns($0, column); next }
{
    csv_split($0, cells)
    predicted = cells[column["predicted"]]
    bound = cells[column["bound"]] + 0
    if (predicted == "") next
    n++
    if (bound <= 0 || predicted + 0 == 0 || predicted + 0 < bound * (1 - 1e-9)) print cells[column["id"]], cells[column["size_bytes"]], predicted, bound, ++bad
}
END { exit !(n > 3000 && !bad) }
END2
claim "no published row is predicted below its bound" awk -f plots/csv.awk -f "$work/rows.awk" "$work/rows.csv"

above() {
    awk -F, 'NR > 1 && (NF < 7 || $7 <= 0 || $2 < $7 * (1 - 1e-9)) { bad++; print "  " $0 } END { exit !(NR > 1 && !bad) }' "$work/one.csv"
}
# one kind of server and network for each fidelity: cards for all GPUs, one card, one GPU for each card
try() { # FIDELITY SET...
    fidelity=$1
    shift
    for file in scenarios/libraries/*.json; do
        library=$(basename "$file" .json)
        for op in all_reduce reduce_scatter all_gather broadcast reduce all_to_all; do
            "$dpsim" collective scenarios/minimal.json --csv --fidelity $fidelity --op $op -b 1M -e 64M -f 64 "$@" \
                --set "/library=\"$library\"" >"$work/one.csv" 2>"$work/said" ||
                { grep -q 'cannot do this' "$work/said" && continue; }
            claim "$library, $op, $fidelity, $*" above
        done
    done
}
try estimate --set '/n_gpus=64' --set '/gpu="h100-sxm-80"' --set '/node="dgx-h100"' --set '/fabric="dragonfly"'
try fluid --set '/n_gpus=16' --set '/gpu="a100-sxm-40"' --set '/node="quad-a100"' --set '/nics_per_node=1' \
    --set '/fabric={"kind":"fat-tree","hosts_per_leaf":2,"oversubscription":2}'
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
