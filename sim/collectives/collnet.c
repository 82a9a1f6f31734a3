/* All-reduce with the sum between nodes in the network's switches (CollNet, as SHARP does it). In each
 * node shares go to the owner of a part, owners of the same part meet in the switches, and the result
 * goes back; chunks follow each other.
 *
 *   N = 3 nodes of m = 2:   0 1 | 2 3 | 4 5, parts a b, part a in blocks x y z
 *   in the node     1 > 0, 3 > 2, 5 > 4
 *   across, up      2 4 > 0 x    0 4 > 2 y    0 2 > 4 z      blocks of partial sums
 *   across, down    0 > 2 4 x    2 > 0 4 y    4 > 0 2 z      blocks of the result
 *   in the node     0 > 1, 2 > 3, 4 > 5
 *
 * collnet-direct (and nvls-collnet, whose switches in the node sum too): each member owns the part of
 * its local index, and gets shares from all others at once. collnet-chain: each channel has a part, and
 * a chain of members that ends at the channel's card.
 *
 *   T = 2 d alpha_intra + 2 alpha_inter + max(2 (N - 1) / N S beta_inter, w S beta_intra) + fill
 *       direct: d = 1, w = 2 (m - 1) / m;   chain: d = m - 1, w = 2 for m >= 3
 *
 * The sends across are those of nodes that own a block each. Over any cut with k of N nodes on one side
 * they carry 2 k (N - k) / N S, of which the switches spare the part that collnet_wire_frac says: a
 * card then sends S, once, and no cut passes less than S.
 *
 * Shares of one chunk come from many members, so counters are kept apart: chunk i uses number i modulo
 * a window, and a member sends its share of it only when it has the result of the chunk a window before.
 * Source: Graham et al., Scalable hierarchical aggregation protocol (SHArP), COMHPC 2016; NVIDIA/nccl,
 * algorithms CollNetDirect and CollNetChain (src/graph/connect.cc, src/graph/tuning.cc). */
#include "collectives/algos.h"
#include "collectives/shape.h"

/* so many that long ways are not the shorter for it: a buffer of 4 MiB on each hop in chunks of 128 KiB (NVIDIA/nccl) */
enum { WINDOW_PER_HOP = 32 };

struct collnet {
    const struct coll_req *req;
    bool chain;
    int m, nodes, rails;
};

static struct collnet collnet_of(const struct coll_req *req, bool chain)
{
    return (struct collnet){req, chain, req->ranks_per_node, shape_nodes(req), shape_rails(req)};
}

bool collnet_fits(const struct coll_req *req)
{
    return req->n_ranks == 1 || (req->n_ranks > 1 && shape_nodes(req) > 1);
}

static int n_streams(const struct collnet *net)
{
    return net->chain ? net->req->n_channels : net->m * net->rails;
}

static int channel_of(const struct collnet *net, int stream)
{
    if (net->chain) return stream;
    return shape_rail_channel(net->req, stream / net->rails, stream % net->rails);
}

static double stream_B(const struct collnet *net)
{
    return net->req->size_B / n_streams(net);
}

static int n_chunks(const struct collnet *net)
{
    return shape_chunks(net->req, stream_B(net));
}

static int depth(const struct collnet *net)
{
    return net->m == 1 ? 0 : net->chain ? net->m - 1 : 1;
}

static int window(const struct collnet *net)
{
    int most = WINDOW_PER_HOP * 2 * (depth(net) + 1), chunks = n_chunks(net);
    return chunks < most ? chunks : most;
}

/* a member's neighbours in its node: kids send it their shares, itself included in those of its upper */
struct seat {
    int upper;  /* -1: it is the owner */
    int n_kids; /* chain: one at most */
};

static struct seat seat_of(const struct collnet *net, int stream, int member)
{
    if (!net->chain) {
        int owner = member - member % net->m + stream / net->rails;
        bool owns = owner == member;
        return (struct seat){owns ? -1 : owner, owns ? net->m - 1 : 0};
    }
    struct way way = shape_way(net->req, stream);
    int place = shape_position(way, member), j = place % net->m;
    return (struct seat){j == 0 ? -1 : shape_member(way, place - 1), j + 1 < net->m};
}

static int kid_of(const struct collnet *net, int stream, int member, int kid)
{
    if (!net->chain) {
        int owner = stream / net->rails;
        return member - member % net->m + kid + (kid >= owner);
    }
    struct way way = shape_way(net->req, stream);
    return shape_member(way, shape_position(way, member) + 1);
}

static int most_kids(const struct collnet *net)
{
    return net->m == 1 ? 0 : net->chain ? 1 : net->m - 1;
}

/* The owner in a node. */
static int owner_in(const struct collnet *net, int stream, int node)
{
    if (!net->chain) return node * net->m + stream / net->rails;
    return node * net->m + shape_entry(net->req, stream);
}

/* The first chunk of all streams comes in, and the last goes out, while cables to other nodes wait. */
static struct coll_phase phase_of(const struct collnet *net)
{
    int chunks = n_chunks(net), inside = 2 * depth(net), kinds = 1 + (net->m > 1);
    double chunk_B = stream_B(net) / chunks;
    int at_once = net->chain ? net->req->n_channels : (net->m - 1) * net->rails;
    struct coll_phase phase = {.n_bundles = kinds * n_streams(net),
                               .steps = inside + 2 + chunks - 1,
                               .hops_intra = inside,
                               .hops_inter = 2,
                               .fill_intra_B = inside * at_once * chunk_B};
    if (net->req->rendezvous) shape_worst_hops(net->req, chunks - 1, &phase);
    return phase;
}

static double cost_s(const struct collnet *net, struct coll_hops hops)
{
    if (net->req->n_ranks == 1) return 0;
    double m = net->m, nodes = net->nodes, size_B = net->req->size_B;
    struct coll_phase phase = phase_of(net);
    struct tier_load load = {.intra_B =
                                 net->chain ? shape_chain_B(net->req) : 2 * (m - 1) / m * size_B,
                             .inter_B = 2 * (nodes - 1) / nodes * size_B};
    return shape_pipeline_s(hops, &phase, load, stream_B(net));
}

static bool phase_at(const struct collnet *net, int p, struct coll_phase *out)
{
    if (p > 0 || net->req->n_ranks == 1) return false;
    *out = phase_of(net);
    return true;
}

/* Bundles: of each stream what stays inside nodes, where there is any, then what leaves them. */
static bool crosses(const struct collnet *net, int b)
{
    return net->m == 1 || b % 2 == 1;
}

static int stream_of(const struct collnet *net, int b)
{
    return net->m == 1 ? b : b / 2;
}

static void bundle_at(const struct collnet *net, int b, struct coll_bundle *out)
{
    int64_t nodes = net->nodes;
    *out = (struct coll_bundle){.channel = channel_of(net, stream_of(net, b))};
    if (crosses(net, b)) {
        out->n_flows = nodes * (nodes - 1);
        out->bytes = 2 * stream_B(net) / net->nodes;
    } else {
        out->n_flows = 2 * nodes * (net->m - 1);
        out->bytes = stream_B(net);
    }
}

static struct coll_flow flow_at(const struct collnet *net, int b, int64_t k)
{
    int stream = stream_of(net, b), others = net->nodes - 1, mates = net->m - 1;
    if (crosses(net, b)) {
        int from = (int)(k / others), to = (int)(k % others);
        to += to >= from;
        return (struct coll_flow){owner_in(net, stream, from), owner_in(net, stream, to)};
    }
    int64_t ups = (int64_t)net->nodes * mates, at = k < ups ? k : k - ups;
    int node = (int)(at / mates), local = (int)(at % mates);
    local += local >= owner_in(net, stream, 0);
    int lower = node * net->m + local, upper = seat_of(net, stream, lower).upper;
    return k < ups ? (struct coll_flow){lower, upper} : (struct coll_flow){upper, lower};
}

/* lanes of a member in a stream: up, to each kid, then as owner to each other node up and down */
struct lane {
    enum { LANE_UP, LANE_KID, LANE_OUT, LANE_BACK } kind;
    int stream, to; /* which kid, which other node */
};

static int lanes_each(const struct collnet *net)
{
    return 1 + most_kids(net) + 2 * (net->nodes - 1);
}

static struct lane lane_at(const struct collnet *net, int lane)
{
    int each = lanes_each(net), at = lane % each, kids = most_kids(net), others = net->nodes - 1;
    struct lane out = {LANE_UP, lane / each, 0};
    if (at == 0) return out;
    if (at <= kids) {
        out.kind = LANE_KID;
        out.to = at - 1;
        return out;
    }
    int across = at - 1 - kids;
    out.kind = across < others ? LANE_OUT : LANE_BACK;
    out.to = across % others;
    return out;
}

/* counters of a stream: the result from above, then windows of shares from below, of partial sums from
 * other nodes, and of their blocks of the result */
enum { FROM_UP, FROM_KIDS };

static int slots_each(const struct collnet *net)
{
    return FROM_KIDS + 3 * window(net);
}

static int slot_of(const struct collnet *net, int stream, int which, int i)
{
    int w = window(net);
    return stream * slots_each(net) + FROM_KIDS + which * w + i % w;
}

enum { KIDS, PARTS, RESULTS };

/* All of chunk i that comes from so many at once. */
static void wait_for_all(const struct collnet *net, int which, int i, int from,
                         struct coll_send *send)
{
    int stream = send->slot; /* until the slot is known */
    send->deps[send->n_deps].slot = slot_of(net, stream, which, i);
    send->deps[send->n_deps++].count = (i / window(net) + 1) * from;
}

static void wait_for_result(const struct collnet *net, int stream, int i, struct coll_send *send)
{
    send->deps[send->n_deps].slot = stream * slots_each(net) + FROM_UP;
    send->deps[send->n_deps++].count = i + 1;
}

/* Inside the node: a share goes up, a result down. */
static bool sends_inside(const struct collnet *net, int member, struct lane lane, int i,
                         struct coll_send *out)
{
    struct seat seat = seat_of(net, lane.stream, member);
    int w = window(net), others = net->nodes - 1;
    if (lane.kind == LANE_UP && seat.upper < 0) return false;
    if (lane.kind == LANE_KID && lane.to >= seat.n_kids) return false;
    if (lane.kind == LANE_UP) {
        if (seat.n_kids > 0) wait_for_all(net, KIDS, i, seat.n_kids, out);
        if (i >= w) wait_for_result(net, lane.stream, i - w, out);
        out->dst = seat.upper;
        out->slot = slot_of(net, lane.stream, KIDS, i);
        out->reduce = true;
        return true;
    }
    if (seat.upper >= 0) {
        wait_for_result(net, lane.stream, i, out);
    } else {
        wait_for_all(net, KIDS, i, seat.n_kids, out);
        wait_for_all(net, PARTS, i, others, out);
        wait_for_all(net, RESULTS, i, others, out);
    }
    out->dst = kid_of(net, lane.stream, member, lane.to);
    out->slot = lane.stream * slots_each(net) + FROM_UP;
    return true;
}

/* Between owners: the block that another node sums, or the one that this node has summed. */
static bool sends_across(const struct collnet *net, int member, struct lane lane, int i,
                         struct coll_send *out)
{
    struct seat seat = seat_of(net, lane.stream, member);
    int w = window(net), node = member / net->m, others = net->nodes - 1;
    int other = lane.to + (lane.to >= node);
    if (seat.upper >= 0) return false;
    if (seat.n_kids > 0) wait_for_all(net, KIDS, i, seat.n_kids, out);
    out->size_B /= net->nodes;
    out->n_units = 1;
    out->first_unit += lane.kind == LANE_OUT ? other : node;
    if (lane.kind == LANE_OUT && i >= w) wait_for_all(net, RESULTS, i - w, others, out);
    if (lane.kind == LANE_BACK) wait_for_all(net, PARTS, i, others, out);
    out->dst = owner_in(net, lane.stream, other);
    out->slot = slot_of(net, lane.stream, lane.kind == LANE_OUT ? PARTS : RESULTS, i);
    out->reduce = lane.kind == LANE_OUT;
    return true;
}

static bool next_of(const struct collnet *net, int member, int at, int64_t i, struct coll_send *out)
{
    int chunks = n_chunks(net);
    if (i >= chunks || net->req->n_ranks == 1) return false;
    struct lane lane = lane_at(net, at);
    *out = (struct coll_send){.channel = channel_of(net, lane.stream),
                              .size_B = stream_B(net) / chunks,
                              .slot = lane.stream,
                              .first_unit = ((int64_t)lane.stream * chunks + i) * net->nodes,
                              .n_units = net->nodes};
    bool inside = lane.kind == LANE_UP || lane.kind == LANE_KID;
    return (inside ? sends_inside : sends_across)(net, member, lane, (int)i, out);
}

/* The hooks of both, which are the functions above with `chain` given. */
#define COLLNET_HOOKS(stem, chain)                                                                 \
    double stem##_cost_s(const struct coll_req *req, struct coll_hops hops)                        \
    {                                                                                              \
        struct collnet net = collnet_of(req, chain);                                               \
        return cost_s(&net, hops);                                                                 \
    }                                                                                              \
    bool stem##_phase(const struct coll_req *req, int p, struct coll_phase *out)                   \
    {                                                                                              \
        struct collnet net = collnet_of(req, chain);                                               \
        return phase_at(&net, p, out);                                                             \
    }                                                                                              \
    int stem##_lanes(const struct coll_req *req)                                                   \
    {                                                                                              \
        struct collnet net = collnet_of(req, chain);                                               \
        return n_streams(&net) * lanes_each(&net);                                                 \
    }                                                                                              \
    int stem##_slots(const struct coll_req *req)                                                   \
    {                                                                                              \
        struct collnet net = collnet_of(req, chain);                                               \
        return n_streams(&net) * slots_each(&net);                                                 \
    }                                                                                              \
    int64_t stem##_units(const struct coll_req *req)                                               \
    {                                                                                              \
        struct collnet net = collnet_of(req, chain);                                               \
        return (int64_t)n_streams(&net) * n_chunks(&net) * net.nodes;                              \
    }                                                                                              \
    bool stem##_next(const struct coll_req *req, int member, int lane, int64_t i,                  \
                     struct coll_send *out)                                                        \
    {                                                                                              \
        struct collnet net = collnet_of(req, chain);                                               \
        return next_of(&net, member, lane, i, out);                                                \
    }

COLLNET_HOOKS(collnet, false)
COLLNET_HOOKS(collnet_chain, true)

void collnet_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    (void)p;
    struct collnet net = collnet_of(req, false);
    bundle_at(&net, b, out);
}

void collnet_chain_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    (void)p;
    struct collnet net = collnet_of(req, true);
    bundle_at(&net, b, out);
}

struct coll_flow collnet_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)p;
    struct collnet net = collnet_of(req, false);
    return flow_at(&net, b, k);
}

struct coll_flow collnet_chain_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    (void)p;
    struct collnet net = collnet_of(req, true);
    return flow_at(&net, b, k);
}

bool collnet_chain_fits(const struct coll_req *req)
{
    return collnet_fits(req);
}
