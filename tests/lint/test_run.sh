#!/bin/sh
# tests/run.sh counts every suite once, whatever becomes of it, though several run at a time.
. tests/cli/lib.sh
mkdir -p "$work/calib"

# suite NAME COMMANDS
suite() {
    printf '#!/bin/sh\n%s\n' "$2" >"$work/$1"
    chmod +x "$work/$1"
}

# sum_of SUITE... — what is said of them, then the sum; the status is that of the sum
sum_of() {
    rm -f "$work/totals"
    for name; do set -- "$@" "$work/$name" && shift; done
    tests/run.sh "$work/totals" "$@" >"$work/out" && tests/run.sh "$work/totals" >>"$work/out"
}

# ends_in LINE SUITE... — the sum
ends_in() {
    line=$1
    shift
    sum_of "$@"
    [ "$(tail -1 "$work/out")" = "$line" ]
}

suite good 'echo "3 passed, 0 failed"'
suite good.sh 'echo "4 passed, 0 failed"'
suite calib/alone 'echo "5 passed, 0 failed"'
suite cmocka 'echo "[  PASSED  ] 2 test(s)."'
suite bad 'echo "this is wrong"; echo "1 passed, 2 failed"; exit 1'
suite killed 'echo "[  PASSED  ] 2 test(s)."; kill -9 $$'
suite mute 'true'
for i in 1 2 3 4 5 6 7 8; do
    suite "long$i" "for line in 1 2 3 4 5 6 7 8 9; do echo line of $i; sleep 0.01; done; echo '0 passed, 1 failed'; exit 1"
done

test_that "what passed is added up" ends_in "14 passed, 0 failed" good good.sh calib/alone cmocka
test_that "and nothing is wrong then" sum_of good calib/alone
test_that "a failure is counted" ends_in "4 passed, 2 failed" good bad
test_that "what it said is shown" grep -q "this is wrong" "$work/out"
sum_of good bad
test_that "and it is the status" [ $? -eq 1 ]
test_that "a crash after the last test is a failure" ends_in "5 passed, 1 failed" good killed
test_that "so is a suite that says nothing" ends_in "3 passed, 1 failed" good mute
test_that "so is one that is not there" ends_in "3 passed, 1 failed" good nowhere
test_that "so is one to be run alone that is not there" ends_in "3 passed, 1 failed" good calib/nowhere
sum_of long1 long2 long3 long4 long5 long6 long7 long8
test_that "what failing suites say does not mix" [ "$(uniq "$work/out" | grep -c '^line of')" -eq 8 ]
totals
