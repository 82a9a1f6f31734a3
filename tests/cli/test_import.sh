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
totals
