#!/bin/sh
# What the scenarios claim, as orders between their answers.
cd "$(dirname "$0")/../.." || exit 1
dpsim=${DPSIM:-./dpsim}
passed=0
failed=0
time_of() { # scenario [option...]: its iteration time
    "$dpsim" run --json "$@" | sed -n 's/.*"iteration_s": \([0-9.e+-]*\).*/\1/p'
}
claim() { # name, awk condition
    if awk "BEGIN { exit !($2) }"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $1: $2"; fi
}
ring=$(time_of scenarios/ring.json)
tree=$(time_of scenarios/tree.json)
claim "a tree beats a ring across 32 servers of one card" "$tree < $ring"

full=$(time_of scenarios/fat-tree-1to1.json)
quarter=$(time_of scenarios/fat-tree-4to1.json)
claim "with hashed routing, fewer uplinks collide more" "$full < $quarter"
full=$(time_of scenarios/fat-tree-1to1.json --set /fabric/routing=static)
quarter=$(time_of scenarios/fat-tree-4to1.json --set /fabric/routing=static)
# One flow per channel, 8 in all, leaves a leaf; routed by destination they take 8 different uplinks of 8.
claim "a ring in node order, routed by destination, does not feel 4:1" "$full > 0.999 * $quarter && $full < 1.001 * $quarter"

slow=$(time_of scenarios/slow-link.json)
sound=$(time_of scenarios/slow-link.json --set '/degraded=[]')
claim "one half-rate cable slows the whole job" "$slow > 1.1 * $sound"
if "$dpsim" run scenarios/slow-link.json | grep -q '^limited by.*node 3 nic 0'; then passed=$((passed + 1))
else failed=$((failed + 1)); echo "FAILED the slow cable is named"; fi

alone="--set /n_gpus=8"
switch=$(time_of scenarios/fat-tree-1to1.json $alone --set /fabric/oversubscription=1)
other=$(time_of scenarios/fat-tree-1to1.json $alone --set '/fabric="dragonfly"')
claim "the fabric does not matter to one server" "$switch == $other"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
