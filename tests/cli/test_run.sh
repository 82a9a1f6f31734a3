#!/bin/sh
# dpsim run on good and bad input.
. tests/cli/lib.sh
good=scenarios/minimal.json

# field NAME FILE — the first number of that name in JSON
field() {
    sed -n "s/.*\"$1\": \([-0-9.e+]*\).*/\1/p" "$2" | head -1
}

test_that "a page is printed" prints "where the step goes" run $good
test_that "the page names what limits the step" prints "limited by" run $good
test_that "--json prints JSON" prints_json run $good --json
for name in scenario fidelity n_gpus iteration_s interval_s compute_s communication_s \
    exposed_communication_s bubble_s throughput throughput_unit scaling_efficiency bytes_sent_B memory_B \
    fits limit gain_if_doubled n_classes n_events warnings; do
    test_that "JSON has $name" grep -q "\"$name\":" "$work/out"
done
test_that "several scenarios are a list" prints_json run $good $good --json
test_that "the list has both" [ "$(grep -c '"iteration_s"' "$work/out")" -eq 2 ]
test_that "several scenarios are compared" prints "1.00x" run $good $good
test_that "--explain says what -1 stands for" prints "as the GPU's profile says (-1)" run $good --explain
test_that "--explain marks defaults" prints "~" run $good --explain

test_that "--csv prints a header and a row" run 0 run $good --csv
test_that "header and row are two lines" [ "$(wc -l <"$work/out")" -eq 2 ]
test_that "the header names iteration_s" grep -q '^scenario,.*iteration_s' "$work/out"

for form in --json --csv --explain; do
    test_that "the same bytes twice with $form" same_twice run $good $form
done

run 0 run $good --json && cp "$work/out" "$work/base.json"
run 0 run $good --json --set /n_gpus=64 && cp "$work/out" "$work/more.json"
test_that "--set changes the scenario" [ "$(field n_gpus "$work/more.json")" = 64 ]
test_that "the rest of it stays" [ "$(field n_gpus "$work/base.json")" = 32 ]
for fidelity in estimate fluid message; do
    test_that "--fidelity $fidelity is obeyed" prints "\"fidelity\": \"$fidelity\"" run $good --json \
        --fidelity $fidelity
done
rm -f "$work"/*.json

printf 'scenario,set\n%s,/n_gpus=8\n%s,/n_gpus=16;/batch_per_gpu=32\n' $good $good >"$work/list.csv"
test_that "--list predicts its rows" run 0 run --csv --list "$work/list.csv"
test_that "a line per row" [ "$(wc -l <"$work/out")" -eq 3 ]
printf 'scenery\n%s\n' $good >"$work/list.csv"
test_that "a list without scenarios is an input error" fails 1 "scenario" run --list "$work/list.csv"
printf 'scenario,sets\n%s,/n_gpus=8\n' $good >"$work/list.csv"
test_that "a column that is nearly set is not passed over" fails 1 'list.csv:1: column "sets" (did you mean "set"?)' run --list "$work/list.csv"
test_that "a missing list is an input error" fails 1 "no-such.csv" run --list "$work/no-such.csv"
rm -f "$work/list.csv"

test_that "--trace writes a file" run 0 run $good --trace "$work/trace.json"
test_that "the trace is JSON" awk -f tests/cli/json.awk "$work/trace.json"
test_that "the trace has events" grep -q '"ph": "X"' "$work/trace.json"
cp "$work/trace.json" "$work/first"
test_that "the trace is the same twice" run 0 run $good --trace "$work/trace.json"
test_that "byte for byte" cmp -s "$work/trace.json" "$work/first"
test_that "nothing else was written" [ "$(n_files)" -eq 1 ]
rm -f "$work/trace.json"
test_that "--trace - prints the trace alone" prints_json run $good --trace -
test_that "a trace that cannot be written is the world's failure" fails 2 "cannot write" run $good \
    --trace "$work/no/trace.json"
test_that "a full disk too" fails 2 "cannot write" run $good --trace /dev/full

# Two jobs on a dragonfly, and a link between groups that fails when both are over.
cat >"$work/two.json" <<'END'
{"gpu": "v100-sxm2-16", "n_gpus": 64,
 "fabric": {"kind": "dragonfly", "routing": "ugal"},
 "degraded": [{"link": "router 0.0 <-> router 0.1", "failed": true, "at": "1000s"}],
 "jobs": [{"model": "resnet50", "n_gpus": 32, "batch_per_gpu": 64, "placement": "spread"},
          {"model": "vgg16", "n_gpus": 32, "batch_per_gpu": 32}]}
END
test_that "a failure after the last step of two jobs is said" prints "a link changes at 1000 s" run "$work/two.json"
test_that "one within is not" sh -c "$dpsim run '$work/two.json' --set '/degraded/0/at=\"0.2s\"' >'$work/out' &&
    ! grep -q 'a link changes' '$work/out' && grep -q 'slower' '$work/out'"
test_that "two jobs take the same twice" same_twice run "$work/two.json" --json
test_that "a failed link that cuts the network later names it" fails 1 "the network is cut" run "$work/two.json" \
    --set '/degraded/0/link="node 1 nic * <-> router *"' --set '/degraded/0/at="0.2s"'
rm -f "$work/two.json"
# A card fails at 0.1 s, in the first step, and is missed 10 s later: only what was to be sent then is left to do.
test_that "a step that stands still is said" prints "they take 0.188 s to 10.1 s" run $good --set /n_gpus=16 \
    --set '/degraded=[{"link": "node 0 nic 0 <-> leaf 0", "failed": true, "at": "0.1s", "detection": "10s"}]'

printf '{"model": "resnet50", "batch": 64}' >"$work/bad.json"
test_that "an unknown key is an input error with its place" fails 1 "bad.json:1:" run "$work/bad.json"
cp $good "$work/own.json"
ln -s own.json "$work/link.json"
test_that "a trace never replaces its scenario" fails 1 "--trace would replace" run "$work/own.json" --trace "$work/link.json"
test_that "which is still there" cmp -s $good "$work/own.json"
rm -f "$work/own.json" "$work/link.json"
n_before=$(n_files)
test_that "a trace beyond the largest file allowed is the world's failure" \
    sh -c "ulimit -f 1; $dpsim run $good --trace '$work/large.json' >/dev/null 2>&1; [ \$? -eq 2 ]"
test_that "and leaves nothing behind" [ "$(n_files)" -eq "$n_before" ]
# sanitizers take terabytes of it themselves
grep -q __asan_init "$dpsim" || test_that "little address space is enough" sh -c "ulimit -v 4000000; $dpsim run $good >/dev/null"
test_that "a broken scenario writes no trace" fails 1 "batch" run "$work/bad.json" --trace "$work/t.json"
test_that "none at all" [ ! -e "$work/t.json" ]
test_that "a good scenario beside a bad one prints nothing" fails 1 "batch" run $good "$work/bad.json"
test_that "a missing file is an input error" fails 1 "no-such.json" run "$work/no-such.json"
test_that "a folder is an input error" fails 1 "$work" run "$work"
test_that "a --set that is no pointer is an input error" fails 1 "n_gpus" run $good --set n_gpus=8
test_that "a --set with a wrong value is an input error" fails 1 "n_gpus" run $good --set /n_gpus=-8
rm -f "$work/bad.json"
test_that "failures left nothing" [ "$(n_files)" -eq 0 ]

mkdir "$work/elsewhere"
program=$(readlink -f "$dpsim")
root=$PWD
test_that "profiles are found from any folder" sh -c \
    "cd '$work/elsewhere' && '$program' run '$root/$good' --csv >'$work/out' 2>'$work/err'"
test_that "DPSIM_PROFILES names another folder" sh -c \
    "DPSIM_PROFILES='$work' '$program' run '$root/$good' --csv >'$work/out' 2>'$work/err'; [ \$? -eq 1 ]"
totals
