#!/bin/sh
# Ranks of MPI on this machine: messages and collectives come out right and are measured, and dpsim fit makes
# a line of the messages. Where there is no mpirun, or dpsim-calib was built without MPI, the program says so.
. tests/cli/lib.sh
calib=${CALIB:-./dpsim-calib}
# as root too, more ranks than processors, no network but the machine's own memory; what MPI itself never
# gives back is not ours
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_hwloc_base_binding_policy=none
# a rank that waits lets another run: other programs may be at work here
export OMPI_MCA_mpi_yield_when_idle=1
export ASAN_OPTIONS=detect_leaks=0

# ranks N FILE ARGUMENT... — dpsim-calib on N ranks
ranks() {
    n=$1
    file=$2
    shift 2
    timeout 60 mpirun -n "$n" "$calib" --backend cpu --quick --precision 0.3 --out "$file" "$@" >"$work/out" 2>"$work/err"
}

# column FILE NAME BENCHMARK — that column of the benchmark's rows
column() {
    awk -F, -v name="$2" -v benchmark="$3" '
        $1 == "benchmark" { for (i = 1; i <= NF; i++) if ($i == name) at = i }
        $1 == benchmark { print $at }' "$1"
}

ping_pong_is_measured() {
    ranks 2 "$work/pong.csv" --only ping_pong --budget 20 || return 1
    [ "$(column "$work/pong.csv" size_B ping_pong | wc -l)" -ge 4 ] || { echo "too few sizes"; return 1; }
    [ "$(column "$work/pong.csv" n_ranks ping_pong | sort -u)" = 2 ] && [ "$(column "$work/pong.csv" ranks_per_node ping_pong | sort -u)" = 2 ] || return 1
    [ "$(column "$work/pong.csv" check ping_pong | sort -u)" = 0 ] || { echo "a message came out wrong"; return 1; }
    grep -q '^# libraries: .*MPI' "$work/pong.csv"
}

# a message between two processes of one machine takes 50 ns to 1 ms, and goes at 10 MB/s to 1 TB/s
messages_become_a_line() {
    run 0 fit "$work/pong.csv" --base h100-sxm-80 --json || return 1
    awk '/"key": "alpha/ { alpha = $0; sub(/.*"value": */, "", alpha) }
         /"key": "beta/ { beta = $0; sub(/.*"value": */, "", beta) }
         END { exit !(alpha + 0 > 5e-8 && alpha + 0 < 1e-3 && beta + 0 > 1e-12 && beta + 0 < 1e-7) }' "$work/out"
}

# Every case is compared before it is timed. Which of them the budget does for is chance where other programs are at
# work, so a collective that none was left for is asked for alone.
collectives_are_right() {
    names="send_recv all_reduce all_gather reduce_scatter broadcast reduce all_to_all"
    # shellcheck disable=SC2086
    ranks 3 "$work/all.csv" --budget 15 --only $names || return 1
    grep -q '^# wrong: 0 cases' "$work/all.csv" || return 1
    for name in $names; do
        grep -q "^$name,.*,[23],[23]," "$work/all.csv" && continue
        ranks 3 "$work/one.csv" --budget 4 --only "$name" && grep -q '^# wrong: 0 cases' "$work/one.csv" &&
            grep -q "^$name," "$work/one.csv" || { echo "no row of $name"; return 1; }
    done
}

# a benchmark without ranks is measured by rank 0 alone
others_go_on() {
    ranks 2 "$work/copy.csv" --only copy --budget 5 && [ "$(column "$work/copy.csv" size_B copy | wc -l)" -gt 2 ]
}

# no file on any rank when the command line is wrong, and mpirun ends
slips_end_all_ranks() {
    ! ranks 2 "$work/slip.csv" --only ping_png && [ ! -e "$work/slip.csv" ] && grep -q "did you mean 'ping_pong'" "$work/err"
}

alone_says_so() { # without mpirun there is nobody to send to
    timeout 60 "$calib" --backend cpu --quick --only ping_pong --out "$work/alone.csv" 2>"$work/err"
    [ $? -eq 2 ] && grep -q "$1" "$work/err"
}

if ! "$calib" --backend cpu --quick --only ping_pong --out "$work/probe.csv" 2>&1 | grep -q "built without MPI"; then
    test_that "two ranks send messages to and fro" ping_pong_is_measured
    test_that "messages become a line of latency and bandwidth" messages_become_a_line
    test_that "collectives of three ranks are right" collectives_are_right
    test_that "what has no ranks is measured as ever" others_go_on
    test_that "a slip on the command line ends all ranks" slips_end_all_ranks
    test_that "alone, messages are left out with what would be needed" alone_says_so "mpirun -n 2"
else
    test_that "built without MPI, messages are left out with that reason" alone_says_so "built without MPI"
fi
totals
