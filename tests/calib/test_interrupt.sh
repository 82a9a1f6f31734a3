#!/bin/sh
# A run that is cut short keeps what it has measured.
. tests/cli/lib.sh
calib=${CALIB:-./dpsim-calib}

# begin SECONDS FILE — measures for so long, in the background: $pid
begin() {
    "$calib" --backend cpu --threads 1 --budget "$1" --precision 1e-6 --only copy --out "$2" 2>"$work/err" &
    pid=$!
}

# interrupted SIGNAL STATUS — some of the cases, each of which takes its share of the budget, are measured
interrupted() {
    begin 20 "$work/$1.csv"
    sleep 3
    kill "-$1" $pid
    wait $pid
    status=$?
    [ $status -eq "$2" ] || { echo "exit status $status"; return 1; }
    said=$(sed -n 's/^# interrupted: by a signal, after \([0-9]*\) of [0-9]* cases$/\1/p' "$work/$1.csv")
    all=$(sed -n 's/^# interrupted: by a signal, after [0-9]* of \([0-9]*\) cases$/\1/p' "$work/$1.csv")
    rows=$(grep -c '^copy,' "$work/$1.csv")
    [ -n "$said" ] && [ "$rows" -ge 1 ] && [ "$rows" -eq "$said" ] && [ "$said" -lt "$all" ] || { echo "$rows rows, said '$said' of '$all'"; return 1; }
}

# the first asks for an end, which here waits for a reader of the file
second_signal_ends_at_once() {
    mkfifo "$work/fifo"
    begin 300 "$work/fifo"
    sleep 1
    kill -INT $pid
    sleep 1
    kill -TERM $pid || { echo "the first ended it"; return 1; }
    wait $pid
    status=$?
    [ $status -eq 143 ] || { echo "exit status $status"; return 1; }
}

file_before_stays() { # until there is something to take its place
    echo before >"$work/before.csv"
    begin 300 "$work/before.csv"
    sleep 1
    kill -KILL $pid
    wait $pid 2>/dev/null
    [ "$(cat "$work/before.csv")" = before ] && [ "$(find "$work" -name '*.tmp' | wc -l)" -eq 0 ]
}

budget_is_told() {
    "$calib" --backend fake --budget 1 --out "$work/budget.csv" 2>"$work/err"
    [ $? -eq 0 ] && grep -q '^# interrupted: by the budget, after [0-9]* of [0-9]* cases$' "$work/budget.csv" &&
        [ "$(grep -vc '^#' "$work/budget.csv")" -gt 1 ]
}

test_that "an interrupt from the keyboard keeps what was measured" interrupted INT 130
test_that "so does a request to end" interrupted TERM 143
test_that "a second signal ends the run at once" second_signal_ends_at_once
test_that "the file of before stays as long as there is no other" file_before_stays
test_that "a budget that was out is told in the head" budget_is_told
totals
