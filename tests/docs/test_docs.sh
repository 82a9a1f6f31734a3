#!/bin/sh
# The docs say what the program says, and name only files that exist.
cd "$(dirname "$0")/../.." || exit 1
passed=0
failed=0
check() { # name command...
    name=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name"; fi
}
files_exist() { # every `sim/...`, `tests/...`, `plots/...` or `scenarios/...` path in the docs is there
    status=0
    for path in $(grep -ohE '`(sim|tests|plots|scenarios|docs)/[A-Za-z0-9_./-]+`' README.md docs/*.md | tr -d '`' | sort -u); do
        [ -e "$path" ] || { echo "no such file: $path"; status=1; }
    done
    return $status
}
check "generated text is current" env DPSIM="${DPSIM:-./dpsim}" docs/docs.sh --check
check "files named in the docs exist" files_exist
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
