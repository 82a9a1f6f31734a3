/* Collectives as single sends, each a flow of its own. A member starts sending when it joins; a
 * send waits for what its algorithm says, then for its latency, then it drains; a lane's sends
 * drain one after the other. The collective is over, for all, when the last send has arrived.
 *
 * With rendezvous a lane's next send waits until its last one has arrived. Otherwise latencies of
 * up to WINDOW sends of a lane pass side by side, as with the eight slots of NCCL's buffers, for each of the
 * library's channels that it stands for; of as many as pass in a latency where that is more: bytes in flight are
 * limited by the connections' windows, which all fidelities have as a port of each node. */
#include "engine.h"

#include "base/must.h"
#include "net/router.h"
#include "place.h"
#include "player.h"

#include <math.h>
#include <stdlib.h>

enum { WINDOW = 8, MOST_WINDOW = 4096 }; /* powers of two, as 1 is */

/* What a send that is rerouted in the moment of its end still has to carry: nothing to speak of. */
static const double NEARLY_OVER_B = 1e-9;

/* Sends in flight with one latency arrive in the order in which they left: a queue, not a heap. */
struct delay_line {
    double latency_s;
    struct waiting {
        double due_s;
        int32_t lane;
    } * ring;
    int32_t head, n, capacity; /* capacity: a power of two */
};

/* a lane's way to the member it sends to at present */
struct way {
    const struct load *loads;
    int32_t n_loads, delay_line;
    double latency_s;
};

struct lane {
    int32_t meeting, member, number; /* number: among its member's lanes */
    int32_t way_dst, way_channel;    /* of `way`; -1 = none yet */
    int32_t next_waiting;            /* for the same counter, -1 = none */
    struct way way;
    int64_t issued;  /* sends whose latency has begun */
    int64_t started; /* sends that have begun to drain */
    int64_t past;    /* sends whose latency is over */
    bool draining, over;
    bool generated;          /* the next send stands in its slot */
    bool waiting;            /* in a counter's list */
    struct coll_send *sends; /* [window] issued but not arrived, by number modulo the window */
    int32_t flow;            /* in the fluid, while it drains; -1 = nothing to carry */
};

/* arrivals at a slot, and the lanes that wait until it has counted enough */
struct counter {
    int32_t n;
    int32_t least;       /* that some lane waits for */
    int32_t first, last; /* lanes in the order in which they came, -1 = none */
};

/* where a class of ranks stands in a group */
struct seat {
    int32_t rank_class, member;
};

/* one group's sends; kept from iteration to iteration */
struct group_sends {
    const struct place *place;
    const struct seat *seats; /* [place->n_ranks] by class */
    int32_t coll;
    int first_lane, lanes_per_member, n_members, n_slots, window;
    struct counter *counters; /* [n_members * n_slots] */
    bool *joined;             /* [n_members] and over its launch; servers are always there */
    int32_t first_port;       /* of the group; -1: channels have no limit */
    int64_t left;             /* sends of the present round that have not yet arrived */
    int lanes_left;           /* lanes not yet over */
};

struct message {
    struct group_sends *groups; /* [meetings] */
    struct lane *lanes;
    int n_lanes, cap_lanes;
    struct delay_line *lines;
    int n_lines, cap_lines;
    int32_t *resource_of; /* [topo links] -1 = unused, or never the first to fill (spare_links) */
    int32_t *first_port;  /* [plan groups + 1] see find_port */
};

static struct message *state_of(const struct player *player)
{
    return player->expansion;
}

/* ---- ways ---- */

static int find_line(struct player *player, double latency_s)
{
    struct message *state = state_of(player);
    for (int i = 0; i < state->n_lines; i++) {
        if (fabs(state->lines[i].latency_s - latency_s) <= FLUID_SAME * latency_s) return i;
    }
    if (state->n_lines == state->cap_lines) {
        int capacity = state->cap_lines ? 2 * state->cap_lines : 16;
        state->lines =
            arena_grow(player->perm, struct delay_line, state->lines, state->n_lines, capacity);
        state->cap_lines = capacity;
    }
    state->lines[state->n_lines] = (struct delay_line){.latency_s = latency_s, .capacity = 64};
    state->lines[state->n_lines].ring = arena_new(player->perm, struct waiting, 64);
    return state->n_lines++;
}

static int block_of(const struct coll_req *req, int member)
{
    if (member < req->n_ranks) return member / req->ranks_per_node;
    return (member - req->n_ranks) % (req->n_ranks / req->ranks_per_node);
}

/* The library's channels are a port of each node for what leaves it, and one of each member for what it
 * sends inside (pattern.h): the nodes' come first. Its capacity is 1, a flow's load 1 / their rate. */
static int32_t find_port(const struct player *player, const struct group_sends *group,
                         struct coll_flow flow)
{
    const struct coll_req *req = &player->plan->colls[group->coll].req;
    int block = block_of(req, flow.src);
    bool leaves = block != block_of(req, flow.dst);
    return group->first_port + (leaves ? block : req->n_ranks + flow.src);
}

/* The links with the part of the flow on each, then the sender's memory and the port of its channels. */
static int list_loads(const struct player *player, const struct lane *lane, int dst,
                      struct ways ways, struct load *loads)
{
    const struct message *state = player->expansion;
    const struct group_sends *group = &state->groups[lane->meeting];
    const struct lib_choice *row = player->plan->colls[group->coll].row;
    const struct topo *topo = player->plan->in->topo;
    int n = 0;
    for (int i = 0; i < ways.n; i++) {
        const struct link_share *share = &ways.shares[i];
        int32_t resource = state->resource_of[share->link];
        double efficiency = place_efficiency(row, topo->links[share->link].tier);
        if (resource >= 0) loads[n++] = (struct load){resource, share->frac / efficiency};
    }
    if (lane->member < group->place->n_ranks && player->plan->in->hbm_per_comm_B > 0.0) {
        int memory = player->plan->n_link_classes + group->place->ranks[lane->member];
        loads[n++] = (struct load){memory, player->plan->in->hbm_per_comm_B};
    }
    if (group->first_port >= 0) {
        const struct coll_req *req = &player->plan->colls[group->coll].req;
        bool leaves = block_of(req, lane->member) != block_of(req, dst);
        double channel_Bps = leaves ? library_leaving_Bps(row) : row->channel_cap_Bps;
        double port_Bps = channel_Bps * player->plan->in->library.n_channels;
        int32_t port = find_port(player, group, (struct coll_flow){lane->member, dst});
        if (!isinf(port_Bps)) loads[n++] = (struct load){port, 1.0 / port_Bps};
    }
    return n;
}

static enum hop_kind kind_of(const struct topo *topo, struct ways ways)
{
    enum hop_kind kind = HOP_SCALEUP;
    for (int i = 0; i < ways.n && kind != HOP_NET; i++) {
        enum hop_kind here = place_hop_kind(topo, (int[]){ways.shares[i].link}, 1);
        if (here > kind) kind = here;
    }
    return kind;
}

static void find_way(struct player *player, struct lane *lane, int dst, int channel)
{
    if (lane->way_dst == dst && lane->way_channel == channel) return;
    struct message *state = state_of(player);
    const struct group_sends *group = &state->groups[lane->meeting];
    const struct lib_choice *row = player->plan->colls[group->coll].row;
    const struct topo *topo = player->plan->in->topo;
    struct coll_flow flow = {lane->member, dst};
    const struct adaptive *const *adaptive = player->plan->colls[group->coll].adaptive;
    struct ways ways =
        place_spread(group->place, flow, channel, adaptive ? adaptive[player->epoch] : NULL);
    struct load *loads = arena_new(player->perm, struct load, ways.n + 2);
    int n_loads = list_loads(player, lane, dst, ways, loads);
    double latency_s = place_hop_s(row, kind_of(topo, ways), ways.latency_s);
    latency_s *= player->scale.latency * player->meetings[lane->meeting].times;
    lane->way = (struct way){loads, n_loads, find_line(player, latency_s), latency_s};
    lane->way_dst = dst;
    lane->way_channel = channel;
}

static void delay(struct player *player, int line_number, double due_s, int lane)
{
    struct delay_line *line = &state_of(player)->lines[line_number];
    if (line->n == line->capacity) {
        struct waiting *ring = arena_new(player->perm, struct waiting, 2 * (int64_t)line->capacity);
        for (int i = 0; i < line->n; i++) {
            ring[i] = line->ring[(line->head + i) & (line->capacity - 1)];
        }
        line->ring = ring;
        line->head = 0;
        line->capacity *= 2;
    }
    line->ring[(line->head + line->n++) & (line->capacity - 1)] = (struct waiting){due_s, lane};
}

/* ---- lanes ---- */

/* Put the lane in the list of the first counter that holds back its next send; false if none does. */
static bool wait_for_counter(struct player *player, int number, const struct coll_send *send)
{
    struct message *state = state_of(player);
    struct lane *lane = &state->lanes[number];
    const struct group_sends *group = &state->groups[lane->meeting];
    struct counter *counters = group->counters + (int64_t)lane->member * group->n_slots;
    int d = 0;
    while (d < send->n_deps && counters[send->deps[d].slot].n >= send->deps[d].count) d++;
    if (d == send->n_deps) return false;
    struct counter *counter = &counters[send->deps[d].slot];
    if (counter->first < 0 || send->deps[d].count < counter->least) {
        counter->least = send->deps[d].count;
    }
    if (counter->first < 0) {
        counter->first = number;
    } else {
        state->lanes[counter->last].next_waiting = number;
    }
    counter->last = number;
    lane->next_waiting = -1;
    lane->waiting = true;
    return true;
}

/* the slot of the lane's send of this number */
static struct coll_send *send_of(const struct group_sends *group, const struct lane *lane,
                                 int64_t number)
{
    return &lane->sends[number & (group->window - 1)];
}

static void start_flow(struct player *player, int number, double work_B)
{
    struct lane *lane = &state_of(player)->lanes[number];
    lane->flow = fluid_add(player->fluid, (struct activity_spec){.loads = lane->way.loads,
                                                                 .n_loads = lane->way.n_loads,
                                                                 .work = work_B,
                                                                 .cap = HUGE_VAL,
                                                                 .weight = 1.0,
                                                                 .tag = number});
}

static void drain_next(struct player *player, int number)
{
    struct lane *lane = &state_of(player)->lanes[number];
    if (lane->draining || lane->started >= lane->past) return;
    const struct group_sends *group = &state_of(player)->groups[lane->meeting];
    const struct coll_send *send = send_of(group, lane, lane->started++);
    lane->draining = true;
    lane->flow = -1;
    if (send->size_B <= 0.0 || lane->way.n_loads == 0) {
        delay(player, find_line(player, 0.0), player->now_s,
              ~number); /* nothing to carry: at once */
        return;
    }
    start_flow(player, number, send->size_B * player->meetings[lane->meeting].times);
}

/* The lane's next send, generated once; NULL when there is none. */
static struct coll_send *next_send(struct player *player, struct lane *lane)
{
    struct group_sends *group = &state_of(player)->groups[lane->meeting];
    const struct plan_coll *coll = &player->plan->colls[group->coll];
    struct coll_send *send = send_of(group, lane, lane->issued);
    if (lane->generated) return send;
    lane->generated = coll->algo->next(&coll->req, lane->member, lane->number, lane->issued, send);
    if (lane->generated) return send;
    lane->over = true;
    group->lanes_left--;
    return NULL;
}

/* Begin the latency of every send of the lane that may go. */
static void issue(struct player *player, int number)
{
    struct message *state = state_of(player);
    struct lane *lane = &state->lanes[number];
    struct group_sends *group = &state->groups[lane->meeting];
    if (lane->over || lane->waiting || !group->joined[lane->member]) return;
    while (lane->issued - lane->started + lane->draining < group->window) {
        const struct coll_send *send = next_send(player, lane);
        if (!send || wait_for_counter(player, number, send)) return;
        /* another way may be given only when nothing of the lane is under way on the old one */
        bool same = lane->way_dst == send->dst && lane->way_channel == send->channel;
        if (!same && lane->issued > lane->started - lane->draining) return;
        find_way(player, lane, send->dst, send->channel);
        group->left++;
        lane->issued++;
        lane->generated = false;
        delay(player, lane->way.delay_line, player->now_s + lane->way.latency_s, number);
    }
}

static void issue_member(struct player *player, const struct group_sends *group, int member)
{
    int first = group->first_lane + member * group->lanes_per_member;
    for (int l = first; l < first + group->lanes_per_member; l++) issue(player, l);
}

static void count_arrival(struct player *player, struct counter *counter)
{
    counter->n++;
    if (counter->first < 0 || counter->n < counter->least) return;
    int32_t number = counter->first;
    counter->first = -1;
    while (number >= 0) {
        struct lane *lane = &state_of(player)->lanes[number];
        int32_t next = lane->next_waiting;
        lane->waiting = false;
        issue(player, number); /* or wait on */
        number = next;
    }
}

static void finish_if_over(struct player *player, int meeting)
{
    const struct group_sends *group = &state_of(player)->groups[meeting];
    bool all_here = player->meetings[meeting].begin_s >= 0.0;
    if (all_here && group->lanes_left == 0 && group->left == 0) player_finish(player, meeting);
}

static void arrived(struct player *player, int number)
{
    struct message *state = state_of(player);
    struct lane *lane = &state->lanes[number];
    struct group_sends *group = &state->groups[lane->meeting];
    int meeting = lane->meeting;
    const struct coll_send *send = send_of(group, lane, lane->started - 1);
    struct counter *counter = &group->counters[(int64_t)send->dst * group->n_slots + send->slot];
    group->left--;
    lane->draining = false;
    drain_next(player, number);
    issue(player, number);
    count_arrival(player, counter);
    finish_if_over(player, meeting);
}

/* ---- rounds ---- */

static void open_lanes(struct player *player, int meeting, struct group_sends *group)
{
    struct message *state = state_of(player);
    int n = group->n_members * group->lanes_per_member;
    group->first_lane = state->n_lanes;
    if (state->n_lanes + n > state->cap_lanes) {
        int capacity = state->n_lanes > 0 ? 2 * (state->n_lanes + n) : n;
        state->lanes =
            arena_grow(player->perm, struct lane, state->lanes, state->n_lanes, capacity);
        state->cap_lanes = capacity;
    }
    struct coll_send *sends = arena_new(player->perm, struct coll_send, (int64_t)n * group->window);
    for (int i = 0; i < n; i++) {
        state->lanes[state->n_lanes++] = (struct lane){.meeting = meeting,
                                                       .member = i / group->lanes_per_member,
                                                       .number = i % group->lanes_per_member,
                                                       .way_dst = -1,
                                                       .sends = sends + (int64_t)i * group->window};
    }
}

static int by_class(const void *left, const void *right)
{
    const struct seat *a = left;
    const struct seat *b = right;
    return (a->rank_class > b->rank_class) - (a->rank_class < b->rank_class);
}

/* Every rank is a class of its own, so a class of the group is a rank of it. */
static const struct seat *find_seats(const struct plan *plan, const struct plan_group *class,
                                     const struct place *place, struct arena *perm)
{
    struct seat *seats = arena_new(perm, struct seat, class->n_classes);
    struct arena scratch = *perm;
    int32_t *at = arena_new(&scratch, int32_t, plan->in->job->n_ranks);
    for (int m = 0; m < place->n_ranks; m++) at[place->ranks[m]] = m;
    for (int c = 0; c < class->n_classes; c++) {
        int rank_class = class->classes[c];
        seats[c] = (struct seat){rank_class, at[plan->classes[rank_class].rep]};
    }
    qsort(seats, (size_t) class->n_classes, sizeof *seats, by_class);
    return seats;
}

static int member_of(const struct group_sends *group, int rank_class)
{
    int low = 0;
    int high = group->place->n_ranks - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (group->seats[middle].rank_class < rank_class) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    must(group->seats[low].rank_class == rank_class);
    return group->seats[low].member;
}

static double flying_on_B(struct affine hop)
{
    return hop.beta_s_per_B > 0.0 ? hop.alpha_s / hop.beta_s_per_B : 0.0;
}

/* Sends of a lane under way at once: WINDOW for each open channel that it stands for, or so many that ways
 * are full: what a library's buffers hold back on long ways is in the connections' limit. No more than
 * all there are. */
static int window_of(const struct plan_coll *coll, const struct library *library)
{
    const struct coll_req *req = &coll->req;
    if (req->rendezvous) return 1;
    double part_B = req->size_B / req->n_channels;
    double send_B = coll->algo->in_blocks ? part_B / req->n_ranks : fmin(part_B, req->chunk_B);
    double flying_B = fmax(flying_on_B(coll->hops.intra), flying_on_B(coll->hops.inter));
    double slots = (double)WINDOW * library_channels(library, coll->row, req);
    int window = WINDOW;
    while (
        window < MOST_WINDOW && window * send_B < 2 * part_B &&
        (window * send_B * req->n_channels < flying_B || (double)window * req->n_channels < slots))
        window *= 2;
    return window;
}

static void open_group(struct player *player, int meeting)
{
    struct message *state = state_of(player);
    struct group_sends *group = &state->groups[meeting];
    const struct meeting *m = &player->meetings[meeting];
    const struct plan_group *class = &player->plan->groups[m->group];
    const struct plan_coll *coll = &player->plan->colls[m->coll];
    group->coll = m->coll;
    struct place *place = place_group(player->plan->in, class->comm, class->rep,
                                      place_ordered(coll->req.kind), player->perm);
    *place = place_at(place, player->epoch);
    group->place = place;
    group->seats = find_seats(player->plan, class, group->place, player->perm);
    group->first_port = isinf(library_leaving_Bps(coll->row)) ? -1 : state->first_port[m->group];
    group->window = window_of(coll, &player->plan->in->library);
    group->n_members = coll_members(coll->algo, &coll->req);
    group->lanes_per_member = coll->algo->n_lanes(&coll->req);
    group->n_slots = coll->algo->n_slots(&coll->req);
    group->counters =
        arena_new(player->perm, struct counter, (int64_t)group->n_members * group->n_slots);
    group->joined = arena_new(player->perm, bool, group->n_members);
    open_lanes(player, meeting, group);
}

static void reset_group(struct player *player, int meeting)
{
    struct message *state = state_of(player);
    struct group_sends *group = &state->groups[meeting];
    int n = group->n_members * group->lanes_per_member;
    for (int i = group->first_lane; i < group->first_lane + n; i++) {
        struct lane *lane = &state->lanes[i];
        lane->issued = lane->started = lane->past = 0;
        lane->draining = lane->over = lane->generated = lane->waiting = false;
    }
    for (int64_t i = 0; i < (int64_t)group->n_members * group->n_slots; i++) {
        group->counters[i] = (struct counter){.first = -1};
    }
    for (int i = 0; i < group->n_members; i++) group->joined[i] = i >= group->place->n_ranks;
    group->left = 0;
    group->lanes_left = n;
}

static void sends_join(struct player *player, int meeting, int rank_class)
{
    struct message *state = state_of(player);
    struct group_sends *group = &state->groups[meeting];
    const struct meeting *m = &player->meetings[meeting];
    if (!group->place) open_group(player, meeting);
    if (m->n_joined == 1) reset_group(player, meeting);
    const struct plan_coll *coll = &player->plan->colls[m->coll];
    double launch_s =
        m->times * player->scale.latency * (coll->launch_s + coll->row->base_latency_s);
    int member = member_of(group, rank_class);
    int first_lane = group->first_lane + member * group->lanes_per_member;
    evq_push(player->queue, player->now_s + launch_s, EVENT_EXPANDER, first_lane);
    for (int s = group->place->n_ranks; m->n_joined == 1 && s < group->n_members; s++) {
        issue_member(player, group, s);
    }
}

/* A member's launch is over; its first lane names it. It may be the last, with nothing left to send
 * or to come. */
static void sends_event(struct player *player, int id)
{
    const struct lane *lane = &state_of(player)->lanes[id];
    struct group_sends *group = &state_of(player)->groups[lane->meeting];
    group->joined[lane->member] = true;
    issue_member(player, group, lane->member);
    finish_if_over(player, lane->meeting);
}

static void sends_flow_ended(struct player *player, int lane)
{
    arrived(player, lane);
}

/* All lanes go by the ways of the new epoch, and what drains goes on by them. */
static void sends_reroute(struct player *player)
{
    struct message *state = state_of(player);
    for (int m = 0; m < player->group_meeting[player->plan->n_groups]; m++) {
        struct group_sends *group = &state->groups[m];
        if (!group->place) continue;
        struct place *place = arena_new(player->perm, struct place, 1);
        *place = place_at(group->place, player->epoch);
        group->place = place;
    }
    for (int l = 0; l < state->n_lanes; l++) {
        struct lane *lane = &state->lanes[l];
        int dst = lane->way_dst;
        if (dst < 0) continue;
        lane->way_dst = -1;
        find_way(player, lane, dst, lane->way_channel);
        if (!lane->draining || lane->flow < 0) continue;
        double left_B = fluid_remove(player->fluid, lane->flow);
        start_flow(player, l, fmax(left_B, NEARLY_OVER_B));
    }
}

/* ---- the clock of the delay lines ---- */

static double sends_next_s(const struct player *player)
{
    const struct message *state = state_of(player);
    double next_s = HUGE_VAL;
    for (int i = 0; i < state->n_lines; i++) {
        const struct delay_line *line = &state->lines[i];
        if (line->n > 0) next_s = fmin(next_s, line->ring[line->head].due_s);
    }
    return next_s;
}

/* The first of a line, when it is due: the lines may move meanwhile, so it is looked up each time. */
static bool take_first_due(struct player *player, int line_number)
{
    struct message *state = state_of(player);
    struct delay_line *line = &state->lines[line_number];
    if (line->n == 0 || line->ring[line->head].due_s > player->now_s) return false;
    int number = line->ring[line->head].lane;
    line->head = (line->head + 1) & (line->capacity - 1);
    line->n--;
    player->run->n_events++;
    if (number < 0) {
        arrived(player, ~number);
    } else {
        state->lanes[number].past++;
        drain_next(player, number);
    }
    return true;
}

static void sends_take_due(struct player *player)
{
    for (int i = 0; i < state_of(player)->n_lines; i++) {
        while (take_first_due(player, i)) {
        }
    }
}

static const struct expander sends_expander = {
    .join = sends_join,
    .event = sends_event,
    .flow_ended = sends_flow_ended,
    .next_s = sends_next_s,
    .take_due = sends_take_due,
    .reroute = sends_reroute,
};

/* ---- links that need no watch ---- */

/* share of a link that a flow of rate 1 takes, by the tier of the link, for each kind of row in use */
struct shares {
    int n_rows;
    double (*of)[N_TIERS]; /* [n_rows] */
};

static struct shares list_shares(const struct plan *plan, struct arena *perm)
{
    struct shares shares = {0, arena_alloc(perm, plan->n_colls, sizeof *shares.of)};
    const struct lib_choice **rows = arena_new(perm, const struct lib_choice *, plan->n_colls);
    for (int c = 0; c < plan->n_colls; c++) {
        const struct lib_choice *row = plan->colls[c].row;
        int like = 0;
        while (like < shares.n_rows && !library_same_way(rows[like], row)) like++;
        if (like < shares.n_rows) continue;
        rows[shares.n_rows] = row;
        for (int t = 0; t < N_TIERS; t++) {
            shares.of[shares.n_rows][t] = 1.0 / place_efficiency(row, (enum tier)t);
        }
        shares.n_rows++;
    }
    return shares;
}

/* Does link b fill before link a, if ever, when the same flows cross both? */
static bool fills_first(const struct topo *topo, const struct shares *shares, int b, int a)
{
    bool later = b < a; /* equal links: the first of the two counts */
    for (int r = 0; r < shares->n_rows; r++) {
        double of_b = shares->of[r][topo->links[b].tier] / topo->links[b].capacity_Bps;
        double of_a = shares->of[r][topo->links[a].tier] / topo->links[a].capacity_Bps;
        if (of_b > of_a) return true;
        later = later && of_b >= of_a;
    }
    return later;
}

/* What goes through a vertex of two cables, and neither begins nor ends there, crosses both; of the
 * two links in one direction only the one that fills first need be watched. */
static void spare_links(const struct plan *plan, int32_t *resource_of, struct arena scratch)
{
    const struct topo *topo = plan->in->topo;
    const struct shares shares = list_shares(plan, &scratch);
    bool servers = false;
    for (int c = 0; c < plan->in->job->n_comms; c++) {
        servers = servers || plan->in->job->comms[c].n_servers > 0;
    }
    int(*out)[2] = arena_alloc(&scratch, topo->n_vertices, sizeof *out);
    int *n_out = arena_new(&scratch, int, topo->n_vertices);
    for (int l = 0; l < topo->n_links; l++) {
        int v = topo->links[l].src;
        if (n_out[v]++ < 2) out[v][n_out[v] - 1] = l;
    }
    for (int l = 0; l < topo->n_links; l++) {
        int v = topo->links[l].dst;
        enum vertex_kind kind = topo->vertices[v].kind;
        bool is_end = kind == VERTEX_GPU || (kind == VERTEX_HOST && servers);
        if (is_end || n_out[v] != 2) continue;
        int on = out[v][topo->links[out[v][0]].dst == topo->links[l].src];
        resource_of[fills_first(topo, &shares, l, on) ? on : l] = -1;
    }
}

/* ---- set-up ---- */

/* Ports of all groups, numbered from the plan's resources on. */
static int32_t *number_ports(const struct plan *plan, struct arena *perm)
{
    const struct job *job = plan->in->job;
    int32_t *first_port = arena_new(perm, int32_t, plan->n_groups + 1);
    bool *limited = arena_new(perm, bool, plan->n_groups);
    for (int c = 0; c < plan->n_colls; c++) {
        const struct plan_coll *coll = &plan->colls[c];
        limited[coll->group] |= coll->n_phases > 0 && !isinf(library_leaving_Bps(coll->row));
    }
    first_port[0] = plan->n_resources;
    for (int g = 0; g < plan->n_groups; g++) {
        int comm = plan->groups[g].comm;
        int n = 2 * job_group_size(job, comm) + job->comms[comm].n_servers;
        first_port[g + 1] = first_port[g] + (limited[g] ? n : 0);
    }
    return first_port;
}

struct run *engine_message(const struct plan *plan, struct arena *perm)
{
    must(!plan->in->fold);
    struct message *state = arena_new(perm, struct message, 1);
    state->first_port = number_ports(plan, perm);
    int n_ports = state->first_port[plan->n_groups] - plan->n_resources;
    struct player *player = player_open(plan, &scale_none, &sends_expander, n_ports, perm);
    int n_meetings = player->group_meeting[plan->n_groups];
    state->groups = arena_new(perm, struct group_sends, n_meetings);
    state->resource_of = arena_new(perm, int32_t, plan->in->topo->n_links);
    for (int l = 0; l < plan->in->topo->n_links; l++) state->resource_of[l] = -1;
    for (int r = 0; r < plan->n_link_classes; r++) state->resource_of[plan->rep_link[r]] = r;
    /* which of two links fills first is not said once for all where links change */
    if (plan->in->n_events == 0) spare_links(plan, state->resource_of, *perm);
    player->expansion = state;
    return player_run(player);
}
