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

/* a leg on from where another has landed, and the part that takes it */
struct onward {
    int32_t leg;
    double frac;
};

/* a way round by a group, while it settles */
struct detour_way {
    int32_t group, leg; /* the leg to the group */
    int n_onward;
    const struct onward *onward; /* the legs from there */
    double stays;                /* part that stays when the group is drawn */
};

/* flows from one switch to another */
struct stream {
    int32_t src, dst;
    int32_t leg; /* number + 1 of the shortest ways' while it settles */
    int n_round; /* groups that it may go round by */
    double n_flows;
    struct detour_way *round; /* [n_round] while it settles; NULL: all stays */
    struct division division;
};

/* flows on the cable of a card */
struct port_flows {
    double up, down;
};

struct adaptive {
    const struct topo *topo;
    struct stream *streams;
    int n_streams, cap_streams;
    int32_t *slots; /* [cap_slots] number + 1 by ends, 0 = free */
    int cap_slots;
    struct port_flows *ports; /* [ports] */
};

/* the shortest ways from a switch to a target: a switch, or numbered behind them a group */
struct leg {
    const struct link_share *shares;
    const struct landing *landings; /* to a group: where they end */
    int n_shares, n_landings;
    double late_s; /* to a switch: latency of the longest */
};

/* what a link carries, beside what it can: looking for both in each link of each leg is what takes the time */
struct load {
    double fullness, capacity_Bps;
};

/* while it settles */
struct settling {
    struct adaptive *adaptive;
    int n_switches, n_groups;
    double cards;       /* fullness of the fullest cable */
    struct load *loads; /* [links] */
    struct leg *legs;
    double *n_flows; /* [legs] */
    double *fullest; /* [legs] link of it, or cable of a card */
    int n_legs, cap_legs;
    int32_t *
        *leg_of; /* [targets] NULL, or [switches] number + 1 of the leg from there, 0 = none yet */
    struct landing *room;      /* [switches] */
    double *part;              /* [links] of a stream, zero between two */
    struct link_share *shares; /* those of the stream */
    struct arena *perm;
};

/* ---- streams ---- */

struct adaptive *adaptive_new(const struct topo *topo, struct arena *perm)
{
    struct adaptive *adaptive = arena_new(perm, struct adaptive, 1);
    *adaptive = (struct adaptive){.topo = topo};
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
    if (!adaptive->ports) adaptive->ports = arena_new(perm, struct port_flows, topo->n_ports);
    adaptive->ports[pair.src].up++;
    adaptive->ports[pair.dst].down++;
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

static struct division copy_division(const struct division *from, struct arena *perm)
{
    struct division copy = *from;
    size_t n_detours = (size_t)from->n_detours, n_shares = (size_t)from->ways.n;
    if (n_detours == 0) return copy;
    struct detour *detours = arena_new(perm, struct detour, from->n_detours);
    struct link_share *shares = arena_new(perm, struct link_share, from->ways.n);
    memcpy(detours, from->detours, n_detours * sizeof *detours);
    memcpy(shares, from->ways.shares, n_shares * sizeof *shares);
    copy.detours = detours;
    copy.ways.shares = shares;
    return copy;
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
            to->division = copy_division(&from->division, perm);
        }
    }
    return joined;
}

/* ---- legs ---- */

static double fullest_of(const struct settling *settling, const struct leg *leg)
{
    double most = settling->cards;
    for (int i = 0; i < leg->n_shares; i++) {
        double fullness = settling->loads[leg->shares[i].link].fullness;
        if (fullness > most) most = fullness;
    }
    return most;
}

static struct leg make_leg(struct settling *settling, int src, int target)
{
    struct leg leg = {0};
    const struct topo *topo = settling->adaptive->topo;
    struct ways ways = router_leg(topo, src, target, settling->room, &leg.n_landings);
    struct link_share *shares = arena_new(settling->perm, struct link_share, ways.n);
    if (ways.n > 0) memcpy(shares, ways.shares, (size_t)ways.n * sizeof *shares);
    leg.shares = shares;
    leg.n_shares = ways.n;
    leg.late_s = settling->room[0].late_s;
    if (target < settling->n_switches) return leg;
    struct landing *landings = arena_new(settling->perm, struct landing, leg.n_landings);
    memcpy(landings, settling->room, (size_t)leg.n_landings * sizeof *landings);
    leg.landings = landings;
    return leg;
}

static void make_room_for_legs(struct settling *settling, int capacity)
{
    int n = settling->n_legs;
    settling->legs = arena_grow(settling->perm, struct leg, settling->legs, n, capacity);
    settling->n_flows = arena_grow(settling->perm, double, settling->n_flows, n, capacity);
    settling->fullest = arena_grow(settling->perm, double, settling->fullest, n, capacity);
    settling->cap_legs = capacity;
}

static int leg_from(struct settling *settling, int src, int target)
{
    int32_t **row = &settling->leg_of[target];
    if (!*row) *row = arena_new(settling->perm, int32_t, settling->n_switches);
    if ((*row)[src] > 0) return (*row)[src] - 1;
    int n = settling->n_legs;
    if (n == settling->cap_legs) make_room_for_legs(settling, 2 * n);
    settling->n_legs++;
    settling->legs[n] = make_leg(settling, src, target);
    settling->fullest[n] = fullest_of(settling, &settling->legs[n]);
    (*row)[src] = n + 1;
    return n;
}

static int direct_leg(struct settling *settling, struct stream *stream)
{
    if (stream->leg == 0) stream->leg = 1 + leg_from(settling, stream->src, stream->dst);
    return stream->leg - 1;
}

/* ---- what links carry ---- */

static void send(struct settling *settling, struct stream *stream)
{
    double direct = stream->n_flows;
    for (int r = 0; stream->round && r < stream->n_round; r++) {
        const struct detour_way *way = &stream->round[r];
        double goes = stream->n_flows * (1.0 - way->stays) / stream->n_round;
        if (goes <= 0.0) continue;
        settling->n_flows[way->leg] += goes;
        for (int i = 0; i < way->n_onward; i++)
            settling->n_flows[way->onward[i].leg] += goes * way->onward[i].frac;
        direct -= goes;
    }
    int leg = direct_leg(settling, stream);
    settling->n_flows[leg] += direct;
}

static void fill_links(struct settling *settling)
{
    const struct adaptive *adaptive = settling->adaptive;
    const struct topo *topo = adaptive->topo;
    for (int i = 0; i < settling->n_legs; i++) settling->n_flows[i] = 0.0;
    for (int i = 0; i < adaptive->n_streams; i++) send(settling, &adaptive->streams[i]);
    for (int l = topo->fabric->first_link; l < topo->n_links; l++)
        settling->loads[l].fullness = 0.0;
    for (int i = 0; i < settling->n_legs; i++) {
        const struct leg *leg = &settling->legs[i];
        for (int k = 0; settling->n_flows[i] > 0.0 && k < leg->n_shares; k++) {
            struct load *load = &settling->loads[leg->shares[k].link];
            load->fullness += settling->n_flows[i] * leg->shares[k].frac / load->capacity_Bps;
        }
    }
    for (int i = 0; i < settling->n_legs; i++)
        settling->fullest[i] = fullest_of(settling, &settling->legs[i]);
}

/* ---- moving ---- */

static double fullest_round(const struct settling *settling, const struct detour_way *way)
{
    double most = settling->fullest[way->leg];
    for (int i = 0; i < way->n_onward; i++) {
        double fullest = settling->fullest[way->onward[i].leg];
        if (fullest > most) most = fullest;
    }
    return most;
}

static struct detour_way find_way(struct settling *settling, const struct stream *stream, int group)
{
    struct detour_way way = {.group = group, .stays = 1.0};
    way.leg = leg_from(settling, stream->src, settling->n_switches + group);
    const struct landing *landings = settling->legs[way.leg].landings;
    way.n_onward = settling->legs[way.leg].n_landings;
    struct onward *onward = arena_new(settling->perm, struct onward, way.n_onward);
    for (int i = 0; i < way.n_onward; i++)
        onward[i] =
            (struct onward){leg_from(settling, landings[i].at, stream->dst), landings[i].frac};
    way.onward = onward;
    return way;
}

static void begin_moving(struct settling *settling, struct stream *stream)
{
    const struct topo *topo = settling->adaptive->topo;
    stream->round = arena_new(settling->perm, struct detour_way, settling->n_groups);
    for (int g = 0; g < settling->n_groups; g++) {
        if (!router_may_detour(topo, stream->src, stream->dst, g)) continue;
        stream->round[stream->n_round++] = find_way(settling, stream, g);
    }
}

/* What stays is multiplied, so that it comes back as slowly as it went. Where k flows have one shortest way
 * and many detours, its fullness goes with what stays: a round then leaves 1 - STEP / 2 of a small error.
 * Returns by how much of a flow the ways of the stream have moved at most. */
static double move(struct settling *settling, struct stream *stream)
{
    int leg = direct_leg(settling, stream);
    double direct = settling->fullest[leg], most = 0.0;
    if (!stream->round && direct <= settling->cards) return 0.0;
    if (!stream->round) begin_moving(settling, stream);
    for (int r = 0; r < stream->n_round; r++) {
        struct detour_way *way = &stream->round[r];
        double round = fullest_round(settling, way), before = way->stays;
        double gain = (direct - round) / (direct + round);
        way->stays = fmin(1.0, before * (1.0 - STEP * gain));
        most = fmax(most, fabs(way->stays - before));
    }
    return most;
}

static double fullest_cable(const struct adaptive *adaptive)
{
    const struct topo *topo = adaptive->topo;
    double most = 0.0;
    for (int port = 0; adaptive->ports && port < topo->n_ports; port++) {
        int up = fabric_port_up(topo, port);
        most = fmax(most, adaptive->ports[port].up / topo->links[up].capacity_Bps);
        most = fmax(most, adaptive->ports[port].down / topo->links[up + 1].capacity_Bps);
    }
    return most;
}

/* ---- what is kept ---- */

static void add_leg(struct settling *settling, int leg, double frac, struct ways *ways)
{
    const struct leg *from = &settling->legs[leg];
    for (int i = 0; i < from->n_shares; i++) {
        int link = from->shares[i].link;
        if (settling->part[link] <= 0.0) settling->shares[ways->n++].link = link;
        settling->part[link] += frac * from->shares[i].frac;
    }
}

/* A way round: both its legs, and how long the longest takes. */
static void add_way(struct settling *settling, const struct detour_way *way, double frac,
                    struct ways *ways)
{
    add_leg(settling, way->leg, frac, ways);
    const struct landing *landings = settling->legs[way->leg].landings;
    for (int i = 0; i < way->n_onward; i++) {
        const struct onward *onward = &way->onward[i];
        add_leg(settling, onward->leg, frac * onward->frac, ways);
        double on_s = settling->legs[onward->leg].late_s;
        ways->latency_s = fmax(ways->latency_s, landings[i].late_s + on_s);
    }
}

static void keep_ways(struct settling *settling, struct ways *ways, struct arena *perm)
{
    struct link_share *shares = arena_new(perm, struct link_share, ways->n);
    for (int i = 0; i < ways->n; i++) {
        int link = settling->shares[i].link;
        shares[i] = (struct link_share){link, settling->part[link]};
        settling->part[link] = 0.0;
    }
    ways->shares = shares;
}

static void keep_division(struct settling *settling, struct stream *stream, struct arena *perm)
{
    struct division division = {.direct = 1.0};
    if (!stream->round) return;
    struct detour *detours = arena_new(perm, struct detour, stream->n_round);
    for (int r = 0; r < stream->n_round; r++) {
        double goes = 1.0 - stream->round[r].stays;
        if (goes < CRUMB) continue;
        struct detour detour = {stream->round[r].group, goes / stream->n_round};
        detours[division.n_detours++] = detour;
        division.direct -= detour.frac;
        add_way(settling, &stream->round[r], detour.frac, &division.ways);
    }
    division.detours = detours;
    if (division.direct < CRUMB) division.direct = 0.0;
    if (division.n_detours > 0 && division.direct > 0.0) {
        int leg = direct_leg(settling, stream);
        add_leg(settling, leg, division.direct, &division.ways);
        division.ways.latency_s = fmax(division.ways.latency_s, settling->legs[leg].late_s);
    }
    keep_ways(settling, &division.ways, perm);
    stream->division = division;
    stream->round = NULL;
    stream->n_round = 0;
}

static void settle_all(struct settling *settling)
{
    const struct adaptive *adaptive = settling->adaptive;
    double moved = 1.0;
    for (int round = 0; round < ROUNDS && moved > SETTLED; round++) {
        fill_links(settling);
        moved = 0.0;
        for (int i = 0; i < adaptive->n_streams; i++)
            moved = fmax(moved, move(settling, &adaptive->streams[i]));
    }
}

void adaptive_settle(struct adaptive *adaptive, struct arena *perm)
{
    struct arena scratch = arena_upper_half(perm);
    const struct topo *topo = adaptive->topo;
    if (adaptive->n_streams == 0) return;
    struct settling settling = {.adaptive = adaptive,
                                .n_switches = topo->fabric->n_switches,
                                .n_groups = router_n_groups(topo),
                                .cards = fullest_cable(adaptive),
                                .perm = &scratch};
    settling.loads = arena_new(&scratch, struct load, topo->n_links);
    for (int l = 0; l < topo->n_links; l++)
        settling.loads[l].capacity_Bps = topo->links[l].capacity_Bps;
    settling.leg_of = arena_new(&scratch, int32_t *, settling.n_switches + settling.n_groups);
    settling.room = arena_new(&scratch, struct landing, settling.n_switches);
    settling.part = arena_new(&scratch, double, topo->n_links);
    settling.shares = arena_new(&scratch, struct link_share, topo->n_links);
    make_room_for_legs(&settling, 256);
    settle_all(&settling);
    for (int i = 0; i < adaptive->n_streams; i++)
        keep_division(&settling, &adaptive->streams[i], perm);
}
