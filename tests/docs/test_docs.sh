#!/bin/sh
# The docs say what the program says now, and name only what exists.
cd "$(dirname "$0")/../.." || exit 1
dpsim=${DPSIM:-./dpsim}
passed=0
failed=0

check() { # NAME COMMAND...
    name=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name"; fi
}

named() { # every file, or file:symbol, of this repository that the docs name
    grep -ohE '(sim|tests|plots|scenarios|docs)/[A-Za-z0-9_/-]+(\.[a-z]+)?(:[A-Za-z_][A-Za-z0-9_]*)?' README.md docs/*.head $(ls docs/*.md | grep -v validation.md) | sort -u
}

names_exist() {
    [ "$(named | grep -c :)" -gt 30 ] || { echo "the docs name hardly any symbol: is the pattern right?"; return 1; }
    named | {
        status=0
        while read -r name; do
            path=${name%%:*}
            [ -e "$path" ] || { echo "no such file: $path"; status=1; continue; }
            case $name in *:*) grep -qw -- "${name#*:}" "$path" || { echo "no such symbol: $name"; status=1; } ;; esac
        done
        exit $status
    }
}

files_have_a_home() { # every algorithm, fabric and strategy file stands in model.md
    status=0
    for file in sim/collectives/*.c sim/workload/ddp.c sim/workload/horovod.c sim/workload/server.c sim/net/*.c; do
        case $file in */coll.c | */shape.c | */topo.c | */node.c | */fabric.c | */symmetry.c | */fluid.c) continue ;; esac
        grep -q "$file" docs/model.md || { echo "docs/model.md does not say where $file stands"; status=1; }
    done
    return $status
}

commands_exist() { # those of README's table have a help page
    for command in $(sed -n 's/^| `dpsim \([a-z]*\).*/\1/p' README.md); do
        "$dpsim" help $([ "$command" = help ] || echo "$command") >/dev/null || { echo "no command $command"; return 1; }
    done
}

options_exist() { # those of README's table stand on the help page of their command
    status=0
    for command in run collective topo schema; do
        page=$("$dpsim" help $command)
        for option in $(sed -n "/^| .dpsim $command/p" README.md | grep -oE -- '[` ]--?[a-z]+' | tr -d '` ' | sort -u); do
            echo "$page" | grep -qE -- "(^|[ ,])$option([ ,]|\$)" || { echo "dpsim $command has no $option"; status=1; }
        done
    done
    return $status
}

check "generated text is current" env DPSIM="$dpsim" docs/docs.sh --check
check "the headline is as good as recorded" docs/headline.sh build/docs/headline.now
check "what the docs name exists" names_exist
check "what computes stands in model.md" files_have_a_home
check "commands of the README exist" commands_exist
check "options of the README exist" options_exist
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
