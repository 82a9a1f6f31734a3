#!/bin/sh
# dpsim topo on good and bad input.
. tests/cli/lib.sh
good=scenarios/minimal.json

test_that "counts are printed" prints "32 in 4 nodes" topo $good
test_that "the bisection is printed" prints "bisection" topo $good
test_that "--json prints JSON" prints_json topo $good --json
for name in n_gpus n_nodes n_switches bisection_Bps oversubscription diameter_hops links levels shortest_ways disjoint_ways; do
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
pod=$work/pod.json
echo '{"model": "resnet50", "batch_per_gpu": 8, "gpu": "h100-sxm-80", "n_gpus": 1024, "fabric": "dgx-h100-superpod"}' >"$pod"
test_that "nothing is reckoned without prices" prints "cables          1024 to cards, 1024 between switches" topo "$pod"
test_that "and no cost is printed" sh -c "! grep -q cost '$work/out'"
# 48 switches at 36,000 and 2,048 cables at 1,279: 1.73 and 2.62 million, as the sheet says of 1,024 GPUs
test_that "with prices the cost is that of the sheet" prints "cost            4347392 US dollars: switches 1728000, cables 2619392" topo "$pod" \
    --set /prices=infiniband-ndr-2024
test_that "JSON says the currency" prints '"currency": "US dollars"' topo "$pod" --set /prices=infiniband-ndr-2024 --json
test_that "prices of one's own may leave the currency out" prints "of a currency that the prices do not say" topo "$pod" --set '/prices={"switch_cost":5}'
test_that "with rails a leaf has a card of each server" prints "leaf            up to 32 cards, one each of 32 servers" topo "$pod"
test_that "else all of some" prints "leaf            up to 32 cards, those of 4 servers" topo "$pod" --set '/fabric={"kind":"fat-tree","hosts_per_leaf":4}'
test_that "ports may be less than a server has" prints "those of 0.5 server" topo "$pod" --set '/fabric={"kind":"fat-tree","ports_per_leaf":4}'
test_that "ways are counted" prints "64 shortest of 2 links, 32 without a common link" topo "$pod"
if command -v gnuplot >/dev/null; then
    test_that "--plot draws a picture" run 0 topo "$pod" --plot "$work/net.png"
    test_that "the picture is a PNG" grep -q PNG "$work/net.png"
fi
test_that "one server has no network to draw" fails 1 "--plot draws" topo $good --set /n_gpus=8 --plot "$work/net.png"
rm -f "$work/net.png" "$pod"
test_that "--dot - prints the graph alone" prints "graph" topo $good --dot -
test_that "a drawing that cannot be written is the world's failure" fails 2 "cannot write" topo $good \
    --dot "$work/no/net.dot"
test_that "a missing file is an input error" fails 1 "no-such.json" topo no-such.json
test_that "failures left nothing" [ "$(n_files)" -eq 0 ]
totals
