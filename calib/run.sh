#!/bin/sh
# run.sh [-o DIR] [-t SECONDS] [-b DIR] [-p DIR] — calibrate the GPU of this machine: build for it, measure
# all benchmarks, fit a profile, compare with what is published where that is known.
#   -o DIR      results go there (default: calibration): raw.csv, quick.csv, profile.json, report.txt
#   -t SECONDS  for measuring, without the quick pass before it (default: 240)
#   -b DIR      use the programs that -p has put there instead of building
#   -p DIR      only build (for every architecture of the Makefile) and put the programs and the libraries
#               they need into DIR, for a machine without a compiler or packages; CUDA has to be there
# Exit status: 0, or that of the first step that failed; what was measured until then stays.

cd "$(dirname "$0")/.." || exit 2
out=calibration seconds=240 bundle= pack=
while getopts o:t:b:p: option; do
    case $option in
    o) out=$OPTARG ;;
    t) seconds=$OPTARG ;;
    b) bundle=$OPTARG ;;
    p) pack=$OPTARG ;;
    *) exit 64 ;;
    esac
done

if [ -n "$pack" ]; then
    make || exit 2
    mkdir -p "$pack/lib"
    cp build/release/dpsim build/release/dpsim-calib "$pack"
    # what a bare machine has, and CUDA's own, stay out
    ldd build/release/dpsim build/release/dpsim-calib | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
        grep -v -E '/cuda|/lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so' | xargs -r cp -L -t "$pack/lib"
    ls -l "$pack" "$pack/lib"
    exit
fi

mkdir -p "$out" || exit 2
say() { echo "$*" | tee -a "$out/report.txt"; }
: >"$out/report.txt"
if [ -n "$bundle" ]; then
    calib=$bundle/dpsim-calib dpsim=$bundle/dpsim
    LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
else
    make CUDA_ARCHS=native >"$out/build.txt" 2>&1 || { tail "$out/build.txt"; exit 2; }
    calib=build/release/dpsim-calib dpsim=build/release/dpsim
fi
if command -v nvidia-smi >/dev/null; then nvidia-smi -q >"$out/nvidia-smi.txt" 2>&1; fi

# A quick pass first: what is broken shows within a minute, and there is something to fit in any case. A
# result that was wrong (status 1) or an error in one case (2) does not keep the others from being used.
status=0
measure() {
    name=$1
    shift
    "$calib" --backend cuda --out "$out/$name.csv" "$@" 2>"$out/$name.txt"
    now=$?
    say "$name: exit status $now"
    tail -n 40 "$out/$name.txt"
    [ $status -ne 0 ] || status=$now
}
measure quick --quick --budget 60
[ -s "$out/quick.csv" ] || exit $status
measure raw --budget "$seconds"
# the quick pass spans every benchmark, so it is of use where the budget of the other was out
set -- "$out/quick.csv"
[ ! -s "$out/raw.csv" ] || set -- "$@" "$out/raw.csv"

# achieved RAW... — bandwidth of the largest copy, and the rates of square products of 8192
achieved() {
    awk -F, '
        FNR == 1 { seen = 0 }
        /^#/ { next }
        !seen { for (i = 1; i <= NF; i++) at[$i] = i; seen = 1; next }
        $at["benchmark"] == "copy" && $at["size_B"] > most { most = $at["size_B"]; copy = 0 }
        $at["benchmark"] == "copy" && $at["size_B"] == most && 2 * most / $at["time_s"] > copy {
            copy = 2 * most / $at["time_s"]
        }
        $at["benchmark"] == "gemm" && $at["m"] == 8192 && $at["n"] == 8192 && $at["k"] == 8192 {
            rate = 2 * 8192 ^ 3 / $at["time_s"]
            if (rate > best[$at["dtype"]]) best[$at["dtype"]] = rate
        }
        END {
            if (most) printf "copy, bytes read and written: %.3g TB/s (largest, %.4g MiB)\n", copy / 1e12, most / 1048576
            for (dtype in best) printf "gemm %s 8192 x 8192 x 8192, best layout: %.4g TFLOP/s\n", dtype, best[dtype] / 1e12
        }' "$@"
}
device=$(sed -n 's/^# device: //p' "$1")
say "device: $device"
say "$(achieved "$@")"
case $device in
*H200*) say "published for H200: copy about 4.3 TB/s; gemm bf16 8192 x 8192 x 8192 about 770-800 TFLOP/s" ;;
esac

"$dpsim" fit "$@" --out "$out/profile.json" >"$out/fit.txt" 2>&1
fitted=$?
cat "$out/fit.txt"
[ $status -ne 0 ] || status=$fitted
exit $status
