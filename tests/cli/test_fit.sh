#!/bin/sh
# dpsim fit: raw measurements to a profile that a scenario reads.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/lib.sh

table=tests/published/gemm.csv
head='benchmark,dtype,layout,m,n,k,batch,size_B,n_ranks,ranks_per_node,time_s,low_s,high_s,repeats,outliers,check,note'

# made COPIES... — a raw file of copies at 1 TB/s from 2 us on, and what else is given
raw() {
    echo '# raw: 1'
    echo '# device: made up'
    echo '# date: 2026-01-31'
    echo "$head"
    awk 'BEGIN { for (s = 1024; s < 1e9; s *= 2) printf "copy,,,,,,,%d,1,,%.9g,,,,,,\n", s, 2e-6 + 2 * s / 1e12 }'
    [ $# -eq 0 ] || printf '%s\n' "$@"
}

raw >"$work/raw.csv"
test_that "a person gets a table of constants" prints "memory_reach" fit --base t4 "$work/raw.csv"
test_that "a person gets left-out errors" prints "left out" fit --base t4 "$work/raw.csv"
test_that "what was not measured is named" prints "no rows of gemm" fit --base t4 "$work/raw.csv"
test_that "a program gets JSON" prints_json fit --base t4 --json "$work/raw.csv"
# launches that take 5 us however many there are tell nothing of what one more takes
for n in 1 8 64 1024; do echo "launch_stream,,,,$n,,,,1,,5e-06,,,,,,"; done >"$work/launches"
(raw; cat "$work/launches") >"$work/launch.csv"
test_that "a constant that the data do not tell has no error of 1e10 %" prints "not determined" fit --base t4 "$work/launch.csv"
test_that "a slope has its unit" grep -q 'launch_stream *beta (s/kernel)' "$work/out"
test_that "two runs print the same" same_twice fit "$table" --device t4 --base t4 --dtype fp16
test_that "a profile is written" run 0 fit --base t4 --name mine --out "$work/mine.json" "$work/raw.csv"
test_that "it names the machine" grep -q '"device": "made up"' "$work/mine.json"
test_that "it says where a number is from" grep -q '"memory_reach": "fitted to' "$work/mine.json"
test_that "it is JSON" awk -f tests/cli/json.awk "$work/mine.json"

sed "s|\"gpu\": *\"[^\"]*\"|\"gpu\": \"$work/mine.json\"|" scenarios/minimal.json >"$work/scenario.json"
test_that "a scenario reads it" prints "x mine," run "$work/scenario.json"
test_that "a profile needs no base" run 0 fit --out "$work/alone.json" "$work/raw.csv"
test_that "a profile without a base has a bandwidth" grep -q '"memory_bandwidth"' "$work/alone.json"

test_that "a table of products is read by device" prints "reach_fp16" fit "$table" --device t4 --base t4 --dtype fp16
test_that "products of a T4 in fp32 read operands again, and nt from slower memory" run 0 fit "$table" --device t4 --base t4 --dtype fp32 --out "$work/again.json"
test_that "the profile says how much" grep -q '"product_reread": 1.9' "$work/again.json"
test_that "both shares of memory show together" grep -q '"product_nt_memory": 0.3' "$work/again.json"
# T4's fp16 products show neither; were they left to the base, they would be predicted by them
echo '{"kind": "gpu", "base": "t4", "name": "odd", "product_memory": 0.5, "tile_load": 20}' >"$work/odd.json"
test_that "a base may have terms that the data do not show" run 0 fit "$table" --device t4 --base "$work/odd.json" --dtype fp16 --out "$work/reset.json"
test_that "the profile is without them" grep -q '"product_memory": 1,' "$work/reset.json"
test_that "and says why" grep -q '"tile_load": "as without it' "$work/reset.json"

test_that "an unknown device of a table is an error" fails 1 'no rows of "t5"' fit "$table" --device t5 --base t4
test_that "no file is a usage error" fails 64 "needs a file of measurements" fit
test_that "a missing file is an error" fails 1 "nowhere.csv" fit "$work/nowhere.csv"
test_that "an unknown base is an error" fails 1 'unknown gpu "t44"' fit --base t44 "$work/raw.csv"
test_that "folds are a number" fails 64 "--folds wants a number" fit --folds many "$work/raw.csv"
test_that "measurements are not written over" fails 1 "would replace" fit --out "$work/raw.csv" "$work/raw.csv"

run 0 fit "$table" --device a100-pcie-80 --base a100-pcie-80 --out "$work/a100.json"
cat >"$work/small.json" <<EOF
{"model": "bert-base", "gpu": "$work/a100.json", "n_gpus": 8, "batch_per_gpu": 1, "precision": "bf16"}
EOF
# layers of BERT-base at 128 tokens are 1.5e8 FLOP and more; what was measured begins at 1.7e10
test_that "sizes that were not measured are warned of" prints "outside of what was measured" run "$work/small.json"
test_that "types that were not measured are warned of" prints "no products in fp16" run --set /precision=fp16 "$work/small.json"
sed 's/"batch_per_gpu": 1/"batch_per_gpu": 512/' "$work/small.json" >"$work/large.json"
test_that "sizes that were measured are not" prints "3 of 52 linear layers" run "$work/large.json"

# pong LAST — half round trips up to LAST bytes: 5 us and 10 GB/s, and 20 us more above 16 KiB
pong() {
    printf '# raw: 1\n# device: two servers\n# date: 2026-01-31\nbenchmark,size_B,n_ranks,time_s\n'
    awk -v last="$1" 'BEGIN { for (s = 8; s <= last; s *= 2)
        printf "ping_pong,%d,2,%.9g\n", s, 5e-6 + s / 10e9 + (s > 16384 ? 20e-6 : 0) }'
}
pong 268435456 >"$work/pong.csv"
test_that "messages become a card" prints "as a network card" fit --link --base ib-edr --name mine --out "$work/card.json" "$work/pong.csv"
test_that "it is JSON" awk -f tests/cli/json.awk "$work/card.json"
test_that "its rate is a share of the base's line rate" grep -q '"efficiency": 0.8' "$work/card.json"
# 5 us less two links of 0.73 us
test_that "what the links do not take is the hosts'" grep -q '"host_latency": "3.54us"' "$work/card.json"
test_that "large messages have a handshake" grep -q '"handshake": "20us"' "$work/card.json"
test_that "each number says its data and its left-out error" grep -q '"efficiency": "fitted to 26 messages.*left out 0.0' "$work/card.json"
test_that "a program gets a card's lines as JSON" prints_json fit --link --json "$work/pong.csv"
test_that "a card needs no base" run 0 fit --link --out "$work/own.json" "$work/pong.csv"
test_that "then what was reached is its rate" grep -q '"bandwidth": "10GB/s"' "$work/own.json"
test_that "a GPU's file has no messages" fails 1 "no rows of messages" fit --link "$work/raw.csv"
sed 's/^\(ping_pong,.*,2\),.*/\1,1e-3/' "$work/pong.csv" >"$work/flat.csv"
test_that "times that do not grow tell no rate" fails 1 "flat.csv:5: from here on the line of ping_pong on 2" fit --link --base ib-edr "$work/flat.csv"
head -c -6 "$work/pong.csv" >"$work/cut.csv"
test_that "a cut last line is told" fails 1 "cut.csv:30: the last line has no end" fit --link "$work/cut.csv"
test_that "a card's base is a card" fails 1 'unknown nic "t4"' fit --link --base t4 "$work/pong.csv"
cat >"$work/two.json" <<EOF
{"model": "resnet50", "gpu": "t4", "node": {"gpus": 1}, "n_gpus": 2, "batch_per_gpu": 8, "precision": "fp32",
 "nic": "./card.json", "library": "open-mpi"}
EOF
# 5 us + 20 us 64 KiB / (64 + 32 KiB) + 64 KiB / 10 GB/s = 24.9 us, and 2 us of the library
run 0 collective "$work/two.json" --op broadcast -b 64K -e 64K --csv
test_that "a collective is sent by the card" awk -F, 'NR == 2 { fine = $2 > 26.8e-6 && $2 < 27.0e-6 } END { exit !fine }' "$work/out"
test_that "a step is" run 0 run "$work/two.json"
test_that "messages that were measured are not warned of" sh -c "! grep -q 'messages between' $work/out"
pong 65536 >"$work/short.csv"
run 0 fit --link --base ib-edr --out "$work/card.json" "$work/short.csv"
test_that "messages that were not measured are" prints "measured for two servers: 8 to 6.6e+04 B" run "$work/two.json"

# refused LINE ROW WORDS — a raw file with this row at the end is refused with its line
refused() {
    raw "$2" >"$work/bad.csv"
    fails 1 "bad.csv:$1" fit --base t4 "$work/bad.csv"
}
test_that "a time that is no number is refused with its line" refused 25 "copy,,,,,,,1024,1,,nan,,,,,,"
test_that "a time beyond all bounds is refused" refused 25 "copy,,,,,,,1024,1,,1e308,,,,,,"
test_that "a time of nothing is refused" refused 25 "copy,,,,,,,1024,1,,0,,,,,,"
test_that "an unknown benchmark is refused" refused 25 "copie,,,,,,,1024,1,,1e-3,,,,,,"
test_that "a size of 1e308 is refused" refused 25 "copy,,,,,,,1e308,1,,1e-3,,,,,,"
test_that "a row that is cut off is refused" refused 25 "copy,,,,,,,1024"
: >"$work/empty.csv"
test_that "an empty file is refused" fails 1 "empty.csv" fit "$work/empty.csv"
raw 'gemm,fp16,nn,64,64,64,1,,1,,1e-5,,,,,,' >"$work/few.csv"
test_that "too few rows of a kind are refused" fails 1 "few.csv: 1 row of gemm" fit --base t4 "$work/few.csv"
printf 'gpu,precision,m,n,k,tflops\nx,fp16,1,2,nan,3\n' >"$work/nan.csv"
test_that "a table's NaN is refused with its line" fails 1 "nan.csv:2" fit --device x "$work/nan.csv"
totals
