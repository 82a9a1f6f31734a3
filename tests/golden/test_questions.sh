#!/bin/sh
# What the answers of scenarios/*.json claim. All runs are made by one process.
cd "$(dirname "$0")/../.." || exit 1
dpsim=${DPSIM:-./dpsim}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# label|scenario|what is changed in it; RINGS: little to compute, then all gradients at once by rings, so that
# the wire is all there is to see
cat >"$work/runs" <<'END'
full|fat-tree-1to1|RINGS
quarter|fat-tree-4to1|RINGS
full static|fat-tree-1to1|RINGS;/fabric/routing="static"
quarter static|fat-tree-4to1|RINGS;/fabric/routing="static"
one server|fat-tree-4to1|/n_gpus=8
one server, other fabric|fat-tree-4to1|/n_gpus=8;/fabric="dragonfly"
slow|slow-link|RINGS
sound|slow-link|RINGS;/degraded=[]
dragonfly|equal-cost-dragonfly|
dragonfly trees|equal-cost-dragonfly|/strategy={"kind":"ddp","algorithm":"tree"}
fat-tree trees|equal-cost-fat-tree|/strategy={"kind":"ddp","algorithm":"tree"}
dragonfly rings|equal-cost-dragonfly|/strategy={"kind":"ddp","algorithm":"ring"}
fat-tree rings|equal-cost-fat-tree|/strategy={"kind":"ddp","algorithm":"ring"}
ring|ring|
tree|tree|
ring of 8|ring|/n_gpus=64
tree of 8|tree|/n_gpus=64
1|resnet50-25gbe|/n_gpus=1
8|resnet50-25gbe|/n_gpus=8
16|resnet50-25gbe|/n_gpus=16
64|resnet50-25gbe|/n_gpus=64
256|resnet50-25gbe|/n_gpus=256
64, 10 GbE|resnet50-25gbe|/n_gpus=64;/nic="eth-10g"
END
rings='/strategy={"kind":"ddp","overlap":false,"algorithm":"ring","protocol":"Simple","bucket_cap":"2GB","first_bucket":"2GB"};/batch_per_gpu=1'
sed -i "s|RINGS|$rings|" "$work/runs"
awk -F'|' 'BEGIN { print "scenario,set" } { gsub(/"/, "\"\"", $3); print "scenarios/" $2 ".json,\"" $3 "\"" }' \
    "$work/runs" >"$work/list.csv"
"$dpsim" run --csv --list "$work/list.csv" >"$work/out.csv" || exit 1
for kind in dragonfly fat-tree; do
    "$dpsim" topo scenarios/equal-cost-$kind.json |
        awk -v kind=$kind '$1 == "fabric" || $1 == "global" { n += $2 } END { print kind, n }'
done >"$work/links"

cat >"$work/claims.awk" <<'END'
FILENAME ~ /runs$/ { label[FNR + 1] = substr($0, 1, index($0, "|") - 1); next }
FILENAME ~ /links$/ { links[$1] = $2; next }
FNR == 1 { csv_columns($0, column); next }
{
    csv_split($0, cells)
    l = label[FNR]
    t[l] = cells[column["iteration_s"]]
    efficiency[l] = cells[column["scaling_efficiency"]]
    exposed[l] = cells[column["exposed_communication_s"]]
    limit[l] = cells[column["limit_kind"]] ": " cells[column["limit_name"]]
}
function claim(name, holds) {
    if (holds) passed++
    else { failed++; print "FAILED " name }
}
function near(a, b, rel) { return a > b * (1 - rel) && a < b * (1 + rel) }
END {
    # On 16 DGX A100 a GPU sends 2 (127/128) 1344904432 B, BERT-large's fp32 gradients; 8 cards carry
    # 96 % of 25 GB/s: one more crossing of the wire takes 13.9 ms, less what latency then hides behind
    # it: of 254 hops one after the other, some 4 ms, a part.
    wire = 2 * 127 / 128 * 1344904432 / (8 * 25e9 * 0.96)

    # Eight rings leave a leaf, and all wait for the slowest. Where each has an uplink of its own, 4:1
    # costs nothing. Of 8 hashed over 8 uplinks none shares with probability 8! / 8^8 = 0.2 %; of 8 over
    # 32, on both sides of four leaves, with less than 0.1 %. With the shipped seed the fullest uplink
    # holds two rings at 1:1 and three at 4:1: the gradients cross the wire once and twice more.
    claim("rings in node order, routed by destination, do not feel 4:1", near(t["quarter static"], t["full static"], 1e-3))
    claim("a hash puts two rings on one of 32 uplinks", near(t["full"] - t["full static"], wire, 0.06))
    claim("a hash puts three rings on one of 8 uplinks", near(t["quarter"] - t["full static"], 2 * wire, 0.06))
    claim("the uplink is named", limit["quarter"] ~ /^fabric: leaf/)
    claim("the fabric does not matter to one server", t["one server"] == t["one server, other fabric"])

    # The ring has what is left of the rate of its slowest cable: at half, the wire takes twice as long.
    claim("one half-rate cable costs the whole job the wire once more", near(t["slow"] - t["sound"], wire, 0.06))
    claim("the slow cable is named", limit["slow"] ~ /^(nic|links): node 3 nic 0/)

    # Links are counted by direction. A ring uses the cable between neighbouring switches once, on either
    # network; trees do not.
    claim("equal cost: 40 cables between switches", links["dragonfly"] == 80 && links["fat-tree"] == 80)
    claim("at equal cost trees run faster on the fat-tree", t["dragonfly trees"] > 1.1 * t["fat-tree trees"])
    claim("at equal cost rings run as fast on either", near(t["dragonfly rings"], t["fat-tree rings"], 1e-3))
    claim("neither network makes trees as fast as rings", t["dragonfly trees"] > t["dragonfly rings"] && t["fat-tree trees"] > t["fat-tree rings"])
    claim("a link between routers is named", limit["dragonfly"] ~ /^links: router/)

    # A ring's hops grow with the number of GPUs, a tree's with its logarithm.
    claim("a tree beats a ring on 128 servers by a tenth", t["ring"] > 1.1 * t["tree"])
    claim("on 8 servers it does not matter", near(t["ring of 8"], t["tree of 8"], 0.01))

    claim("ResNet-50 on 25 GbE: more GPUs, less efficiency",
          efficiency[1] > efficiency[8] && efficiency[8] > efficiency[16] && efficiency[16] > efficiency[64] &&
          efficiency[64] > efficiency[256])
    claim("25 GbE lets ResNet-50 in fp32 scale to 256 GPUs", efficiency[256] > 0.8)
    claim("10 GbE exposes more than twice as much", exposed["64, 10 GbE"] > 2 * exposed[64])
    printf "%d passed, %d failed\n", passed, failed
    exit failed > 0
}
END
awk -f plots/csv.awk -f "$work/claims.awk" "$work/runs" "$work/links" "$work/out.csv"
