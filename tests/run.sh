#!/bin/sh
# run.sh TOTALS SUITE... — run each suite (a cmocka binary, or a script that prints "N passed, N
# failed"), several at a time, show what a failing one said, and append its counts to the file TOTALS.
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

# run_one SUITE — with its line into the totals; two that end at once do not mix what they say
run_one() {
    said=$(mktemp)
    if [ -x "$1" ]; then
        timeout 600 "$1" >"$said" 2>&1
        status=$?
        line="$1: $(counts "$said" $status)"
    else
        status=0
        line="$1 is not there: 0 passed, 1 failed"
    fi
    {
        flock 9
        case $line in *" 0 failed") ;; *) cat "$said"; [ $status -lt 2 ] || echo "exit status $status" ;; esac
        echo "$line" | tee -a "$totals"
    } 9>>"$totals"
    rm -f "$said"
}

if [ $# = 0 ]; then
    sum
    exit
elif [ "$1" = --one ]; then
    run_one "$2"
    exit
fi
# What measures this machine (calib) has it to itself; the others run one to a processor. Scripts come first, as
# the longest are among them.
each() { xargs -r -n1 -P"$1" "$0" "$totals" --one || echo "not all suites ran: 0 passed, 1 failed" | tee -a "$totals"; }
printf '%s\n' "$@" | grep -v /calib/ | awk '/\.sh$/ { print; next } { rest = rest $0 "\n" } END { printf "%s", rest }' |
    each "$(nproc)"
printf '%s\n' "$@" | grep /calib/ | each 1
