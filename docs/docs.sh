#!/bin/sh
# Regenerates what the docs quote from the program: docs/scenario.md, docs/validation.md, the picture
# of README.md, and the blocks between "begin" and "end" in README.md, docs/model.md and docs/calibration.md.
#
#   DPSIM=./dpsim docs/docs.sh            write them
#   DPSIM=./dpsim docs/docs.sh --check    write nothing; exit 1 where they are not what dpsim says now
set -eu
cd "$(dirname "$0")/.."
dpsim=${DPSIM:-./dpsim}
calib=${CALIB:-./dpsim-calib}
table=tests/published/demo.csv
out=build/docs
mkdir -p "$out"
rm -f "$out"/*.*

# the longest of all by itself, beside what follows; it is waited for where it is used
DPSIM=$dpsim docs/fits.sh >"$out/fits.block" &
fits=$!

# measure ARGUMENT... — time and bandwidths of one collective
measure() {
    "$dpsim" collective "$@" | awk '!/^#/ { printf "time %9.3f ms   algbw %5.2f GB/s   busbw %5.2f GB/s\n", $6 / 1e3, $7, $8 }'
}

DPSIM=$dpsim plots/predict.sh $table "$out" >"$out/predicted.csv"
awk -v out="$out" -f plots/csv.awk -f plots/demo.awk $table "$out/predicted.csv" >"$out/demo.txt"

{
    printf '```\n$ cat scenarios/minimal.json\n'
    cat scenarios/minimal.json
    printf '$ ./dpsim run scenarios/minimal.json\n'
    "$dpsim" run scenarios/minimal.json
    echo '```'
} >"$out/minimal.block"
{ echo '```'; awk '/^summary/ { on = 1 } on && !NF { exit } on' "$out/demo.txt"; echo '```'; } >"$out/summary.block"
{ echo '```'; cat tests/docs/own.json; echo '```'; } >"$out/own.block"
"$dpsim" run tests/docs/own.json >/dev/null
{
    echo '```'
    echo 'ring, a GPU a server, 100 Gb/s cards (tests/docs/star.json)'
    for n in 8 1024; do
        for size in 4KiB 800MB; do
            printf '  %4d GPUs, %5s    ' $n $size
            measure tests/docs/star.json --set /n_gpus=$n --algorithm ring -b $size -e $size
        done
    done
    echo 'ring and tree, 8 GPUs a server with one 100 Gb/s card (tests/docs/nodes.json), 1 GiB'
    for n in 2 3 4 8; do
        for algorithm in ring tree; do
            printf '  %d servers, %4s     ' $n $algorithm
            measure tests/docs/nodes.json --set /n_gpus=$((8 * n)) --algorithm $algorithm -b 1GiB -e 1GiB
        done
    done
    echo 'algorithms on 8 GPUs, 800 MB (tests/docs/star.json)'
    for algorithm in ring direct halving-doubling parameter-server recursive-doubling reduce-broadcast; do
        printf '  %-20s' $algorithm
        measure tests/docs/star.json --algorithm $algorithm -b 800MB -e 800MB
    done
    echo '200 M parameters in fp32 on 8 GPUs (tests/docs/layers.csv): bytes sent by each GPU and step'
    printf '  '
    "$dpsim" run --json --set /model='{"layers": "layers.csv"}' tests/docs/star.json | sed -n 's/.*"bytes_sent_B": *\([0-9.e+]*\).*/\1/p'
    echo '```'
} >"$out/said.block"

fill() { # BLOCK FILE — the text on standard input with the block replaced by the file
    awk -v block="$1" -v file="$2" '
        $0 == "<!-- begin: " block " -->" { print; while ((getline line < file) > 0) print line; skip = 1; next }
        $0 == "<!-- end: " block " -->" { skip = 0; found = 1 }
        !skip
        END { if (!found) { print "docs: no block " block > "/dev/stderr"; exit 1 } }'
}
if [ "${1:-}" = --check ]; then
    DPSIM=$dpsim docs/validation.sh "$out"
else
    DPSIM=$dpsim docs/validation.sh "$out" docs
fi
"$dpsim" schema --markdown >"$out/scenario.md"
fill minimal "$out/minimal.block" <README.md >"$out/readme.1"
fill own "$out/own.block" <"$out/readme.1" >"$out/readme.2"
fill summary "$out/summary.block" <"$out/readme.2" >"$out/readme.3"
fill check "$out/check.block" <"$out/readme.3" >"$out/readme.4"
fill limits "$out/limits.block" <"$out/readme.4" >"$out/README.md"
fill said "$out/said.block" <docs/model.md >"$out/model.md"
wait $fits
"$calib" --markdown >"$out/raw.block"
fill fits "$out/fits.block" <docs/calibration.md >"$out/calibration.1"
fill raw "$out/raw.block" <"$out/calibration.1" >"$out/calibration.md"
# the emulated cluster is played by its test, which prints what it compares
emulated=${BUILD_DIR:-build}/release/tests/emulated/test_emulated
MAKEFLAGS='' make --no-print-directory -s BUILD=release "$emulated" >&2
"$emulated" 2>&1 | grep ' measured ' >"$out/emulated.txt"
{
    cat docs/validation.head "$out/summary.block"
    cat docs/interval.head "$out/interval.md"
    awk -f docs/validation.awk "$out"/source-*.dat
    printf '\n## Every run\n\n```\n'
    awk '/^summary/ { exit } { print }' "$out/demo.txt"
    awk '/^error =/ { on = 1 } on' "$out/demo.txt"
    echo '```'
    cat docs/scale-up.head "$out/scale-up.md"
    cat docs/emulated.head
    echo '```'
    cat "$out/emulated.txt"
    echo '```'
    cat docs/tables.head "$out/tables.md"
} >"$out/validation.md"

status=0
for kept in README.md docs/scenario.md docs/validation.md docs/model.md docs/calibration.md; do
    fresh=$out/${kept#docs/}
    if [ "${1:-}" = --check ]; then
        cmp -s "$fresh" "$kept" && continue
        echo "$kept is not what dpsim says now (make docs writes it anew):"
        diff "$kept" "$fresh" | head -8
        status=1
    else
        cat "$fresh" >"$kept"
    fi
done
[ "${1:-}" = --check ] || gnuplot -e "out='$out'; output='docs/efficiency.png'" plots/scatter.gp
exit $status
