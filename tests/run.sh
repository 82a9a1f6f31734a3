#!/bin/sh
# run.sh TOTALS SUITE... — run each suite (a cmocka binary, or a script that prints "N passed, N
# failed"), show what a failing one said, and append its counts to the file TOTALS.
# run.sh TOTALS — print the sum over the file; exit 1 if anything failed.
totals=$1
shift

sum() {
    awk '{ for (i = 2; i <= NF; i++) {
               if ($i ~ /^passed/) passed += $(i - 1)
               if ($i ~ /^failed/) failed += $(i - 1) } }
         END { printf "%d passed, %d failed\n", passed, failed; exit !(passed > 0 && !failed) }' "$totals"
}

# counts FILE STATUS — "P passed, F failed" from what a suite printed; a crash, a time-out or a
# suite that says nothing is one failure.
counts() {
    awk -v status="$2" '
        /^\[  PASSED  \] [0-9]+ test/ { passed += $4; said = 1 }
        /^\[  FAILED  \] [0-9]+ test/ { failed += $4; said = 1 }
        /^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3; said = 1 }
        END { if (!said || (status != 0 && !failed)) failed++
              printf "%d passed, %d failed\n", passed, failed }' "$1"
}

[ $# -gt 0 ] || { sum; exit; }
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for suite; do
    if [ ! -x "$suite" ]; then
        echo "$suite is not there: 0 passed, 1 failed" | tee -a "$totals"
        continue
    fi
    timeout 120 "./$suite" >"$said" 2>&1
    status=$?
    line=$(counts "$said" $status)
    case $line in *" 0 failed") ;; *) cat "$said"; [ $status -lt 2 ] || echo "exit status $status" ;; esac
    echo "$suite: $line" | tee -a "$totals"
done
