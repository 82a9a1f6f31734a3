#!/bin/sh
# Help, version and usage errors.
. tests/cli/lib.sh

test_that "no command is a usage error" fails 64 "dpsim help"
test_that "an unknown command names the nearest" fails 64 "did you mean 'run'?" rum x.json
test_that "an unknown option names the nearest" fails 64 "did you mean '--json'?" run x.json --jsn
test_that "an option of another command is refused" fails 64 "takes no --dot" run x.json --dot y
test_that "a missing value is named" fails 64 "--trace needs a value" run x.json --trace
test_that "a missing scenario is named" fails 64 "needs a scenario file" run
test_that "an unknown fidelity is refused" fails 64 "not one of" run x.json --fidelity packet
test_that "json and csv exclude each other" fails 64 "exclude" run x.json --json --csv
test_that "help of an unknown command is a usage error" fails 64 "did you mean 'topo'?" help tpoo
test_that "the version is printed" prints "dpsim " --version
test_that "help lists the commands" prints "collective" help
test_that "--help does the same" prints "collective" --help
for command in run collective topo schema models profiles; do
    test_that "help $command prints its usage" prints "usage: dpsim $command" help $command
    test_that "$command --help prints its usage" prints "usage: dpsim $command" $command --help
done
test_that "models are listed" prints "resnet50" models
test_that "profiles are listed" prints '"gpu": One GPU' profiles
test_that "each below the key that names it" sh -c "$dpsim profiles | awk '/^\"/ { key = \$1 } /^  dgx-h100\$/ { server = key }
    /^  h100-sxm-80\$/ { gpu = key } END { exit !(server == \"\\\"node\\\":\" && gpu == \"\\\"gpu\\\":\") }'"
test_that "the schema is JSON" prints_json schema
test_that "the reference names keys" prints "batch_per_gpu" schema --markdown
test_that "a full disk is the world's failure" sh -c "$dpsim help >/dev/full 2>/dev/null; [ \$? -eq 2 ]"
totals
