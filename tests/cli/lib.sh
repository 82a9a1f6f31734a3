# For the suites of the command line: . tests/cli/lib.sh; then checks; then `totals` last.
# Each check is one test; the suite prints "N passed, N failed".
# shellcheck shell=sh disable=SC2034
dpsim=${DPSIM:-./dpsim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# test_that CLAIM COMMAND... — the command must succeed
test_that() {
    claim=$1
    shift
    if "$@"; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAILED: $claim"
        [ ! -s "$work/err" ] || head -5 "$work/err"
    fi
}

# run STATUS ARGUMENT... — dpsim with these arguments exits with this status; $work/out and
# $work/err hold what it said
run() {
    want=$1
    shift
    timeout 60 "$dpsim" "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ "$status" -eq "$want" ] || { echo "dpsim $*: exit status $status, wanted $want"; return 1; }
}

# fails STATUS WORDS ARGUMENT... — it fails with this status, says WORDS on standard error and nothing on
# standard output
fails() {
    words=$2
    want=$1
    shift 2
    run "$want" "$@" && grep -qF -e "$words" "$work/err" && [ ! -s "$work/out" ]
}

# prints WORDS ARGUMENT... — it succeeds, prints WORDS, and standard error stays empty
prints() {
    words=$1
    shift
    run 0 "$@" && grep -qF -e "$words" "$work/out" && [ ! -s "$work/err" ]
}

# prints_json ARGUMENT... — what it prints is JSON
prints_json() {
    run 0 "$@" && awk -f tests/cli/json.awk "$work/out"
}

# same_twice ARGUMENT... — two runs print the same bytes
same_twice() {
    run 0 "$@" && cp "$work/out" "$work/first" && run 0 "$@" && cmp -s "$work/out" "$work/first"
}

# n_files — how many files the suite's folder holds besides its own
n_files() {
    find "$work" -type f ! -name out ! -name err ! -name first | wc -l
}

totals() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
