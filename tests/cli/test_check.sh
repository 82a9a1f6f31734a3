#!/bin/sh
# dpsim check on good and broken tables.
. tests/cli/lib.sh
colls=tests/published/check-collectives.csv
train=tests/published/check-training.csv

# how many rows are covered moves with the profiles that there are
test_that "a table is scored" prints "39 rows: " check --table $colls
covered=$(sed -n 's/^39 rows: \([0-9]* covered\), 2 suspect and left out, [0-9]* not covered$/\1/p' "$work/out")
test_that "and what is not is counted" [ -n "$covered" ]
sed 's/,NVLS,/,telepathy,/' $colls >"$work/odd.csv"
test_that "what is not covered has its reason" prints "algo telepathy: no such algorithm" check --table "$work/odd.csv"
test_that "--json prints JSON" prints_json check --table $colls --json
for name in rows covered uncovered overall groups id n median_abs_err mean_abs_err max_abs_err bias \
    within_10 within_25 suspect bands replicates moved_median_abs_err groups_better_than_moved; do
    test_that "JSON has $name" grep -q "\"$name\":" "$work/out"
done
test_that "the same bytes twice" same_twice check --table $colls --json
test_that "training is scored" prints_json check --table $train --json
test_that "with scaling" grep -q '"median_rank_correlation":' "$work/out"
test_that "with sources for groups" grep -q '"id": "Oneflow-Inc/DLPerf report v1"' "$work/out"
test_that "fluid scores as well" prints "$covered" check --table $colls --fidelity fluid

test_that "--out and --report write files" run 0 check --table $colls --out "$work/rows.csv" --report "$work/report.md"
test_that "rows come back with predicted and error" sh -c "head -1 '$work/rows.csv' | grep -q ',predicted,error,predicted_low,predicted_high,bound,uncovered$'"
if command -v gnuplot >/dev/null; then
    test_that "--plot draws" run 0 check --table $colls --plot "$work/it's \"a plot\".png"
    test_that "a PNG" sh -c "head -c 4 '$work'/it*plot*.png | grep -q PNG"
fi
no_gnuplot() { (PATH=/nonexistent; export PATH; "$dpsim" check --table $colls --plot "$work/none.png" >/dev/null 2>"$work/err"; [ $? -eq 2 ]); }
test_that "without gnuplot it is the world's failure" no_gnuplot
test_that "which is said" grep -q "gnuplot-nox" "$work/err"
# a gnuplot that stops in the middle and says nothing, as the real one does when the disk is full
mkdir "$work/cut" && printf '#!/bin/sh\nprintf "\\211PNG"\n' >"$work/cut/gnuplot" && chmod +x "$work/cut/gnuplot"
cut_gnuplot() { (PATH="$work/cut:$PATH"; export PATH; "$dpsim" check --table $colls --plot "$work/cut.png" >/dev/null 2>"$work/err"; [ $? -eq 2 ]); }
test_that "half a picture is none" cut_gnuplot
test_that "and nothing is left of it" sh -c "! ls '$work'/cut.png* 2>/dev/null"
test_that "and leaves no file" [ ! -e "$work/none.png" ]
test_that "all of them" [ "$(wc -l <"$work/rows.csv")" -eq 40 ]
cut -d, -f1-3 "$work/rows.csv" >"$work/left"
test_that "in their order" sh -c "cut -d, -f1-3 $colls | cmp -s - '$work/left'"
test_that "the report is Markdown" grep -q "^| all | ${covered% *} |" "$work/report.md"

cat >"$work/free.json" <<'EOF'
{"constants": [{"profile": "dgx-a100", "pointer": "/scaleup_efficiency", "lower": 0.5, "upper": 1}]}
EOF
test_that "a fit is scored on both halves" prints "b after" check --table $colls --fit-on a --free "$work/free.json" --write "$work/fitted"
test_that "its profiles are written" grep -q '"scaleup_efficiency": [01]' "$work/fitted/hardware/dgx-a100.json"
test_that "a fit is JSON" prints_json check --table $colls --fit-on 3 --free "$work/free.json" --json
test_that "with its constants" grep -q '"name": "dgx-a100 /scaleup_efficiency"' "$work/out"
test_that "a part that is none is a usage error" fails 64 "--fit-on wants" check --table $colls --fit-on c
test_that "--write wants one fit" fails 64 "--write wants" check --table $colls --fit-on 3 --write "$work/x"
test_that "--free goes with --fit-on" fails 64 "go with --fit-on" check --table $colls --free "$work/free.json"
test_that "a missing file of constants is an input error" fails 1 "none.json" check --table $colls --fit-on a --free none.json

sed 's/$/\r/' $colls >"$work/crlf.csv"
test_that "CRLF is fine" prints "$covered" check --table "$work/crlf.csv"
{ printf '\357\273\277'; cat $colls; } >"$work/bom.csv"
test_that "a byte order mark is fine" prints "$covered" check --table "$work/bom.csv"
sed '2s/^[^,]*/"two\nlines"/' $colls >"$work/quoted.csv"
test_that "a quoted line end is fine" prints "39 rows" check --table "$work/quoted.csv"
sed '1s/size_bytes/size_byte/' $colls >"$work/column.csv"
test_that "a missing column is named, with the nearest" fails 1 'no column "size_bytes" (did you mean "size_byte"?)' \
    check --table "$work/column.csv"
awk 'BEGIN { FS = OFS = "," } NR == 5 { sub(/,auto,auto,[0-9]+,/, ",auto,auto,big,") } 1' $colls >"$work/text.csv"
test_that "text in a number is named with its line" fails 1 'text.csv:5: size_bytes: "big" is not a number' \
    check --table "$work/text.csv"
sed '1s/,nic_gbps,/,nic_gbp,/' $colls >"$work/slip.csv"
test_that "a column that rows can do without is named when it is missing" prints \
    'not stated in any row: nic_gbps (did you mean "nic_gbp"?)' check --table "$work/slip.csv"
test_that "scripts are told too" run 0 check --table "$work/slip.csv" --json
test_that "by name" grep -q '"missing_columns": \["nic_gbps"\]' "$work/out"
cat >"$work/bus.csv" <<'EOF'
id,collective,gpu_key,intra_key,gpus_per_node,nodes,library,size_bytes,time_us,busbw_GBps
a,allreduce,a100-sxm-80,nvswitch2,8,1,NCCL,1000000000,7500,233
b,allreduce,a100-sxm-80,nvswitch2,8,1,NCCL,1000000000,7.5,233
EOF
test_that "milliseconds in a column of microseconds are found by the bus bandwidth" fails 1 \
    "bus.csv:3: busbw_GBps: 233, but size_bytes / time_us is 2.333e+05 GB/s of bus bandwidth (a wrong unit?)" \
    check --table "$work/bus.csv"
sed '4s/$/,one,more/' $colls >"$work/ragged.csv"
test_that "a ragged row is named with its line" fails 1 "ragged.csv:4: has 26 cells" check --table "$work/ragged.csv"
printf 'a,b\n1,2\n' >"$work/other.csv"
test_that "another table is refused" fails 1 "is no table of collectives" check --table "$work/other.csv"
head -1 $colls >"$work/empty.csv"
test_that "a table without rows has nothing to score" prints "0 rows" check --table "$work/empty.csv"
test_that "also as JSON" prints_json check --table "$work/empty.csv" --json
test_that "a missing file is an input error" fails 1 "no-such.csv" check --table no-such.csv
test_that "a table is needed" fails 64 "--table" check
test_that "an unwritable --out is the world's failure" run 2 check --table $colls --out "$work/no/such/dir.csv"
totals
