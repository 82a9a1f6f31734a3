#!/bin/sh
# Regenerates what the docs quote from the program: docs/scenario.md, docs/validation.md and the
# blocks of README.md between "begin" and "end". With --check nothing is written: exit 1 when the
# committed text is not what the program says now.
set -eu
cd "$(dirname "$0")/.."
dpsim=${DPSIM:-./dpsim}
out=build/docs
mkdir -p "$out"

"$dpsim" schema --markdown >"$out/scenario.md"
DPSIM=$dpsim DEMO_OUT=$out/demo DEMO_PLOT=no plots/demo.sh >"$out/demo.txt"

{ echo '```'; "$dpsim" run scenarios/minimal.json; echo '```'; } >"$out/minimal.txt"
{ echo '```'; sed -n '/^summary/,$p' "$out/demo.txt" | sed '/^$/q' | sed '/^$/d'; echo '```'; } >"$out/summary.txt"

fill() { # block file < text: the text with the block replaced
    awk -v block="$1" -v file="$2" '
        $0 == "<!-- begin: " block " -->" { print; while ((getline line < file) > 0) print line; skip = 1; next }
        $0 == "<!-- end: " block " -->" { skip = 0 }
        !skip'
}
fill minimal "$out/minimal.txt" <README.md | fill summary "$out/summary.txt" >"$out/README.md"
{ cat docs/validation.head; echo '```'; cat "$out/demo.txt"; echo '```'; } >"$out/validation.md"

status=0
for pair in README.md:README.md docs/scenario.md:scenario.md docs/validation.md:validation.md; do
    kept=${pair%%:*}
    fresh=$out/${pair##*:}
    if [ "${1:-}" = --check ]; then
        cmp -s "$fresh" "$kept" || { echo "$kept is not what the program says now (make docs)"; status=1; }
    else
        cp "$fresh" "$kept.tmp" && mv "$kept.tmp" "$kept"
    fi
done
exit $status
