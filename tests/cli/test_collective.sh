#!/bin/sh
# dpsim collective on good and bad input.
. tests/cli/lib.sh
good=scenarios/minimal.json

# rows — lines of the table
rows() {
    grep -vc '^#' "$work/out"
}

test_that "the columns are those of nccl-tests" prints "busbw" collective $good -b 8 -e 1KiB
test_that "8 B to 1 KiB by 2 are 8 sizes" [ "$(rows)" -eq 8 ]
test_that "-f 4 takes fewer" prints "busbw" collective $good -b 8 -e 2048 -f 4
test_that "8 32 128 512 2048" [ "$(rows)" -eq 5 ]
test_that "sizes are read as nccl-tests does" prints "134217728" collective $good -b 128M -e 128M
test_that "and with units" prints "134217728" collective $good -b 128MiB -e 128MiB
test_that "--json prints JSON" prints_json collective $good -b 1M -e 16M --json
for name in size_B time_s algbw_Bps busbw_Bps algorithm protocol bound_s; do
    test_that "JSON has $name" grep -q "\"$name\":" "$work/out"
done
test_that "--csv prints a header" prints "size_B,time_s,algbw_Bps" collective $good -b 1M -e 1M --csv
test_that "the same bytes twice" same_twice collective $good -b 8 -e 64M --csv

run 0 collective $good -b 8 -e 256M --csv
test_that "no time beats the bound" awk -F, 'NR > 1 && $2 < $7 * (1 - 1e-9) { exit 1 }' "$work/out"
test_that "busbw is algbw 2 (n - 1) / n" awk -F, \
    'NR > 1 { r = $4 / $3 / (2 * 31 / 32) - 1; if (r > 1e-6 || r < -1e-6) exit 1 }' "$work/out"
for op in all_reduce reduce_scatter all_gather broadcast; do
    test_that "--op $op is predicted" prints "$op" collective $good --op $op -b 1M -e 1M
done
test_that "other spellings are understood" prints "all_reduce" collective $good --op allreduce -b 1M -e 1M
test_that "an algorithm can be forced" prints " ring " collective $good --algorithm ring -b 1M -e 1M

test_that "an unknown op names the nearest" fails 64 "all_reduce" collective $good --op all_reduc
test_that "an unknown algorithm is an input error" fails 1 "rng" collective $good --algorithm rng
test_that "a name is known whatever its case" prints " ring " collective $good --op AllReduce --algorithm Ring --protocol ll128 -b 1M -e 1M
test_that "what the library has instead is said" fails 1 "it has " collective $good --algorithm tree --protocol XX
test_that "an unknown protocol is an input error" fails 1 "offers no" collective $good --protocol XX
test_that "a size that is none is a usage error" fails 64 "--begin" collective $good -b big
test_that "a negative size is a usage error" fails 64 "--begin" collective $good -b -8
test_that "an end before the begin is a usage error" fails 64 "smaller" collective $good -b 8M -e 8
test_that "a factor of 1 is a usage error" fails 64 "--factor" collective $good -f 1
test_that "a million sizes are a usage error" fails 64 "sizes" collective $good -f 1.000001
test_that "a sendrecv of two is predicted" prints "sendrecv" collective $good --op sendrecv -b 1M -e 1M --set /n_gpus=2
test_that "in a sendrecv of many each sends to the next" prints "shift" collective $good --op sendrecv -b 1M -e 1M
# 128 servers of one GPU under several leaves: bundles of 127 shifts, few of which touch equal numbers of
# links. Memory once grew with the cube of the number and went past this bound.
test_that "an all-to-all of 128 servers fits in 2 GB" prints "all_to_all" collective $good --op all_to_all -b 1M -e 1M \
    --set /n_gpus=128 --set '/gpu="p100-pcie-16"' --set '/node="cray-xc50"' --set '/library="ideal"' \
    --set '/fabric={"kind":"fat-tree","hosts_per_leaf":8}'
test_that "the library's own estimate stands beside the prediction" prints "  25.21  " collective $good --as-tuner -b 128 -e 128 --set /n_gpus=24 --set '/gpu="h100-sxm-80"' --set '/library="nccl-2.18"' --set '/tuner="nccl-tuner-2.22"'
test_that "and with all digits in JSON, every way of it" prints '"tree/LL": 2.52147636e-05' collective $good --as-tuner --json -b 128 -e 128 --set /n_gpus=24 --set '/gpu="h100-sxm-80"' --set '/library="nccl-2.18"' --set '/tuner="nccl-tuner-2.22"'
test_that "and of the way it takes" grep -q '"tuner_time_s": 2.52147636e-05' "$work/out"
test_that "a library without an estimate says so" fails 1 "makes no estimate" collective $good --as-tuner --set '/library="gloo"'
echo '{"gpu": "h100-sxm-80", "n_gpus": 16}' >"$work/network.json"
test_that "a collective needs no model" prints "all_reduce, 16 GPUs" collective "$work/network.json" -b 1M -e 1M
test_that "nor does a network" prints "16 in 2 nodes" topo "$work/network.json"
test_that "a step does" fails 1 'missing key "model"' run "$work/network.json"
"$dpsim" collective "$work/network.json" -b 1M -e 4M >"$work/own.log"
test_that "nor do measured collectives to compare with" run 0 check "$work/own.log" --against "$work/network.json"
echo 'gpus,batch,time_s
16,1024,0.2' >"$work/steps.csv"
test_that "measured steps do" fails 1 'missing key "model"' check "$work/steps.csv" --against "$work/network.json"
test_that "one GPU has nobody to talk to" fails 1 "2 GPUs" collective $good --set /n_gpus=1
test_that "a missing file is an input error" fails 1 "no-such.json" collective no-such.json
test_that "what the usual server has can be changed without naming it" prints "all_reduce" collective $good -b 1M -e 1M --set /node/gpudirect=false --set /nic/efficiency=0.5 --set /library/channels=8
test_that "a usual thing that there is not is an error" fails 1 "unknown prices" collective $good --set /prices/switch_cost=5

# NVIDIA/nccl issue 1453, as pasted there: one GPU a process, so the file does not say how many took part
cat >"$work/pasted" <<'END'
# nThread 1 nGpus 1 minBytes 33554432 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 validate: 0
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
    33554432       8388608     float     sum      -1   2180.0   15.39   29.50      0   2180.0   15.39   29.50      0
    67108864      16777216     float     sum      -1  24406.0    2.75    5.27      0  24406.0    2.75    5.27      0
   134217728      33554432     float     sum      -1  49280.0    2.72    5.22      0  49280.0    2.72    5.22      0
END
run 0 collective $good --set /n_gpus=24 --set '/gpu="h100-sxm-80"' --compare "$work/pasted"
test_that "the scenario says how many took part where the file does not" grep -q "bandwidth collapses" "$work/out"
totals
