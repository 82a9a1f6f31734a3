#!/bin/sh
# Constants from few servers, judged on many: the part "Scale-up" of docs/validation.md.
#
#   DPSIM=./dpsim docs/scale-up.sh OUT
#
# Of tests/published/collectives.csv the runs over Slingshot dragonflies (Alps, Polaris) are dealt by servers:
# on those of one to four the constants of scenarios/rows/free-scale-up.json are fitted anew, on those of
# eight and more the fitted profiles are judged, and the shipped ones beside them.
#
# OUT/scale-up.md     the tables
# OUT/scale-up.now    two numbers for the headline
set -eu
dpsim=${DPSIM:-./dpsim}
case $dpsim in /*) ;; *) dpsim=$PWD/$dpsim ;; esac
out=$1
cd "$(dirname "$0")/.."
work=$out/scale-up
rm -rf "$work"
mkdir -p "$work/shipped"

cat >"$work/deal.awk" <<'END2'
FNR == 1 { csv_columns($0, column); print >few; print >many; next }
{
    csv_split($0, cells)
    if (cells[column["fabric_key"]] != "dragonfly" || cells[column["nic_key"]] !~ /^slingshot/) next
    if (cells[column["nodes"]] + 0 <= 4) print >few
    else print >many
}
END2
awk -v few="$work/few.csv" -v many="$work/many.csv" -f plots/csv.awk -f "$work/deal.awk" tests/published/collectives.csv

"$dpsim" check --table "$work/few.csv" --fit-on all --free scenarios/rows/free-scale-up.json --tries 60 --json \
    --write "$work/fitted" >"$work/fit.json"
cp -r scenarios/. "$work/shipped"
cp -r "$work/shipped/." "$work/both"
cp -r "$work/fitted/." "$work/both"
"$dpsim" check --table "$work/many.csv" --out "$work/many.shipped.csv" >/dev/null
DPSIM_PROFILES=$work/both "$dpsim" check --table "$work/many.csv" --out "$work/many.fitted.csv" >/dev/null
"$dpsim" check --table "$work/few.csv" --out "$work/few.shipped.csv" >/dev/null
DPSIM_PROFILES=$work/both "$dpsim" check --table "$work/few.csv" --out "$work/few.fitted.csv" >/dev/null

# "servers collective GPU which error", of 8 MB and more
cat >"$work/rows.awk" <<'END2'
FNR == 1 { csv_columns($0, column); next }
{
    csv_split($0, cells)
    if (cells[column["error"]] == "" || cells[column["size_bytes"]] + 0 < 8e6) next
    print cells[column["nodes"]], cells[column["collective"]], cells[column["gpu_key"]], which, cells[column["error"]]
}
END2
for which in shipped fitted; do
    for part in few many; do
        awk -v which=$which -f plots/csv.awk -f "$work/rows.awk" "$work/$part.$which.csv"
    done
done | sort -k1,1n -k2,2 -k3,3 -k4,4 -k5,5g >"$work/errors"

cat >"$work/tables.awk" <<'END2'
function abs(x) { return x < 0 ? -x : x }
function sorted(list, n,    i, j, x) {
    for (i = 2; i <= n; i++) {
        x = list[i]
        for (j = i - 1; j >= 1 && list[j] > x; j--) list[j + 1] = list[j]
        list[j + 1] = x
    }
}
function middle(list, n) { return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2 }
# median size of error, and median error, of a group under one set of profiles
function judge(group, which,    i, n, signed, size) {
    n = count[group, which]
    for (i = 1; i <= n; i++) { signed[i] = error[group, which, i]; size[i] = abs(signed[i]) }
    sorted(signed, n); sorted(size, n)
    bias = middle(signed, n); median = middle(size, n)
    return n
}
function add(group, which, e) {
    if (!(group in seen)) { seen[group] = 1; groups[++n_groups] = group }
    error[group, which, ++count[group, which]] = e
}
function line(name, group,    n) {
    n = judge(group, "fitted")
    printf "| %s | %d | %.1f %% | %+.1f %% |", name, n, 100 * median, 100 * bias
    judge(group, "shipped")
    printf " %.1f %% | %+.1f %% |\n", 100 * median, 100 * bias
}
{
    add($1 <= 4 ? "1 to 4 servers (fitted on)" : $1 " servers", $4, $5)
    if ($1 > 4) add("8 and more servers", $4, $5)
    if ($1 > 4) add($1 " servers, " $2 ", " $3, $4, $5)
}
END {
    print "| 8 MB and more | rows | median error, fitted on 1 to 4 | bias | median error, shipped | bias |"
    print "|---|--:|--:|--:|--:|--:|"
    for (i = 1; i <= n_groups; i++) line(groups[i], groups[i])
    judge("8 and more servers", "fitted")
    printf "scale-up median_abs_err %.6g\nscale-up bias %.6g\n", median, abs(bias) >now
}
END2
{
    echo '| constant | start | fitted on 1 to 4 servers |'
    echo '|---|--:|--:|'
    sed -n 's/^ *{"name": "\([^"]*\)", "unit": "\([^"]*\)".*"before": \([-0-9.e+]*\), "after": \([-0-9.e+]*\).*/\1|\3|\4|\2/p' "$work/fit.json" |
        awk -F'|' '{ printf "| %s | %.3g %s | %.3g %s |\n", $1, $2, $4, $3, $4 }' | sed 's/  *|/ |/g'
    echo
    awk -v now="$out/scale-up.now" -f "$work/tables.awk" "$work/errors"
} >"$out/scale-up.md"
