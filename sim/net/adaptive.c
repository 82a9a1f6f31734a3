#include "net/adaptive.h"

#include "base/must.h"
#include "net/fabric.h"

#include <math.h>
#include <string.h>

/* Near the end each round leaves half to three quarters of what is still wrong (see move). */
enum { ROUNDS = 32 };

/* Of what stays, the most that moves in a round: all at once would overshoot and swing. */
static const double STEP = 0.75;

/* parts of flows: when nothing moves more, all has settled; and what is not worth a way of its own */
static const double SETTLED = 1e-4, CRUMB = 1e-6;

/* flows from one switch to another */
struct stream {
    int32_t src, dst;
    double n_flows;
    double *stays; /* [groups] part that stays when that group is drawn; NULL: all does */
    int n_round;   /* groups that it may go round by */
    struct division division;
};

struct adaptive {
    const struct topo *topo;
    struct stream *streams;
    int n_streams, cap_streams;
    int32_t *slots; /* [cap_slots] number + 1 by ends, 0 = free */
    int cap_slots;
    double *ports; /* [links] flows on cables of cards */
};

/* the shortest ways from a switch to a target: a switch, or numbered behind them a group */
struct leg {
    const struct link_share *shares;
    const struct landing *landings; /* where they end */
    int n_shares, n_landings;
    double n_flows;
    double fullest; /* link of it, or cable of a card */
};

/* while it settles */
struct settling {
    struct adaptive *adaptive;
    int n_switches, n_groups;
    double cards;     /* fullness of the fullest cable */
    double *fullness; /* [links] */
    struct leg *legs;
    int n_legs, cap_legs;
    int32_t *
        *leg_of; /* [targets] NULL, or [switches] number + 1 of the leg from there, 0 = none yet */
    struct landing *room; /* [switches] */
    struct arena *perm;
};

/* ---- streams ---- */

struct adaptive *adaptive_new(const struct topo *topo, struct arena *perm)
{
    struct adaptive *adaptive = arena_new(perm, struct adaptive, 1);
    *adaptive = (struct adaptive){.topo = topo, .ports = arena_new(perm, double, topo->n_links)};
    return adaptive;
}

static int32_t *find_slot(const struct adaptive *adaptive, int src, int dst)
{
    /* Knuth's multiplicative hash, TAOCP 6.4 */
    uint64_t at = ((uint64_t)(uint32_t)src << 20 ^ (uint64_t)(uint32_t)dst) * 0x9e3779b97f4a7c15U;
    for (at >>= 32;; at++) {
        int32_t *slot = &adaptive->slots[at & (uint64_t)(adaptive->cap_slots - 1)];
        if (*slot == 0) return slot;
        const struct stream *stream = &adaptive->streams[*slot - 1];
        if (stream->src == src && stream->dst == dst) return slot;
    }
}

/* Slots are kept at most half full. */
static void make_room(struct adaptive *adaptive, struct arena *perm)
{
    if (adaptive->n_streams < adaptive->cap_streams) return;
    adaptive->cap_streams = adaptive->cap_streams ? 2 * adaptive->cap_streams : 64;
    adaptive->cap_slots = 2 * adaptive->cap_streams;
    adaptive->streams = arena_grow(perm, struct stream, adaptive->streams, adaptive->n_streams,
                                   adaptive->cap_streams);
    adaptive->slots = arena_new(perm, int32_t, adaptive->cap_slots);
    for (int i = 0; i < adaptive->n_streams; i++)
        *find_slot(adaptive, adaptive->streams[i].src, adaptive->streams[i].dst) = i + 1;
}

static struct stream *find_stream(struct adaptive *adaptive, int src, int dst, struct arena *perm)
{
    make_room(adaptive, perm);
    int32_t *slot = find_slot(adaptive, src, dst);
    if (*slot == 0) {
        adaptive->streams[adaptive->n_streams++] =
            (struct stream){.src = src, .dst = dst, .division = {.direct = 1.0}};
        *slot = adaptive->n_streams;
    }
    return &adaptive->streams[*slot - 1];
}

void adaptive_add(struct adaptive *adaptive, struct port_pair pair, struct arena *perm)
{
    const struct topo *topo = adaptive->topo;
    adaptive->ports[fabric_port_up(topo, pair.src)]++;
    adaptive->ports[fabric_port_down(topo, pair.dst)]++;
    int src = router_port_switch(topo, pair.src), dst = router_port_switch(topo, pair.dst);
    if (src != dst) find_stream(adaptive, src, dst, perm)->n_flows++;
}

struct division adaptive_division(const struct adaptive *adaptive, struct port_pair pair)
{
    int src = router_port_switch(adaptive->topo, pair.src);
    int dst = router_port_switch(adaptive->topo, pair.dst);
    int number = adaptive->cap_slots > 0 ? *find_slot(adaptive, src, dst) : 0;
    return number > 0 ? adaptive->streams[number - 1].division : (struct division){.direct = 1.0};
}

struct adaptive *adaptive_join(const struct adaptive *const *phases, int n, struct arena *perm)
{
    struct adaptive *joined = adaptive_new(phases[0]->topo, perm);
    for (int p = 0; p < n; p++) {
        for (int i = 0; i < phases[p]->n_streams; i++) {
            const struct stream *from = &phases[p]->streams[i];
            struct stream *to = find_stream(joined, from->src, from->dst, perm);
            if (to->n_flows > 0.0) continue;
            to->n_flows = from->n_flows;
            to->division = from->division;
            size_t n_detours = (size_t)from->division.n_detours;
            struct detour *detours = arena_new(perm, struct detour, (int64_t)n_detours);
            if (n_detours > 0) memcpy(detours, from->division.detours, n_detours * sizeof *detours);
            to->division.detours = detours;
        }
    }
    return joined;
}

/* ---- legs ---- */

static void find_fullest(const struct settling *settling, struct leg *leg)
{
    leg->fullest = settling->cards;
    for (int i = 0; i < leg->n_shares; i++)
        leg->fullest = fmax(leg->fullest, settling->fullness[leg->shares[i].link]);
}

static struct leg make_leg(struct settling *settling, int src, int target)
{
    struct leg leg = {0};
    const struct topo *topo = settling->adaptive->topo;
    struct ways ways = router_leg(topo, src, target, settling->room, &leg.n_landings);
    struct link_share *shares = arena_new(settling->perm, struct link_share, ways.n);
    struct landing *landings = arena_new(settling->perm, struct landing, leg.n_landings);
    if (ways.n > 0) memcpy(shares, ways.shares, (size_t)ways.n * sizeof *shares);
    memcpy(landings, settling->room, (size_t)leg.n_landings * sizeof *landings);
    leg.shares = shares;
    leg.landings = landings;
    leg.n_shares = ways.n;
    find_fullest(settling, &leg);
    return leg;
}

/* Valid until the next. */
static struct leg *leg_from(struct settling *settling, int src, int target)
{
    int32_t **row = &settling->leg_of[target];
    if (!*row) *row = arena_new(settling->perm, int32_t, settling->n_switches);
    if ((*row)[src] > 0) return &settling->legs[(*row)[src] - 1];
    if (settling->n_legs == settling->cap_legs) {
        settling->cap_legs = settling->cap_legs ? 2 * settling->cap_legs : 256;
        settling->legs = arena_grow(settling->perm, struct leg, settling->legs, settling->n_legs,
                                    settling->cap_legs);
    }
    settling->legs[settling->n_legs] = make_leg(settling, src, target);
    (*row)[src] = ++settling->n_legs;
    return &settling->legs[settling->n_legs - 1];
}

/* ---- what links carry ---- */

static void send_by(struct settling *settling, const struct stream *stream, int group, double goes)
{
    struct leg *leg = leg_from(settling, stream->src, settling->n_switches + group);
    leg->n_flows += goes;
    const struct landing *landings = leg->landings;
    int n = leg->n_landings;
    for (int i = 0; i < n; i++)
        leg_from(settling, landings[i].at, stream->dst)->n_flows += goes * landings[i].frac;
}

static void send(struct settling *settling, const struct stream *stream)
{
    double direct = stream->n_flows;
    for (int g = 0; stream->stays && g < settling->n_groups; g++) {
        double goes = stream->n_flows * (1.0 - stream->stays[g]) / stream->n_round;
        if (goes <= 0.0) continue;
        send_by(settling, stream, g, goes);
        direct -= goes;
    }
    leg_from(settling, stream->src, stream->dst)->n_flows += direct;
}

static void fill_links(struct settling *settling)
{
    const struct adaptive *adaptive = settling->adaptive;
    const struct topo *topo = adaptive->topo;
    for (int i = 0; i < settling->n_legs; i++) settling->legs[i].n_flows = 0.0;
    for (int i = 0; i < adaptive->n_streams; i++) send(settling, &adaptive->streams[i]);
    for (int l = topo->fabric->first_link; l < topo->n_links; l++) settling->fullness[l] = 0.0;
    for (int i = 0; i < settling->n_legs; i++) {
        const struct leg *leg = &settling->legs[i];
        for (int k = 0; leg->n_flows > 0.0 && k < leg->n_shares; k++) {
            int link = leg->shares[k].link;
            settling->fullness[link] +=
                leg->n_flows * leg->shares[k].frac / topo->links[link].capacity_Bps;
        }
    }
    for (int i = 0; i < settling->n_legs; i++) find_fullest(settling, &settling->legs[i]);
}

/* ---- moving ---- */

static double fullest_round(struct settling *settling, const struct stream *stream, int group)
{
    const struct leg *leg = leg_from(settling, stream->src, settling->n_switches + group);
    const struct landing *landings = leg->landings;
    int n = leg->n_landings;
    double most = leg->fullest;
    for (int i = 0; i < n; i++)
        most = fmax(most, leg_from(settling, landings[i].at, stream->dst)->fullest);
    return most;
}

static void begin_moving(const struct settling *settling, struct stream *stream)
{
    const struct topo *topo = settling->adaptive->topo;
    stream->stays = arena_new(settling->perm, double, settling->n_groups);
    for (int g = 0; g < settling->n_groups; g++) {
        stream->stays[g] = 1.0;
        stream->n_round += router_may_detour(topo, stream->src, stream->dst, g);
    }
}

/* What stays is multiplied, so that it comes back as slowly as it went. Where k flows have one shortest way
 * and many detours, its fullness goes with what stays: a round then leaves 1 - STEP / 2 of a small error.
 * Returns by how much of a flow the ways of the stream have moved at most. */
static double move(struct settling *settling, struct stream *stream)
{
    const struct topo *topo = settling->adaptive->topo;
    double direct = leg_from(settling, stream->src, stream->dst)->fullest, most = 0.0;
    if (!stream->stays && direct <= settling->cards) return 0.0;
    if (!stream->stays) begin_moving(settling, stream);
    for (int g = 0; g < settling->n_groups; g++) {
        if (!router_may_detour(topo, stream->src, stream->dst, g)) continue;
        double round = fullest_round(settling, stream, g), before = stream->stays[g];
        double gain = (direct - round) / (direct + round);
        stream->stays[g] = fmin(1.0, before * (1.0 - STEP * gain));
        most = fmax(most, fabs(stream->stays[g] - before));
    }
    return most;
}

static double fullest_cable(const struct adaptive *adaptive)
{
    double most = 0.0;
    for (int l = 0; l < adaptive->topo->n_links; l++)
        most = fmax(most, adaptive->ports[l] / adaptive->topo->links[l].capacity_Bps);
    return most;
}

static void keep_division(const struct settling *settling, struct stream *stream,
                          struct arena *perm)
{
    if (!stream->stays) return;
    int n_detours = 0;
    struct detour *detours = arena_new(perm, struct detour, stream->n_round);
    for (int g = 0; g < settling->n_groups; g++) {
        double goes = 1.0 - stream->stays[g];
        if (goes < CRUMB) continue;
        detours[n_detours++] = (struct detour){g, goes / stream->n_round};
        stream->division.direct -= goes / stream->n_round;
    }
    stream->division.detours = detours;
    stream->division.n_detours = n_detours;
    if (stream->division.direct < CRUMB) stream->division.direct = 0.0;
    stream->stays = NULL;
}

void adaptive_settle(struct adaptive *adaptive, struct arena *perm)
{
    struct arena scratch = arena_upper_half(perm);
    const struct topo *topo = adaptive->topo;
    struct settling settling = {.adaptive = adaptive,
                                .n_switches = topo->fabric->n_switches,
                                .n_groups = router_n_groups(topo),
                                .cards = fullest_cable(adaptive),
                                .perm = &scratch};
    settling.fullness = arena_new(&scratch, double, topo->n_links);
    settling.leg_of = arena_new(&scratch, int32_t *, settling.n_switches + settling.n_groups);
    settling.room = arena_new(&scratch, struct landing, settling.n_switches);
    double moved = 1.0;
    for (int round = 0; round < ROUNDS && moved > SETTLED; round++) {
        fill_links(&settling);
        moved = 0.0;
        for (int i = 0; i < adaptive->n_streams; i++)
            moved = fmax(moved, move(&settling, &adaptive->streams[i]));
    }
    for (int i = 0; i < adaptive->n_streams; i++)
        keep_division(&settling, &adaptive->streams[i], perm);
}
