#!/bin/sh
# The scenarios of scenarios/*.json give the numbers that stand in tests/golden/scenarios.csv, within
# 1e-9. With --remake the file is written anew: do that when the model changed on purpose, and read
# the difference.
cd "$(dirname "$0")/../.." || exit 1
dpsim=${DPSIM:-./dpsim}
kept=tests/golden/scenarios.csv
fresh=$(mktemp) || exit 2
trap 'rm -f "$fresh"' EXIT
"$dpsim" run --csv scenarios/*.json >"$fresh" || exit 1
if [ "${1:-}" = --remake ]; then
    cp "$fresh" "$kept"
    exit
fi
awk -F, '
    NR == FNR { line[FNR] = $0; n = FNR; next }
    function same(a, b) {
        if (a == b) return 1
        if (a !~ /^[-+0-9.e]+$/ || b !~ /^[-+0-9.e]+$/) return 0
        size = (a < 0 ? -a : a + 0) + 1e-300
        return (a - b < 0 ? b - a : a - b) <= 1e-9 * size
    }
    {
        fields = split(line[FNR], want, ",")
        ok = fields == NF
        for (i = 1; i <= NF; i++) if (!same(want[i], $i)) { ok = 0; print $1 ": column " i ": " $i ", kept " want[i] }
        if (ok) passed++
        else failed++
    }
    END {
        if (n != FNR) failed++
        printf "%d passed, %d failed\n", passed, failed
        exit failed > 0
    }' "$kept" "$fresh"
