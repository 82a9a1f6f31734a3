/* Three ways to check a row of the registry without believing it:
 *   play_numbers   its sends moved about on sets of ranks, in a random order that the rules allow
 *   play_sends_s   its sends as messages on the network that the closed forms speak of (coll.h)
 *   play_phases_s  its phases on that network */
#ifndef TESTS_COLLECTIVES_PLAY_H
#define TESTS_COLLECTIVES_PLAY_H

#include "collectives/coll.h"
#include "collectives/shape.h"
#include "test.h"

struct play {
    const struct coll_algo *algo;
    const struct coll_req *req;
    int members, lanes, slots;
    int64_t units;
    int *arrived;   /* [members * slots] */
    int64_t *at;    /* [members * lanes] sends begun */
    double *sent_B; /* [members * members * channels] */
    int64_t n_begun;
};

static inline struct play play_of(const struct coll_algo *algo, const struct coll_req *req,
                                  struct arena *arena)
{
    struct play play = {.algo = algo, .req = req, .members = coll_members(algo, req)};
    play.lanes = algo->n_lanes(req);
    play.slots = algo->n_slots(req);
    play.units = algo->units(req);
    play.arrived = arena_new(arena, int, (int64_t)play.members *play.slots);
    play.at = arena_new(arena, int64_t, (int64_t)play.members * play.lanes);
    play.sent_B = arena_new(arena, double, (int64_t)play.members *play.members * req->n_channels);
    return play;
}

static inline double *play_sent(const struct play *play, int src, int dst, int channel)
{
    return &play->sent_B[((int64_t)src * play->members + dst) * play->req->n_channels + channel];
}

/* The lane's next send, checked against the declared sizes; false when the lane is done. */
static inline bool play_peek(const struct play *play, int member, int lane, struct coll_send *send)
{
    if (!play->algo->next(play->req, member, lane, play->at[(int64_t)member * play->lanes + lane],
                          send))
        return false;
    assert_true(send->dst >= 0 && send->dst < play->members && send->dst != member);
    assert_true(send->channel >= 0 && send->channel < play->req->n_channels);
    assert_true(send->slot >= 0 && send->slot < play->slots);
    assert_true(send->n_deps >= 0 && send->n_deps <= COLL_MAX_DEPS);
    assert_true(send->n_units > 0 && send->n_units <= play->units);
    assert_true(send->size_B > 0);
    return true;
}

/* The j-th unit that a member's send carries. */
static inline int64_t play_unit(const struct play *play, int member, const struct coll_send *send,
                                int64_t j)
{
    int64_t u =
        play->algo->unit ? play->algo->unit(play->req, member, send, j) : send->first_unit + j;
    assert_true(u >= 0 && u < play->units);
    return u;
}

static inline bool play_ready(const struct play *play, int member, const struct coll_send *send)
{
    for (int d = 0; d < send->n_deps; d++) {
        assert_true(send->deps[d].slot >= 0 && send->deps[d].slot < play->slots);
        if (play->arrived[(int64_t)member * play->slots + send->deps[d].slot] < send->deps[d].count)
            return false;
    }
    return true;
}

static inline void play_begin(struct play *play, int member, int lane, const struct coll_send *send)
{
    *play_sent(play, member, send->dst, send->channel) += send->size_B;
    play->at[(int64_t)member * play->lanes + lane]++;
    play->n_begun++;
}

/* a message that travels, or has arrived and is not yet taken in */
struct parcel {
    struct parcel *next;
    int src, lane, order; /* order: the how-manieth of its slot */
    struct coll_send send;
    uint64_t *have; /* [n_units] ranks summed into each unit */
};

struct numbers {
    struct play play;
    uint64_t *have;        /* [members * units] */
    struct parcel **inbox; /* [members] arrived, oldest first */
    struct parcel *travel, **last;
    int *seen; /* all_to_all: [src * n + dst] units received */
    uint64_t random;
};

static inline bool coin(struct numbers *numbers)
{
    numbers->random ^= numbers->random << 13;
    numbers->random ^= numbers->random >> 7;
    numbers->random ^= numbers->random << 17;
    return numbers->random >> 63;
}

static inline uint64_t bits_below(int n)
{
    return ((uint64_t)1 << n) - 1;
}

static inline bool sums(enum coll_kind kind)
{
    return kind == COLL_ALLREDUCE || kind == COLL_REDUCE_SCATTER || kind == COLL_REDUCE;
}

/* Who a unit of an all_to_all that is passed on comes from. */
static inline int origin_of(const struct coll_req *req, int64_t u)
{
    return (int)(u / req->n_ranks % req->n_ranks);
}

/* What member r begins with in unit u. */
static inline uint64_t at_first(const struct play *play, int r, int64_t u)
{
    const struct coll_req *req = play->req;
    if (r >= req->n_ranks) return 0;
    if (play->algo->relays) return origin_of(req, u) == r ? (uint64_t)1 << r : 0;
    if (req->kind == COLL_ALLGATHER) return u % req->n_ranks == r ? (uint64_t)1 << r : 0;
    if (req->kind == COLL_BROADCAST) return r == req->root ? (uint64_t)1 << r : 0;
    if (req->kind == COLL_SENDRECV) return r == 0 || req->n_ranks > 2 ? (uint64_t)1 << r : 0;
    return (uint64_t)1 << r;
}

/* What it must end with; 0 = does not matter. */
static inline uint64_t at_last(const struct play *play, int r, int64_t u)
{
    const struct coll_req *req = play->req;
    int n = req->n_ranks;
    bool own = u % n == r;
    if (play->algo->relays) return own ? (uint64_t)1 << origin_of(req, u) : 0;
    switch (req->kind) {
    case COLL_ALLREDUCE:
        return bits_below(n);
    case COLL_REDUCE_SCATTER:
        return own ? bits_below(n) : 0;
    case COLL_REDUCE:
        return r == req->root ? bits_below(n) : 0;
    case COLL_ALLGATHER:
        return (uint64_t)1 << (u % n);
    case COLL_BROADCAST:
        return (uint64_t)1 << req->root;
    case COLL_SENDRECV:
        return n > 2 ? (uint64_t)1 << (r + n - 1) % n : 1;
    case COLL_ALLTOALL:
    case N_COLL_KINDS:
        break;
    }
    return 0;
}

static inline void take_in(struct numbers *numbers, int member, const struct parcel *parcel)
{
    const struct coll_req *req = numbers->play.req;
    bool relays = numbers->play.algo->relays;
    for (int64_t j = 0; j < parcel->send.n_units; j++) {
        int64_t u = play_unit(&numbers->play, parcel->src, &parcel->send, j);
        uint64_t *have = &numbers->have[member * numbers->play.units + u];
        assert_true(parcel->have[j] != 0); /* nobody sends what he has not got */
        if (req->kind == COLL_ALLTOALL && !relays) {
            assert_int_equal(u % req->n_ranks, member);
            numbers->seen[parcel->src * req->n_ranks + member]++;
        } else if (parcel->send.reduce) {
            assert_true(sums(req->kind));
            assert_true((*have & parcel->have[j]) == 0); /* nothing is added twice */
            *have |= parcel->have[j];
        } else {
            *have = parcel->have[j];
        }
    }
}

/* Take in the first `count` arrivals of a slot. */
static inline void take_slot(struct numbers *numbers, int member, int slot, int count)
{
    struct parcel **at = &numbers->inbox[member];
    while (*at) {
        struct parcel *parcel = *at;
        if ((slot < 0 || parcel->send.slot == slot) && parcel->order <= count) {
            take_in(numbers, member, parcel);
            *at = parcel->next;
        } else {
            at = &parcel->next;
        }
    }
}

static inline bool try_begin(struct numbers *numbers, int member, int lane, struct arena *arena)
{
    struct play *play = &numbers->play;
    struct coll_send send;
    if (!play_peek(play, member, lane, &send) || !play_ready(play, member, &send)) return false;
    for (int d = 0; d < send.n_deps; d++)
        take_slot(numbers, member, send.deps[d].slot, send.deps[d].count);
    struct parcel *parcel = arena_new(arena, struct parcel, 1);
    *parcel = (struct parcel){.src = member, .lane = lane, .send = send};
    parcel->have = arena_new(arena, uint64_t, send.n_units);
    for (int64_t j = 0; j < send.n_units; j++)
        parcel->have[j] = numbers->have[member * play->units + play_unit(play, member, &send, j)];
    *numbers->last = parcel;
    numbers->last = &parcel->next;
    play_begin(play, member, lane, &send);
    return true;
}

/* Some of what travels arrives; messages of one lane stay in order. */
static inline bool deliver_some(struct numbers *numbers, struct arena scratch)
{
    struct play *play = &numbers->play;
    bool *held = arena_new(&scratch, bool, (int64_t)play->members * play->lanes);
    bool any = false;
    struct parcel **at = &numbers->travel;
    while (*at) {
        struct parcel *parcel = *at;
        int64_t lane = (int64_t)parcel->src * play->lanes + parcel->lane;
        if (held[lane] || (any && coin(numbers))) {
            held[lane] = true;
            at = &parcel->next;
            continue;
        }
        any = true;
        *at = parcel->next;
        int dst = parcel->send.dst;
        parcel->order = ++play->arrived[(int64_t)dst * play->slots + parcel->send.slot];
        struct parcel **end = &numbers->inbox[dst];
        while (*end) end = &(*end)->next;
        parcel->next = NULL;
        *end = parcel;
    }
    numbers->last = at;
    return any;
}

static inline void check_ends(struct numbers *numbers)
{
    const struct play *play = &numbers->play;
    const struct coll_req *req = play->req;
    struct coll_send send;
    for (int member = 0; member < play->members; member++) {
        for (int lane = 0; lane < play->lanes; lane++)
            assert_false(play_peek(play, member, lane, &send)); /* or it waits for ever */
        take_slot(numbers, member, -1, INT32_MAX);
    }
    for (int r = 0; r < req->n_ranks; r++) {
        for (int64_t u = 0; u < play->units; u++) {
            uint64_t want = at_last(play, r, u);
            if (want) assert_int_equal(numbers->have[r * play->units + u], want);
        }
        bool direct = req->kind == COLL_ALLTOALL && !play->algo->relays;
        for (int dst = 0; direct && dst < req->n_ranks; dst++)
            assert_int_equal(numbers->seen[r * req->n_ranks + dst],
                             r == dst ? 0 : play->units / req->n_ranks);
    }
}

/* Bytes by source, destination and channel: those of the flows taken away, nothing is left. */
static inline void check_flows(const struct play *play)
{
    const struct coll_algo *algo = play->algo;
    const struct coll_req *req = play->req;
    struct coll_phase phase;
    for (int p = 0; algo->phase(req, p, &phase); p++) {
        for (int b = 0; b < phase.n_bundles; b++) {
            struct coll_bundle bundle;
            algo->bundle(req, p, b, &bundle);
            for (int64_t k = 0; k < bundle.n_flows; k++) {
                struct coll_flow flow = algo->flow(req, p, b, k);
                assert_true(flow.src >= 0 && flow.src < play->members && flow.src != flow.dst);
                assert_true(flow.dst >= 0 && flow.dst < play->members);
                *play_sent(play, flow.src, flow.dst, bundle.channel) -= bundle.bytes;
            }
        }
    }
    for (int64_t i = 0; i < (int64_t)play->members * play->members * req->n_channels; i++)
        assert_true(fabs(play->sent_B[i]) <= 1e-9 * req->size_B);
}

/* play_numbers — every contribution once, every rank the right result, every lane to its end, and
 * the phases' flows carry what the sends carry.
 *   sent_B[members]  out: bytes each member sent */
static inline void play_numbers(const struct coll_algo *algo, const struct coll_req *req,
                                uint64_t seed, double *sent_B, struct arena arena)
{
    struct numbers numbers = {.play = play_of(algo, req, &arena), .random = 2 * seed + 1};
    struct play *play = &numbers.play;
    numbers.have = arena_new(&arena, uint64_t, play->members * play->units);
    numbers.inbox = arena_new(&arena, struct parcel *, play->members);
    numbers.seen = arena_new(&arena, int, (int64_t)req->n_ranks * req->n_ranks);
    numbers.last = &numbers.travel;
    for (int r = 0; r < play->members; r++)
        for (int64_t u = 0; u < play->units; u++)
            numbers.have[r * play->units + u] = at_first(play, r, u);
    bool any = true;
    while (any) {
        any = false;
        for (int member = 0; member < play->members; member++)
            for (int lane = 0; lane < play->lanes; lane++)
                if (coin(&numbers)) any |= try_begin(&numbers, member, lane, &arena);
        any |= deliver_some(&numbers, arena);
        for (int member = 0; !any && member < play->members; member++)
            for (int lane = 0; lane < play->lanes; lane++)
                any |= try_begin(&numbers, member, lane, &arena);
    }
    for (int src = 0; src < play->members; src++)
        for (int i = 0; i < play->members * req->n_channels; i++)
            sent_B[src] += play->sent_B[(int64_t)src * play->members * req->n_channels + i];
    check_ends(&numbers);
    check_flows(play);
}

/* The ports of the closed forms' network: of members inside nodes, then of nodes; out and in. */
struct ports {
    const struct coll_req *req;
    struct coll_hops hops;
    int members;
};

static inline int n_ports(const struct ports *ports)
{
    return 2 * (ports->members + shape_nodes(ports->req));
}

static inline bool ports_leave(const struct ports *ports, int src, int dst)
{
    return shape_node(ports->req, src) != shape_node(ports->req, dst);
}

static inline int port_of(const struct ports *ports, int member, bool leaves, bool in)
{
    int port = leaves ? ports->members + shape_node(ports->req, member) : member;
    return 2 * port + in;
}

static inline struct affine hop_of(const struct ports *ports, int src, int dst)
{
    return ports_leave(ports, src, dst) ? ports->hops.inter : ports->hops.intra;
}

/* play_phases_s — latency, fill and the busiest port's time of each phase. */
static inline double play_phases_s(const struct coll_algo *algo, const struct coll_req *req,
                                   struct coll_hops hops, struct arena arena)
{
    struct ports ports = {req, hops, coll_members(algo, req)};
    double time_s = 0;
    struct coll_phase phase;
    for (int p = 0; algo->phase(req, p, &phase); p++) {
        struct arena scratch = arena;
        double *busy_s = arena_new(&scratch, double, n_ports(&ports)), drain_s = 0;
        struct coll_bundle bundle;
        for (int b = 0; b < phase.n_bundles; b++) {
            algo->bundle(req, p, b, &bundle);
            for (int64_t k = 0; k < bundle.n_flows; k++) {
                struct coll_flow flow = algo->flow(req, p, b, k);
                bool leaves = ports_leave(&ports, flow.src, flow.dst);
                double s = bundle.bytes * hop_of(&ports, flow.src, flow.dst).beta_s_per_B;
                busy_s[port_of(&ports, flow.src, leaves, false)] += s;
                busy_s[port_of(&ports, flow.dst, leaves, true)] += s;
            }
        }
        for (int port = 0; port < n_ports(&ports); port++) drain_s = fmax(drain_s, busy_s[port]);
        time_s += coll_wait_s(&phase, hops, drain_s);
        time_s += drain_s * (1 + phase.fill_B / bundle.bytes); /* fill: one size of bundle */
        time_s += phase.fill_intra_B * hops.intra.beta_s_per_B;
    }
    return time_s;
}

/* one message on the network */
struct message {
    int src, lane;
    struct coll_send send;
    double left_B, rate_Bps, arrives_s; /* arrives_s: INFINITY until its last byte is out */
};

struct clockwork {
    struct play play;
    struct ports ports;
    struct message *messages;
    int n_messages;
    bool *busy; /* [members * lanes] */
    double now_s;
};

static inline void begin_ready(struct clockwork *clockwork)
{
    struct play *play = &clockwork->play;
    for (int member = 0; member < play->members; member++) {
        for (int lane = 0; lane < play->lanes; lane++) {
            bool *busy = &clockwork->busy[(int64_t)member * play->lanes + lane];
            struct coll_send send;
            if (*busy || !play_peek(play, member, lane, &send)) continue;
            if (!play_ready(play, member, &send)) continue;
            play_begin(play, member, lane, &send);
            *busy = true;
            clockwork->messages[clockwork->n_messages++] = (struct message){.src = member,
                                                                            .lane = lane,
                                                                            .send = send,
                                                                            .left_B = send.size_B,
                                                                            .arrives_s = INFINITY};
        }
    }
}

/* Max-min by filling: the port with the least left per message, again and again. */
static inline void set_rates(struct clockwork *clockwork, struct arena scratch)
{
    const struct ports *ports = &clockwork->ports;
    int n = n_ports(ports), m = clockwork->n_messages, open = 0;
    double *left = arena_new(&scratch, double, n);
    int *users = arena_new(&scratch, int, n), *out = arena_new(&scratch, int, m),
        *in = arena_new(&scratch, int, m);
    for (int i = 0; i < m; i++) {
        struct message *message = &clockwork->messages[i];
        bool leaves = ports_leave(ports, message->src, message->send.dst);
        message->rate_Bps = 0;
        if (message->left_B <= 0) continue;
        out[i] = port_of(ports, message->src, leaves, false);
        in[i] = port_of(ports, message->send.dst, leaves, true);
        left[out[i]] = left[in[i]] =
            1 / hop_of(ports, message->src, message->send.dst).beta_s_per_B;
        users[out[i]]++;
        users[in[i]]++;
        open++;
    }
    while (open > 0) {
        int tight = -1;
        for (int port = 0; port < n; port++)
            if (users[port] > 0 &&
                (tight < 0 || left[port] * users[tight] < left[tight] * users[port]))
                tight = port;
        double share = left[tight] / users[tight];
        for (int i = 0; i < m; i++) {
            struct message *message = &clockwork->messages[i];
            bool rated = message->left_B <= 0 || message->rate_Bps > 0;
            if (rated || (out[i] != tight && in[i] != tight)) continue;
            message->rate_Bps = share;
            left[out[i]] -= share;
            left[in[i]] -= share;
            users[out[i]]--;
            users[in[i]]--;
            open--;
        }
    }
}

/* On to the next end of sending or arrival. */
static inline void step_clock(struct clockwork *clockwork)
{
    double wait_s = INFINITY;
    for (int i = 0; i < clockwork->n_messages; i++) {
        struct message *message = &clockwork->messages[i];
        double s = message->left_B > 0 ? message->left_B / message->rate_Bps
                                       : message->arrives_s - clockwork->now_s;
        wait_s = fmin(wait_s, s);
    }
    clockwork->now_s += wait_s;
    for (int i = 0; i < clockwork->n_messages; i++) {
        struct message *message = &clockwork->messages[i];
        if (message->left_B <= 0) continue;
        message->left_B -= message->rate_Bps * wait_s;
        if (message->left_B > 1e-9 * message->send.size_B) continue;
        message->left_B = 0;
        int dst = message->send.dst;
        message->arrives_s =
            clockwork->now_s + hop_of(&clockwork->ports, message->src, dst).alpha_s;
        if (!clockwork->play.req->rendezvous)
            clockwork->busy[(int64_t)message->src * clockwork->play.lanes + message->lane] = false;
    }
}

static inline void take_arrivals(struct clockwork *clockwork)
{
    struct play *play = &clockwork->play;
    int kept = 0;
    for (int i = 0; i < clockwork->n_messages; i++) {
        struct message *message = &clockwork->messages[i];
        if (message->arrives_s > clockwork->now_s * (1 + 1e-12)) {
            clockwork->messages[kept++] = *message;
            continue;
        }
        play->arrived[(int64_t)message->send.dst * play->slots + message->send.slot]++;
        if (play->req->rendezvous)
            clockwork->busy[(int64_t)message->src * play->lanes + message->lane] = false;
    }
    clockwork->n_messages = kept;
}

/* play_sends_s — when the last message has arrived. */
static inline double play_sends_s(const struct coll_algo *algo, const struct coll_req *req,
                                  struct coll_hops hops, struct arena arena)
{
    struct clockwork clockwork = {.play = play_of(algo, req, &arena)};
    struct play *play = &clockwork.play;
    int64_t lanes = (int64_t)play->members * play->lanes;
    clockwork.ports = (struct ports){req, hops, play->members};
    clockwork.messages = arena_new(&arena, struct message, 64 * lanes);
    clockwork.busy = arena_new(&arena, bool, lanes);
    begin_ready(&clockwork);
    while (clockwork.n_messages > 0) {
        set_rates(&clockwork, arena);
        step_clock(&clockwork);
        take_arrivals(&clockwork);
        begin_ready(&clockwork);
    }
    return clockwork.now_s;
}

#endif
