#!/bin/bash
# Each rule of lint.sh must be able to fail: it is given a small tree with one fault, and the same
# tree without it. Rules whose tool is not installed are passed over, and said so.
lint=$(cd "$(dirname "$0")" && pwd)/lint.sh
export BUILD_DIR=build CPPFLAGS="-D_GNU_SOURCE -Isim -Itests" WARN="-Wall -Wextra -Wmissing-prototypes -Werror"
root=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
passed=0 failed=0

# a tree without a fault
plant() {
    rm -rf "${tree:?}"/* && mkdir -p "$tree"/calib "$tree"/sim/base "$tree"/sim/net "$tree"/sim/out "$tree"/tests && cd "$tree" || exit 1
    cp "$root/.clang-format" "$root/.clang-tidy" "$tree"
    printf '#ifndef NET_A_H\n#define NET_A_H\n\nint a_twice(int x);\n\n#endif\n' >sim/net/a.h
    printf '#include "net/a.h"\n\nint a_twice(int x)\n{\n    return 2 * x; /* not malloc(x) */\n}\n' >sim/net/a.c
    printf '#include "net/a.h"\n\nint main(void)\n{\n    return a_twice(0);\n}\n' >sim/main.c
}

# expect RULE MESSAGE — the rule fails and says MESSAGE; "clean" instead: it passes
expect() {
    said=$("$lint" "$1" 2>&1)
    status=$?
    if [ "$2" = clean ]; then
        [ $status = 0 ] && passed=$((passed + 1)) && return
    else
        [ $status = 1 ] && grep -qF -- "$2" <<<"$said" && passed=$((passed + 1)) && return
    fi
    failed=$((failed + 1))
    echo "rule $1: wanted $2, got status $status: $said"
}

# breaks RULE MESSAGE FILE TEXT — clean before TEXT is written to FILE, not after
breaks() {
    plant
    expect "$1" clean
    mkdir -p "$(dirname "$3")"
    printf "$4" >"$3"
    expect "$1" "$2"
}

has() { command -v "$1" >/dev/null || { echo "passed over: $1 is not installed"; false; }; }

breaks floors 'sim/net/b.c:2: floor net includes out/c.h from above' sim/net/b.c '#include "net/a.h"\n#include "out/c.h"\n'
breaks floors 'sim/net/b.c:1: floor net includes plan.h from above' sim/net/b.c '#include "plan.h"\n'
breaks floors 'sim/base/b.h:1: floor base includes net/a.h from above' sim/base/b.h '# include "net/a.h"\n'
breaks floors 'sim/misc/b.c:1: is on no floor' sim/misc/b.c 'int b;\n'
breaks floors 'includes ../out/c.h, which is on no floor' sim/net/b.c '#include "../out/c.h"\n'
breaks floors 'calib/b.c:1: floor calib includes net/a.h from above' calib/b.c '#include "net/a.h"\n'
breaks floors 'sim/net/b.c:1: includes calib/b.h, which is on no floor' sim/net/b.c '#include "calib/b.h"\n'
breaks guards 'calib/b.h:1: wanted the guard CALIB_B_H' calib/b.h 'int b(void);\n'
breaks banned 'calib/b.c:1: banned call:' calib/b.c 'int b(void) { return system(); }\n'
breaks walls 'calib/b.c:1: cblas.h belongs in calib/cpu_products.c' calib/b.c '#include <cblas.h>\n'
breaks guards 'sim/net/b.h:1: wanted the guard NET_B_H' sim/net/b.h '#ifndef B_H\n#define B_H\n#endif\n'
breaks guards 'sim/net/b.h:1: wanted the guard NET_B_H' sim/net/b.h 'int b(void);\n'
breaks alone "unknown type name" sim/net/b.h 'int b(size_t n);\n'
breaks walls 'sim/net/b.c:1: cjson/cJSON.h belongs in sim/base/json.c' sim/net/b.c '#include <cjson/cJSON.h>\n'
breaks walls 'sim/net/b.c:1: gsl/gsl_rng.h belongs in' sim/net/b.c '#include <gsl/gsl_rng.h>\n'
breaks walls 'sim/base/json.c:1: csv.h belongs in sim/base/table.c' sim/base/json.c '#include <csv.h>\n'
for call in strcpy strcat sprintf strtok atoi atof rand srand system popen malloc calloc realloc time; do
    breaks banned "sim/net/b.c:3: banned call:" sim/net/b.c "/* one\n */\nint b(void) { return $call(); }\n"
done
plant
printf 'int b(void)\n{\n    return 1; /* strcpy(x) */ // atoi(x)\n}\nconst char *c = "time(0)";\nint my_time(int);\nint d = 0; int e(void) { return my_time(d); }\n' >sim/net/b.c
expect banned clean
has clang-format && breaks format 'code should be clang-formatted' sim/net/b.c 'int b( void );\n'
has cppcheck && breaks cppcheck 'zerodiv' sim/net/b.c 'int b(void);\nint b(void)\n{\n    int n = 0;\n    return 1 / n;\n}\n'
has clang-tidy && breaks tidy 'readability-else-after-return' sim/net/b.c \
    'int b(int x);\nint b(int x)\n{\n    if (x > 0) {\n        return 1;\n    } else {\n        return 2;\n    }\n}\n'
if has clang-tidy; then # what passed is remembered, and looked at again when it changes
    plant
    expect tidy clean
    printf 'int b(double near_s, double far_s);\nint b(double near_s, double far_s)\n{\n    if (near_s > 1) return 1;\n    return far_s > 2;\n}\n' >sim/net/b.c
    expect tidy 'bugprone-easily-swappable-parameters'
    expect tidy 'bugprone-easily-swappable-parameters'
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
