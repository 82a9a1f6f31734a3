#!/bin/sh
# dpsim import: other tools' files to raw rows, a server's picture to its profile
. tests/cli/lib.sh

# gives WORDS ARGUMENT... — it succeeds and gives WORDS; says: on standard error, beside its output
gives() {
    words=$1
    shift
    run 0 "$@" && grep -qF -e "$words" "$work/out"
}
says() {
    words=$1
    shift
    run 0 "$@" && grep -qF -e "$words" "$work/err"
}

in=tests/io/fixtures
test_that "text of nccl-tests becomes raw rows" gives "all_reduce,fp32,,,,,,1073741824,4,2,0.0111848" import $in/nccl-2.13.txt
test_that "what is left out is said with its line" says "nccl-2.13.txt:8: left out: 2 lines of NCCL_DEBUG" import $in/nccl-2.13.txt
test_that "several files become one table" gives "ping_pong" import $in/nccl.json $in/osu.txt
test_that "a matrix of links becomes a profile" gives '"scaleup_bandwidth": "450GB/s"' import $in/topo.txt
test_that "so does NCCL's topology file" gives '"pcie_bandwidth": "63.02GB/s"' import $in/topo.xml
test_that "a profile and rows do not mix" fails 1 "import it by itself" import $in/topo.xml $in/osu.txt
test_that "garbage is the user's error" fails 1 "no known format" import "$dpsim"
test_that "a wrong number is a usage error" fails 64 "--ranks: 'x' is not" import --ranks x $in/osu.txt
test_that "an unknown collective is a usage error" fails 64 "--op: no collective" import --op sum $in/osu.txt
# what was measured beside a scenario; here what the program itself predicts
scenario=scenarios/minimal.json
"$dpsim" collective $scenario -b 1K -e 256M >"$work/nccl.txt"
"$dpsim" collective $scenario -b 1K -e 256M --set '/adjust={"latency":2,"network_rate":0.5}' >"$work/slow.txt"
test_that "the table that collective prints is one of nccl-tests" gives "send" import --op send_recv "$work/nccl.txt"
test_that "a collective is known whatever its case" gives "send" import --op SendRecv "$work/nccl.txt"
test_that "a cluster that is as predicted passes the gate" gives "ok   all_reduce" check "$work/nccl.txt" --against $scenario
test_that "one that is slower does not" run 1 check "$work/slow.txt" --against $scenario
test_that "and what to look at is said" grep -q "first suspicion: a card at half its rate" "$work/out"
test_that "unless that is tolerated" run 0 check "$work/slow.txt" --against $scenario --tolerance 60%
test_that "the gate prints JSON" sh -c "'$dpsim' check '$work/nccl.txt' --against $scenario --json 2>/dev/null | awk -f tests/cli/json.awk"
test_that "the gate writes JUnit" run 1 check "$work/slow.txt" --against $scenario --junit "$work/gate.xml"
test_that "with the failure in it" grep -q "<failure message=\"median error" "$work/gate.xml"
test_that "measured stands beside predicted" gives "1.000" collective $scenario --compare "$work/nccl.txt"
test_that "which is as it should be" gives "take 1.00 of the predicted time, as they should" collective $scenario --compare "$work/nccl.txt"
test_that "in JSON too" gives '"verdict": "as they should"' collective $scenario --json --compare "$work/nccl.txt"
"$dpsim" collective $scenario --algorithm tree --protocol Simple -b 64M -e 256M >"$work/tree.txt"
test_that "a forced algorithm is compared with itself" gives "median error 0.0 %" collective $scenario --algorithm tree --protocol Simple --compare "$work/tree.txt"
test_that "that the library has" fails 1 "offers no all_reduce by pat" collective $scenario --algorithm pat --compare "$work/tree.txt"
{ echo "#  Rank  0 Group  0 Pid 1 on a device  0 [0x1b] NVIDIA H200"; echo "NCCL version 2.27.3+cuda12.8"; cat "$work/nccl.txt"; } >"$work/other.txt"
test_that "a library of another version is named" says '"library": "nccl-2.27.3"' collective $scenario --ranks 32 --compare "$work/other.txt"
test_that "and another GPU" says '"gpu": "h200-sxm-141"' collective $scenario --ranks 32 --compare "$work/other.txt"
test_that "a fit finds what makes the difference" gives "network_rate" fit "$work/slow.txt" --against $scenario --out "$work/fitted.json"
test_that "and the scenario that it writes passes the gate" gives "ok " check "$work/slow.txt" --against "$work/fitted.json" --tolerance 3%
test_that "and runs" run 0 run "$work/fitted.json"
test_that "a fit prints JSON" sh -c "'$dpsim' fit '$work/slow.txt' --against $scenario --json 2>/dev/null | awk -f tests/cli/json.awk"
test_that "two scenarios for one file are refused" fails 1 "2 scenarios for 1 files" check "$work/nccl.txt" --against $scenario --against $scenario
test_that "a tolerance is a share" fails 64 "--tolerance wants a share" check "$work/nccl.txt" --against $scenario --tolerance x
test_that "a table and files do not mix" fails 64 "go with --against" check "$work/nccl.txt" --table x.csv
totals
