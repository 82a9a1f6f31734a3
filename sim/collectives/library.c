#include "collectives/library.h"

#include <math.h>
#include <string.h>

const double lib_size_below_B[LIB_N_SIZES] = {64e3, 8e6, 64e6, INFINITY};

static bool named(const char *name, const char *wanted)
{
    return wanted == NULL || strcmp(name, wanted) == 0;
}

/* Can it run here at all? */
static bool can_run(const struct lib_choice *choice, const struct coll_req *req, int n_nodes)
{
    if (choice->max_per_node > 0 && req->ranks_per_node > choice->max_per_node) return false;
    return choice->kind == req->kind && n_nodes >= choice->min_nodes &&
           (choice->max_nodes == 0 || n_nodes <= choice->max_nodes) && choice->algo->fits(req);
}

/* Would the library's own rule take it for so many bytes and ranks? */
static bool is_for(const struct lib_choice *choice, const struct coll_req *req)
{
    if (choice->max_ranks > 0 && req->n_ranks > choice->max_ranks) return false;
    return req->n_ranks >= choice->min_ranks && req->size_B >= choice->min_B &&
           req->size_B <= choice->max_B;
}

/* A message from one to one is divided up, so that no channel gets more than its size; a collective
 * opens a channel only when there is enough for it. Source: NVIDIA/nccl src/enqueue.cc. */
static bool is_message(enum coll_kind kind)
{
    return kind == COLL_ALLTOALL || kind == COLL_SENDRECV;
}

/* An all-to-all is a message to each peer, and each is cut on its own. */
static double cut_B(const struct coll_req *req)
{
    return req->kind == COLL_ALLTOALL ? req->size_B / req->n_ranks : req->size_B;
}

int library_channels(const struct library *lib, const struct lib_choice *choice,
                     const struct coll_req *req)
{
    double each_B = choice->channel_B + req->n_ranks * choice->channel_per_rank_B;
    if (each_B <= 0) return lib->n_channels;
    double n = is_message(req->kind) ? ceil(cut_B(req) / each_B) : floor(cut_B(req) / each_B);
    return n < 1 ? 1 : n < lib->n_channels ? (int)n : lib->n_channels;
}

static bool leaves_node(const struct coll_req *req)
{
    return req->n_ranks > req->ranks_per_node;
}

/* Payload over what crosses a cable, where switches sum and multiply. Between nodes the way to the
 * card, which is no part of what links inside a node carry, is spared as much. */
static void spare_cables(struct lib_choice *row, const struct coll_req *req)
{
    if (row->algo->wire_frac && req->ranks_per_node > 1)
        row->efficiency_scaleup /= row->algo->wire_frac(req);
    if (!row->algo->net_wire_frac || !leaves_node(req)) return;
    row->efficiency_net /= row->algo->net_wire_frac(req);
    row->efficiency_pcie /= row->algo->net_wire_frac(req);
}

/* In a switch data is read, summed, written to all and copied out, chunk after chunk. Until the first has
 * come through nothing overlaps: what fills the stages is paid once more, all of a small buffer. */
static void fill_stages(struct lib_choice *row, double size_B)
{
    row->efficiency_scaleup /= 1 + fmin(row->fill_B, size_B) / size_B;
}

static double least(double a, double limit)
{
    return limit > 0 && limit < a ? limit : a;
}

static bool is_pair(const struct coll_req *req)
{
    return req->n_ranks == 2 * req->ranks_per_node;
}

static void limit_network(struct lib_choice *row, const struct coll_req *req)
{
    if (leaves_node(req))
        row->efficiency_net =
            least(row->efficiency_net, is_pair(req) ? row->net.pair_frac : row->net.more_frac);
}

/* Each open channel sends on its own. */
static void add_network(struct lib_choice *row, const struct coll_req *req, int n_open)
{
    if (!leaves_node(req)) return;
    double parts = fmax(n_open, req->n_channels) * (row->algo->in_blocks ? req->n_ranks : 1);
    double message_B = req->size_B / parts;
    row->net_latency_s +=
        row->handshake_frac * row->net.handshake_s * message_B / (message_B + row->net.eager_B);
}

/* Peers of an all-to-all that leaves its node. Those on the same node are served by the kernel, those on other nodes, where
 * the card says what one takes, by the host's thread that drives the card: both work at once. */
static double peers_s(const struct lib_choice *choice, const struct coll_req *req)
{
    double own_s = (req->ranks_per_node - 1) * choice->per_peer_s;
    int others = req->n_ranks - req->ranks_per_node;
    if (choice->net.peer_s <= 0) return own_s + others * choice->per_peer_s;
    bool injected = req->size_B / req->n_ranks <= choice->net.inject_B;
    double inject_s = injected ? choice->inject_frac * choice->net.inject_s : 0;
    return fmax(own_s, others * (choice->net.peer_s + inject_s));
}

/* Trees are long pipelines: chunks are halved, to four, two and one times the least, while a channel
 * has fewer of them than its tree is deep, times 8, 4 and 1.
 * Source: NVIDIA/nccl src/enqueue.cc, ncclPatternTreeUpDown of the Simple protocol; its depth from
 * src/graph/connect.cc. */
static double grain_B(const struct library *lib, const struct lib_choice *choice,
                      const struct coll_req *req, int n_open)
{
    static const double CHUNKS_PER_HOP[] = {8, 4, 1};
    double chunk_B = choice->chunk_B > 0 ? choice->chunk_B : lib->chunk_B;
    int depth = req->ranks_per_node - 1 + ilogb((double)req->n_ranks / req->ranks_per_node);
    for (int k = 0; k < 3; k++) {
        double hops = depth * CHUNKS_PER_HOP[k] * n_open,
               stop_B = ldexp(choice->least_chunk_B, 2 - k);
        while (chunk_B > stop_B && hops * chunk_B > req->size_B) chunk_B /= 2;
    }
    return chunk_B;
}

/* Open channels go one tree each, so of all of them a stream of a pattern (two for each) stands for
 * n_open / (2 n_channels). A message of half_B takes a card as long to start as to send: with small chunks
 * it reaches less of its rate, and what the row says of that is of whole ones.
 * Source: n-half of Hockney, Parallel Computing 20(3), 1994. */
static void cut_in_chunks(struct lib_choice *row, const struct library *lib,
                          const struct coll_req *req, int n_open)
{
    if (row->least_chunk_B <= 0) return;
    double whole_B = row->chunk_B > 0 ? row->chunk_B : lib->chunk_B;
    double chunk_B = grain_B(lib, row, req, n_open);
    row->chunk_B = chunk_B * n_open / (2.0 * req->n_channels);
    if (leaves_node(req))
        row->efficiency_net *= (1 + row->net.half_B / whole_B) / (1 + row->net.half_B / chunk_B);
}

struct lib_choice library_row(const struct library *lib, const struct lib_choice *choice,
                              const struct coll_req *req)
{
    struct lib_choice row = *choice;
    int n = library_channels(lib, choice, req);
    int peers = req->kind == COLL_ALLTOALL && req->n_ranks > 1 ? req->n_ranks - 1 : 1;
    row.channel_cap_Bps *= (double)n * peers / lib->n_channels;
    row.base_latency_s += lib->channel_start_s * n;
    if (req->kind == COLL_ALLTOALL && leaves_node(req)) row.base_latency_s += peers_s(choice, req);
    int copiers = is_message(req->kind) ? lib->n_channels : n; /* who has no message copies */
    if (choice->own_copy_Bps > 0)
        row.base_latency_s += req->size_B / req->n_ranks / (choice->own_copy_Bps * copiers);
    cut_in_chunks(&row, lib, req, n);
    limit_network(&row, req);
    add_network(&row, req, n);
    spare_cables(&row, req);
    fill_stages(&row, req->size_B);
    return row;
}

void library_limit_connections(const struct library *lib, const struct coll_req *req,
                               double round_trip_s, struct lib_choice *row)
{
    double most_Bps = row->net.connection_Bps > 0 ? row->net.connection_Bps : HUGE_VAL;
    if (row->net.window_B > 0 && round_trip_s > 0)
        most_Bps = fmin(most_Bps, row->net.window_B / round_trip_s);
    double cap_Bps = row->net.rank_Bps > 0 ? row->net.rank_Bps * req->ranks_per_node : HUGE_VAL;
    if (!leaves_node(req)) return;
    double n = fmax(library_channels(lib, row, req), req->n_channels);
    /* each member of a node has its own to each peer of an all-to-all */
    int others = req->n_ranks - req->ranks_per_node;
    if (req->kind == COLL_ALLTOALL) n *= (double)others * req->ranks_per_node;
    cap_Bps = fmin(cap_Bps, most_Bps * n);
    if (isfinite(cap_Bps)) row->net_cap_Bps = cap_Bps / lib->n_channels;
}

double library_leaving_Bps(const struct lib_choice *row)
{
    return least(row->channel_cap_Bps, row->net_cap_Bps);
}

/* Inside a node the host sets up what goes to each peer of an all-to-all: small ones take as long
 * whatever their size, and of large ones nothing is seen of it. */
double library_issue_s(const struct library *lib, const struct lib_choice *choice,
                       const struct coll_req *req)
{
    bool inside = req->kind == COLL_ALLTOALL && !leaves_node(req);
    double per_peer_s = inside ? (req->n_ranks - 1) * choice->per_peer_s : 0;
    double issue_s = lib->issue_s + lib->issue_per_rank_s * req->ranks_per_node;
    if (choice->issue_frac > 0) issue_s *= choice->issue_frac;
    return issue_s + per_peer_s + lib->channel_start_s * (library_channels(lib, choice, req) - 1);
}

/* Source: NVIDIA/nccl src/graph/tuning.cc, netOverhead, llMaxBws and the plateau of the ring. */
static void reckon_network(struct lib_choice *row, const struct coll_req *req, int n_channels)
{
    const struct lib_tuner *tuner = &row->tuner;
    double most_Bps = is_pair(req) ? tuner->pair_Bps : tuner->more_Bps;
    if (most_Bps > 0) row->channel_cap_Bps = most_Bps / n_channels;
    row->scaleup_latency_s = fmax(row->scaleup_latency_s, tuner->inner_floor_s);
    row->pcie_latency_s = fmax(row->pcie_latency_s, tuner->inner_floor_s);
    if (req->kind != COLL_ALLREDUCE || tuner->plateau <= 0) return;
    row->base_latency_s *= tuner->plateau;
    row->scaleup_latency_s *= tuner->plateau;
    row->pcie_latency_s *= tuner->plateau;
    row->net_latency_s *= tuner->plateau;
}

/* Source: NVIDIA/nccl src/graph/tuning.cc, the table that corrects trees. */
static void times_share(struct lib_choice *row, double size_B)
{
    int k = size_B < LIB_FIRST_SHARE_B ? -1 : ilogb(size_B / LIB_FIRST_SHARE_B);
    if (k < 0 || k >= row->tuner.n_shares) return;
    row->efficiency_scaleup *= row->tuner.share[k];
    row->efficiency_pcie *= row->tuner.share[k];
    row->efficiency_net *= row->tuner.share[k];
}

struct lib_choice library_tuner_row(const struct library *lib, const struct lib_choice *choice,
                                    const struct coll_req *req)
{
    struct lib_choice row = *choice;
    if (choice->has_tuner) {
        row.base_latency_s = choice->tuner.base_latency_s;
        row.scaleup_latency_s = choice->tuner.scaleup_latency_s;
        row.pcie_latency_s = choice->tuner.pcie_latency_s;
        row.net_latency_s = choice->tuner.net_latency_s;
        row.efficiency_scaleup = choice->tuner.efficiency_scaleup;
        row.efficiency_pcie = choice->tuner.efficiency_pcie;
        row.efficiency_net = choice->tuner.efficiency_net;
        row.channel_cap_Bps = INFINITY;
    }
    if (leaves_node(req)) reckon_network(&row, req, lib->n_channels);
    if (!row.net.unseen) limit_network(&row, req);
    spare_cables(&row, req);
    if (choice->has_tuner && leaves_node(req) && row.algo->reckoned_frac)
        row.efficiency_net *= row.algo->reckoned_frac(req);
    times_share(&row, req->size_B);
    return row;
}

/* Rows of one library differ by far more, or not at all. */
static bool same(double a, double b)
{
    return a <= b && a >= b;
}

bool library_same_way(const struct lib_choice *a, const struct lib_choice *b)
{
    return same(a->efficiency_scaleup, b->efficiency_scaleup) &&
           same(a->efficiency_pcie, b->efficiency_pcie) &&
           same(a->efficiency_net, b->efficiency_net) &&
           same(a->channel_cap_Bps, b->channel_cap_Bps) && same(a->net_cap_Bps, b->net_cap_Bps);
}

enum { FINE = 1000000 }; /* so many chunks that pipelines fill in no time */

/* What a library reckons: latencies and bytes one after the other, though some of the former pass
 * while the latter move, and nothing for pipelines to fill.
 * Source: NVIDIA/nccl src/graph/tuning.cc, time = latency + bytes / bandwidth. */
static double reckoned_s(const struct lib_choice *choice, const struct coll_req *req,
                         struct coll_hops hops)
{
    double base_s = choice->base_latency_s;
    if (!choice->has_tuner) return base_s + choice->algo->cost_s(req, hops);
    struct coll_req streamed = *req,
                    whole = *req; /* PAT counts no steps for what a buffer cannot hold */
    streamed.chunk_B = req->size_B / FINE;
    whole.chunk_B = req->size_B;
    struct coll_hops waits = {{hops.intra.alpha_s, 0}, {hops.inter.alpha_s, 0}};
    struct coll_hops moves = {{0, hops.intra.beta_s_per_B}, {0, hops.inter.beta_s_per_B}};
    return base_s + choice->algo->cost_s(&whole, waits) + choice->algo->cost_s(&streamed, moves);
}

/* what is asked for, and whether the library's own limits count */
struct asked {
    int n_nodes;
    const char *algorithm, *protocol;
    bool in_limits;
};

static int choose(const struct library *lib, const struct coll_req *req,
                  const struct coll_hops *hops, struct asked asked)
{
    bool first = strcmp(lib->selection, "first") == 0;
    double best_s = INFINITY;
    int best = -1;
    for (int i = 0; i < lib->n_choices; i++) {
        const struct lib_choice *choice = &lib->choices[i];
        if (!named(choice->algo->name, asked.algorithm)) continue;
        if (!named(choice->protocol, asked.protocol)) continue;
        if (!can_run(choice, req, asked.n_nodes)) continue;
        if (asked.in_limits && !is_for(choice, req)) continue;
        if (first) return i;
        double time_s = reckoned_s(choice, req, hops[i]);
        if (best < 0 || time_s < best_s) {
            best = i;
            best_s = time_s;
        }
    }
    return best;
}

int library_choose(const struct library *lib, const struct coll_req *req,
                   const struct coll_hops *hops, int n_nodes, const char *algorithm,
                   const char *protocol)
{
    struct asked asked = {n_nodes, algorithm, protocol, true};
    int found = choose(lib, req, hops, asked);
    if (found >= 0 || !algorithm) return found;
    asked.in_limits = false;
    return choose(lib, req, hops, asked);
}

struct library_class library_class(double size_B, bool leaves)
{
    struct library_class class = {leaves ? LIB_BETWEEN : LIB_INSIDE, 0};
    while (size_B >= lib_size_below_B[class.size]) class.size++;
    return class;
}

struct sides library_sides(const struct library *lib, const struct coll_req *req)
{
    struct library_class class = library_class(req->size_B, req->n_ranks > req->ranks_per_node);
    return lib->spread[class.reach][class.size];
}
