#!/bin/sh
# dpsim topo on good and bad input.
. tests/cli/lib.sh
good=scenarios/minimal.json

test_that "counts are printed" prints "32 in 4 nodes" topo $good
test_that "the bisection is printed" prints "bisection" topo $good
test_that "--json prints JSON" prints_json topo $good --json
for name in n_gpus n_nodes n_switches bisection_Bps oversubscription diameter_hops links; do
    test_that "JSON has $name" grep -q "\"$name\":" "$work/out"
done
test_that "the same bytes twice" same_twice topo $good --json
test_that "--dot writes a file" run 0 topo $good --dot "$work/net.dot"
test_that "the file is a graph" grep -q 'graph' "$work/net.dot"
sed 's|"fabric": *"[^"]*"|"fabric": {"kind": "graph", "file": "net.dot"}|; s|"fabric": *{[^}]*}|"fabric": {"kind": "graph", "file": "net.dot"}|' $good >"$work/net.json"
for size in 8B 64KiB 1GiB; do
    run 0 collective $good -b $size -e $size && grep -v '^#' "$work/out" >"$work/known"
    run 0 collective "$work/net.json" -b $size -e $size && grep -v '^#' "$work/out" >"$work/read"
    test_that "what is drawn is read again: $size takes the same time" cmp "$work/known" "$work/read"
    test_that "and there is a time" [ -s "$work/read" ]
done
rm -f "$work/net.dot" "$work/net.json" "$work/known" "$work/read"
test_that "--dot - prints the graph alone" prints "graph" topo $good --dot -
test_that "a drawing that cannot be written is the world's failure" fails 2 "cannot write" topo $good \
    --dot "$work/no/net.dot"
test_that "a missing file is an input error" fails 1 "no-such.json" topo no-such.json
test_that "failures left nothing" [ "$(n_files)" -eq 0 ]
totals
