#!/bin/bash
# lint.sh [RULE...] — check the tree in the current directory; all rules when none is named. Prints
# file:line: what is wrong, and exits 1 if anything is. CPPFLAGS and WARN are the Makefile's.

here=$(cd "$(dirname "$0")" && pwd)
rules="floors guards alone walls banned format cppcheck tidy"
out=${BUILD_DIR:-build}/lint

eval "flags=($CPPFLAGS)" # with the shell's quotes, as a recipe would read it

sources() { find sim calib -name '*.[ch]' 2>/dev/null | sort; }
# headers of CUDA are C++; the compiler of the GPU sees them
headers() { find sim calib tests -name '*.h' ! -name '*cuda*' 2>/dev/null | sort; }

# lowest first; the top of sim/ is the floor "engine", sim/main.c stands above all. calib/ stands beside
# them on base: it uses base and itself, and nothing uses it.
FLOORS="base net collectives workload engine io study out main"
floors() {
    { sources; find calib -name '*.cu' 2>/dev/null; } | xargs -r awk -v floors="$FLOORS" '
        BEGIN { for (n = split(floors, name, " "); n > 0; n--) height[name[n]] = n; height["calib"] = 1.5 }
        function floor_of(path) {
            if (path ~ /^calib\//) return "calib"
            if (path == "main.c") return "main"
            if (path !~ /\//) return "engine"
            sub(/\/.*/, "", path)
            return path
        }
        FNR == 1 {
            path = FILENAME
            sub(/^sim\//, "", path)
            own = floor_of(path)
            if (!(own in height)) { print FILENAME ":1: is on no floor"; bad = 1 }
        }
        /^[ \t]*#[ \t]*include[ \t]*"/ {
            split($0, part, "\"")
            to = floor_of(part[2])
            if (!(to in height) || (to == "calib" && own != "calib")) { print FILENAME ":" FNR ": includes " part[2] ", which is on no floor"; bad = 1 }
            else if (height[to] > height[own]) { print FILENAME ":" FNR ": floor " own " includes " part[2] " from above"; bad = 1 }
        }
        END { exit bad }'
}

# the guard of sim/net/flow.h is NET_FLOW_H
guards() {
    headers | while read -r header; do
        guard=$(echo "${header#sim/}" | tr 'a-z/.-' 'A-Z___')
        grep -q "^#ifndef $guard\$" "$header" && grep -q "^#define $guard\$" "$header" && continue
        echo "$header:1: wanted the guard $guard"
        false
    done
}

# every header compiles without another before it
alone() {
    headers | xargs -r -P"$(nproc)" -n1 "${CC:-gcc}" "${flags[@]}" -std=c11 $WARN -fsyntax-only -x c
}

# one adapter per library
walls() {
    sources | xargs -r awk '
        BEGIN {
            home["cjson/"] = home["cJSON.h"] = " sim/base/json.c "
            home["csv.h"] = " sim/base/table.c "
            home["gsl/"] = " sim/base/rng.c sim/base/stats.c sim/base/lsq.c sim/base/minimise.c "
            home["mpi.h"] = " calib/mpi.c "
            home["cblas.h"] = " calib/cpu_products.c "
            home["cuda"] = " calib/cuda.h "
            home["cmocka.h"] = home["nccl.h"] = " "
        }
        /^[ \t]*#[ \t]*include/ {
            split($0, part, /[<">]/)
            for (library in home) {
                if (index(part[2], library) == 1 && !index(home[library], " " FILENAME " ")) {
                    print FILENAME ":" FNR ": " part[2] " belongs in" home[library]; bad = 1
                }
            }
        }
        END { exit bad }'
}

# unbounded writes, silent parsing, hidden state, memory outside the arena, clocks in results
BANNED='strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|atof|rand|srand|random|drand48|system|popen'
BANNED="$BANNED|malloc|calloc|realloc|alloca|setjmp|longjmp|time|clock|clock_gettime|gettimeofday|localtime"
banned() {
    sources | while read -r file; do # comments go, then what is quoted; line numbers stay
        calls=$BANNED
        case $file in calib/*) calls=${BANNED%%|time|*} ;; esac # what measures reads clocks
        gcc -fpreprocessed -dD -E -x c "$file" 2>/dev/null |
            awk -v file="$file" -v calls="(^|[^A-Za-z0-9_.>])($calls)[ \t]*[(]" '
                /^# [0-9]+ "/ { line = $2 - 1; next }
                { line++; gsub(/"([^"\\]|\\.)*"/, "\"\"") }
                match($0, calls) { print file ":" line ": banned call: " substr($0, RSTART, RLENGTH); bad = 1 }
                END { exit bad }'
    done
}

format() { { find sim tests calib -name '*.[ch]' 2>/dev/null; true; } | sort | xargs -r clang-format --dry-run -Werror; }

cppcheck() {
    mkdir -p "$out/cppcheck"
    command cppcheck --quiet -j"$(nproc)" --enable=warning,style,performance,portability --std=c11 --inline-suppr \
        --error-exitcode=1 --suppressions-list="$here/cppcheck.txt" --cppcheck-build-dir="$out/cppcheck" \
        -D_GNU_SOURCE -Isim -I. sim $([ ! -d calib ] || echo calib)
}

# One file per process: clang-tidy 14 reports a false va_list error when given several. What passed
# is remembered by a sum over all that the compiler sees of it.
tidy_file() {
    stamp=$out/tidy/$1.ok
    sum=$(gcc -E -C "${flags[@]}" "$1" 2>/dev/null | cat - .clang-tidy | cksum)
    [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ] && return 0
    clang-tidy --quiet "$1" -- "${flags[@]}" -std=c11 -Wall -Wextra 2>"$stamp.err" || { cat "$stamp.err"; return 1; }
    echo "$sum" >"$stamp"
}
tidy() {
    sources | grep '\.c$' | while read -r file; do mkdir -p "$out/tidy/$(dirname "$file")"; echo "$file"; done |
        xargs -r ls -S | xargs -r -P"$(nproc)" -n1 "$here/lint.sh" tidy_file # the largest first
}

if [ "$1" = tidy_file ]; then
    tidy_file "$2"
    exit
fi
set -o pipefail
failed=
for rule in ${*:-$rules}; do
    # a loop's status is its last turn's, so a rule fails when it says anything
    said=$("$rule" 2>&1) && [ -z "$said" ] && continue
    echo "$said"
    failed="$failed $rule"
done
[ -z "$failed" ] || { echo "lint:$failed"; exit 1; }
