#!/bin/sh
# Where there is nvcc: the objects hold code for every architecture that is promised, and the program
# starts without a driver and says so. CALIB: the built program.
passed=0 failed=0
claim() {
    if [ "$2" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "not so: $1"; fi
}
calib=${CALIB:-build/release/dpsim-calib}
objects=$(dirname "$calib")/calib

if [ -e "$objects/cuda_math.o" ]; then
    for arch in sm_80 sm_90 sm_100; do
        grep -a -q "$arch" "$objects/cuda_math.o"
        claim "kernels are compiled for $arch" $?
    done
fi

said=$("$calib" --backend cuda --quick --budget 1 --only launch 2>&1 >/dev/null)
status=$?
if [ ! -e /dev/nvidiactl ]; then
    [ $status -eq 2 ]
    claim "without a GPU the exit status is 2, not $status" $?
    echo "$said" | grep -q -E 'no usable NVIDIA GPU|built without CUDA'
    claim "a line says that there is no GPU: $said" $?
    [ "$(echo "$said" | wc -l)" -eq 1 ]
    claim "it is one line: $said" $?
else
    [ $status -eq 0 ]
    claim "an empty kernel is launched and timed: $said" $?
fi

sh -n calib/run.sh
claim "the script that calibrates a GPU is a script" $?
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
