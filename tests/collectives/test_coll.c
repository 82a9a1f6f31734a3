/* Claims that every row of the registry must meet, and the figures of the field. */
#include "play.h"

/* A divisor of n between 1 and n, near its root; 1 when there is none. */
static int middle_divisor(int n)
{
    int m = 1;
    for (int d = 2; d < n && d * d <= 2 * n; d++)
        if (n % d == 0) m = d;
    return m;
}

static struct coll_req request(enum coll_kind kind, int n, int per_node, int channels)
{
    return (struct coll_req){.kind = kind,
                             .n_ranks = n,
                             .ranks_per_node = per_node,
                             .n_channels = channels,
                             .n_servers = 1,
                             .root = kind == COLL_ALLREDUCE ? -1 : 0,
                             .size_B = 1e6,
                             .chunk_B = 7e4};
}

static bool rooted(const struct coll_algo *algo)
{
    return algo->servers || algo->kind == COLL_BROADCAST || algo->kind == COLL_REDUCE;
}

/* What all members together must send: to each of n - 1 ranks (for a sum: from each) what it lacks.
 * That is nccl-tests' bound per rank times n, except that broadcast and reduce count S for the n - 1
 * ranks that get or give it, and sendrecv of two for one. */
static double all_must_send_B(const struct coll_req *req)
{
    int n = req->n_ranks;
    double one_B = coll_bytes_sent_B(req->kind, n, req->size_B);
    if (req->kind == COLL_SENDRECV) return n > 2 ? n * one_B : one_B;
    return one_B * (req->kind == COLL_BROADCAST || req->kind == COLL_REDUCE ? n - 1 : n);
}

static void play_once(const struct coll_algo *algo, const struct coll_req *req, uint64_t seed,
                      struct arena scratch)
{
    if (!algo->fits(req)) return;
    int n = req->n_ranks, members = coll_members(algo, req);
    double *sent_B = arena_new(&scratch, double, members), all_B = 0;
    play_numbers(algo, req, seed, sent_B, scratch);
    for (int r = 0; r < members; r++) all_B += sent_B[r];
    assert_true(all_B >= all_must_send_B(req) * (1 - 1e-9));
    bool flat_ring = strcmp(algo->name, "ring") == 0 && !rooted(algo);
    for (int r = 0; flat_ring && r < n; r++)
        assert_close(sent_B[r], coll_bytes_sent_B(req->kind, n, req->size_B), 1e-9);
}

static void play_servers_and_roots(const struct coll_algo *algo, struct coll_req req, uint64_t seed,
                                   struct arena scratch)
{
    int n_servers = algo->servers ? 3 : 1;
    for (req.n_servers = 1; req.n_servers <= n_servers; req.n_servers++) {
        int last = (algo->servers ? req.n_servers : req.n_ranks) - 1;
        int roots[] = {algo->servers ? -1 : 0, last / 2, last};
        for (int i = 0; i < 3 && rooted(algo); i++) {
            req.root = roots[i];
            play_once(algo, &req, seed, scratch);
        }
        if (!rooted(algo)) play_once(algo, &req, seed, scratch);
    }
}

static void play_channels(const struct coll_algo *algo, int n, int per_node, struct arena scratch)
{
    for (int channels = 1; channels <= 3; channels++) {
        uint64_t seed = 16 * (uint64_t)n + (uint64_t)channels;
        play_servers_and_roots(algo, request(algo->kind, n, per_node, channels), seed, scratch);
    }
}

static void every_algorithm_gives_every_rank_each_contribution_once(void **state)
{
    struct arena *arena = *state;
    for (const struct coll_algo *algo = coll_algos; algo < coll_algos + n_coll_algos; algo++)
        for (int n = 1; n <= 33; n++) {
            play_channels(algo, n, 1, *arena);
            if (n > 1) play_channels(algo, n, n, *arena);
            if (middle_divisor(n) > 1) play_channels(algo, n, middle_divisor(n), *arena);
        }
}

/* Every request of up to 12 ranks, with each divisor per node, 1 to 3 channels and servers. */
struct sweep {
    struct coll_req req;
    int variant; /* rendezvous, servers, channels */
};

static bool next_shape(struct sweep *sweep, const struct coll_algo *algo)
{
    struct coll_req *req = &sweep->req;
    if (++sweep->variant == (algo->servers ? 18 : 6)) {
        sweep->variant = 0;
        do {
            if (++req->ranks_per_node > req->n_ranks) {
                req->n_ranks++;
                req->ranks_per_node = 1;
            }
        } while (req->n_ranks % req->ranks_per_node != 0);
    }
    req->rendezvous = sweep->variant % 2;
    req->n_channels = 1 + sweep->variant / 2 % 3;
    req->n_servers = 1 + sweep->variant / 6;
    return req->n_ranks <= 12;
}

static struct sweep sweep_of(const struct coll_algo *algo)
{
    return (struct sweep){.req = request(algo->kind, 1, 1, 1), .variant = -1};
}

static const struct coll_hops uniform = {{2e-6, 1e-9}, {2e-6, 1e-9}};

static void closed_form_is_what_the_phases_give_on_a_uniform_network(void **state)
{
    for (const struct coll_algo *algo = coll_algos; algo < coll_algos + n_coll_algos; algo++) {
        struct sweep sweep = sweep_of(algo);
        while (next_shape(&sweep, algo)) {
            struct arena scratch = *(struct arena *)*state;
            if (!algo->fits(&sweep.req)) continue;
            assert_close(algo->cost_s(&sweep.req, uniform),
                         play_phases_s(algo, &sweep.req, uniform, scratch), 1e-9);
        }
    }
}

/* Without latencies, inside of nodes 10 times slower and faster than between them. Rings and chains
 * bound the load inside, since a member that is a channel's exit sends less there. */
static void closed_form_finds_the_busiest_port_of_either_tier(void **state)
{
    const struct coll_hops slow_inside = {{0, 1e-8}, {0, 1e-9}},
                           fast_inside = {{0, 1e-10}, {0, 1e-9}};
    for (const struct coll_algo *algo = coll_algos; algo < coll_algos + n_coll_algos; algo++) {
        struct sweep sweep = sweep_of(algo);
        bool bounds = strstr(algo->name, "ring") != NULL;
        while (next_shape(&sweep, algo)) {
            if (!algo->fits(&sweep.req)) continue;
            struct arena *arena = *state;
            double fast_s = play_phases_s(algo, &sweep.req, fast_inside, *arena);
            double slow_s = play_phases_s(algo, &sweep.req, slow_inside, *arena);
            double cost_s = algo->cost_s(&sweep.req, slow_inside);
            assert_close(algo->cost_s(&sweep.req, fast_inside), fast_s, 1e-9);
            assert_close(cost_s, bounds ? fmax(cost_s, slow_s) : slow_s, 1e-9);
            assert_true(cost_s <=
                        2 * slow_s * (1 + 1e-9)); /* half of two members' channels leave */
        }
    }
}

static bool power_of_two(int n)
{
    return (n & (n - 1)) == 0;
}

/* All ranks begin and end each step together, so nothing can get ahead: the sends must take the
 * closed form's time. Rings without rendezvous and with turned channels do not keep step, nor do ranks
 * over a power of two (their partners are sent to by two at once), nor servers that are not alike. */
static bool synchronous(const struct coll_algo *algo, const struct coll_req *req)
{
    int n = req->n_ranks, m = req->ranks_per_node;
    bool two_level = req->kind != COLL_ALLREDUCE && req->kind != COLL_ALLTOALL &&
                     strcmp(algo->name, "hierarchical") == 0;
    if (strcmp(algo->name, "tree") == 0 || strncmp(algo->name, "nvls-", 5) == 0 ||
        strncmp(algo->name, "collnet-", 8) == 0 || two_level || req->kind == COLL_BROADCAST ||
        req->kind == COLL_REDUCE || strcmp(algo->name, "reduce-broadcast") == 0)
        return false;
    if (strstr(algo->name, "ring")) return req->rendezvous || m == 1 || m == n;
    if (strcmp(algo->name, "recursive-doubling") == 0 ||
        strcmp(algo->name, "halving-doubling") == 0)
        return power_of_two(n);
    if (strcmp(algo->name, "bruck") == 0 || strcmp(algo->name, "pat") == 0)
        return m == 1 || m == n; /* some cross, some do not: these get ahead */
    if (algo->servers) return n / m % req->n_servers == 0;
    return true;
}

static void synchronous_sends_take_the_closed_form(void **state)
{
    for (const struct coll_algo *algo = coll_algos; algo < coll_algos + n_coll_algos; algo++) {
        struct sweep sweep = sweep_of(algo);
        while (next_shape(&sweep, algo)) {
            struct arena scratch = *(struct arena *)*state;
            if (!algo->fits(&sweep.req) || !synchronous(algo, &sweep.req)) continue;
            assert_close(play_sends_s(algo, &sweep.req, uniform, scratch),
                         algo->cost_s(&sweep.req, uniform), 1e-9);
        }
    }
}

/* |closed form - sends| <= depth (alpha + chunk / B), chunk being one of every stream together. */
static void assert_pipeline_close(const struct coll_algo *algo, const struct coll_req *req,
                                  struct arena scratch)
{
    struct coll_req free = *req;
    struct coll_phase phase;
    free.rendezvous = false; /* its hops are those of one chunk */
    if (!algo->fits(req) || !algo->phase(&free, 0, &phase)) return;
    double depth = phase.hops_intra + phase.hops_inter, stream_B = 0;
    struct coll_bundle bundle;
    for (int b = 0; b < phase.n_bundles; b++) {
        algo->bundle(req, 0, b, &bundle);
        stream_B = fmax(stream_B, bundle.bytes);
    }
    double chunks = phase.steps + 1 - depth;
    double chunk_B = stream_B / chunks * phase.n_bundles;
    double got_s = play_sends_s(algo, req, uniform, scratch);
    assert_true(fabs(got_s - algo->cost_s(req, uniform)) <=
                depth * affine_at(uniform.inter, chunk_B) * (1 + 1e-9));
}

static void pipelined_sends_differ_by_less_than_a_chunk_per_hop(void **state)
{
    const struct coll_algo *pipelined[] = {
        coll_find(COLL_ALLREDUCE, "tree"),           coll_find(COLL_ALLREDUCE, "nvls-tree"),
        coll_find(COLL_ALLREDUCE, "collnet-direct"), coll_find(COLL_ALLREDUCE, "collnet-chain"),
        coll_find(COLL_BROADCAST, "ring"),           coll_find(COLL_REDUCE, "ring")};
    const double chunks_B[] = {1e6, 7e4, 1.5e4};
    for (int a = 0; a < (int)(sizeof pipelined / sizeof pipelined[0]); a++) {
        struct sweep sweep = sweep_of(pipelined[a]);
        while (next_shape(&sweep, pipelined[a])) {
            for (int c = 0; c < (sweep.req.n_ranks <= 8 ? 3 : 2); c++) {
                sweep.req.chunk_B = chunks_B[c];
                assert_pipeline_close(pipelined[a], &sweep.req, *(struct arena *)*state);
            }
        }
    }
}

/* Tori of up to four axes, cubes and others, with one rank and two on a node. */
static const int tori[][COLL_MAX_AXES] = {{4, 4},    {3, 2},    {2, 3, 1, 2},
                                          {2, 2, 2}, {3, 2, 4}, {2, 2, 2, 2}};
enum { N_TORI = sizeof tori / sizeof tori[0] };

static bool is_cube(const int *axes)
{
    for (int a = 1; a < COLL_MAX_AXES && axes[a] > 0; a++)
        if (axes[a] != axes[0]) return false;
    return true;
}

static struct coll_req torus_request(enum coll_kind kind, const int *axes, int per_node,
                                     int channels)
{
    struct coll_req req = request(kind, per_node, per_node, channels);
    for (int a = 0; a < COLL_MAX_AXES && axes[a] > 0; a++) req.n_ranks *= req.axes[a] = axes[a];
    return req;
}

static void check_torus(const struct coll_algo *algo, struct coll_req req, struct arena scratch)
{
    double *sent_B = arena_new(&scratch, double, req.n_ranks);
    double closed_s = algo->cost_s(&req, uniform);
    play_numbers(algo, &req, 7, sent_B, scratch);
    for (int r = 0; r < req.n_ranks; r++)
        assert_close(sent_B[r], coll_bytes_sent_B(req.kind, req.n_ranks, req.size_B), 1e-9);
    assert_close(closed_s, play_phases_s(algo, &req, uniform, scratch), 1e-9);
    double sends_s = play_sends_s(algo, &req, uniform, scratch);
    if (is_cube(req.axes) || req.n_channels == 1)
        assert_close(sends_s, closed_s, 1e-9);
    else /* parts that have come to a short axis go on while others do not */
        assert_true(sends_s <= closed_s * (1 + 1e-9) && sends_s > closed_s / 2);
}

static void rings_along_the_axes_of_a_torus_sum_right_and_take_the_closed_form(void **state)
{
    const enum coll_kind kinds[] = {COLL_ALLREDUCE, COLL_REDUCE_SCATTER, COLL_ALLGATHER};
    for (int t = 0; t < N_TORI; t++)
        for (int k = 0; k < 3; k++)
            for (int per_node = 1; per_node <= 2; per_node++) {
                for (int channels = 1; channels <= 6; channels += per_node == 1 ? 5 : 1) {
                    struct coll_req req = torus_request(kinds[k], tori[t], per_node, channels);
                    if (req.n_ranks <= 33 && (per_node == 1 || is_cube(req.axes)))
                        check_torus(coll_find(kinds[k], "torus"), req, *(struct arena *)*state);
                }
            }
}

/* 4 x 4 x 4 chips: 18 steps instead of 126, and no byte more: Barnett et al., IPPS 1993. */
static void a_torus_of_64_takes_18_steps_not_126(void **state)
{
    (void)state;
    struct coll_req req = torus_request(COLL_ALLREDUCE, (const int[COLL_MAX_AXES]){4, 4, 4}, 1, 1);
    double bytes_s = 2 * 63.0 / 64 * 1e6 * uniform.inter.beta_s_per_B;
    assert_close(coll_find(COLL_ALLREDUCE, "torus")->cost_s(&req, uniform),
                 18 * uniform.inter.alpha_s + bytes_s, 1e-12);
    assert_close(coll_find(COLL_ALLREDUCE, "ring")->cost_s(&req, uniform),
                 126 * uniform.inter.alpha_s + bytes_s, 1e-12);
}

/* n = 16, blocks of 1/16 of S. A buffer of S holds all: 4 steps of 1, 2, 4, 8 blocks. One of two blocks:
 * 1, 2, 2 + 2, four of 2, so 8 steps; one of half a block: 15 of one. Of two channels each has a buffer of
 * its own for its half of every block, so buffers of half the size do. */
static void pat_takes_more_steps_where_a_buffer_holds_less(void **state)
{
    (void)state;
    const double buffers[] = {1, 2.0 / 16, 0.5 / 16};
    const int steps[] = {4, 8, 15};
    for (int i = 0; i < 6; i++) {
        struct coll_req req = request(COLL_ALLGATHER, 16, 1, 1 + i / 3);
        req.chunk_B = buffers[i % 3] * req.size_B / req.n_channels;
        double want_s = steps[i % 3] * uniform.inter.alpha_s +
                        15.0 / 16 * req.size_B * uniform.inter.beta_s_per_B;
        assert_close(coll_find(COLL_ALLGATHER, "pat")->cost_s(&req, uniform), want_s, 1e-12);
        req.kind = COLL_REDUCE_SCATTER;
        assert_close(coll_find(req.kind, "pat")->cost_s(&req, uniform), want_s, 1e-12);
    }
}

/* What all members send, counted send by send. */
static double all_sent_B(const struct coll_algo *algo, const struct coll_req *req)
{
    struct coll_send send;
    double all_B = 0;
    for (int member = 0; member < coll_members(algo, req); member++)
        for (int lane = 0; lane < algo->n_lanes(req); lane++)
            for (int64_t i = 0; algo->next(req, member, lane, i, &send); i++) {
                assert_true(send.size_B > 0 && isfinite(send.size_B));
                assert_true(send.slot >= 0 && send.slot < algo->n_slots(req));
                all_B += send.size_B;
            }
    return all_B;
}

/* From a byte, of which most ranks have a part, to 64 GB in chunks of 4 MiB; odd numbers of ranks and channels. */
static void one_byte_and_64_GB_move_as_any_size(void **state)
{
    (void)state;
    const double sizes_B[] = {1, 3, 64e9};
    const int ranks[][2] = {{2, 1}, {3, 1}, {5, 5}, {9, 3}, {16, 4}};
    for (const struct coll_algo *algo = coll_algos; algo < coll_algos + n_coll_algos; algo++)
        for (int r = 0; r < 5; r++) {
            double per_B = -1; /* bytes sent for each byte of the buffer: the same at all sizes */
            for (int s = 0; s < 3; s++) {
                struct coll_req req = request(algo->kind, ranks[r][0], ranks[r][1], 3);
                req.size_B = sizes_B[s];
                req.chunk_B = 4194304;
                if (!algo->fits(&req)) continue;
                double cost_s = algo->cost_s(&req, uniform);
                assert_true(cost_s >= uniform.inter.alpha_s && isfinite(cost_s));
                double sent_B = all_sent_B(algo, &req) / req.size_B;
                if (per_B >= 0) assert_close(sent_B, per_B, 1e-9);
                per_B = sent_B;
            }
        }
}

static void one_rank_alone_moves_nothing(void **state)
{
    (void)state;
    for (const struct coll_algo *algo = coll_algos; algo < coll_algos + n_coll_algos; algo++) {
        struct coll_req req = request(algo->kind, 1, 1, 2);
        struct coll_phase phase;
        struct coll_send send;
        assert_true(algo->fits(&req));
        assert_close(algo->cost_s(&req, uniform), 0, 0);
        assert_false(algo->phase(&req, 0, &phase));
        for (int lane = 0; lane < algo->n_lanes(&req); lane++)
            for (int member = 0; member < coll_members(algo, &req); member++)
                assert_false(algo->next(&req, member, lane, 0, &send));
    }
}

static double cost(const char *name, struct coll_req req)
{
    return coll_find(req.kind, name)->cost_s(&req, uniform);
}

/* Hockney's alpha-beta forms, one rank per node: Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005;
 * n = 8, alpha = 2 us, S beta = 1 ms. */
static void textbook_forms_hold_for_eight_ranks(void **state)
{
    (void)state;
    struct coll_req req = request(COLL_ALLREDUCE, 8, 1, 1);
    double alpha = 2e-6, s = 1e-3;
    assert_close(cost("ring", req), 14 * alpha + 14.0 / 8 * s, 1e-12);
    req.chunk_B = 5e4; /* blocks of 125 kB: 3 segments, 21 steps and 7 */
    assert_close(cost("segmented-ring", req), 28 * alpha + 14.0 / 8 * s, 1e-12);
    req.chunk_B = 1e-3; /* 1.25e8 segments would be 8.75e8 steps: 2^28 / 8 are taken */
    assert_close(cost("segmented-ring", req), (7 * exp2(25) + 7) * alpha + 14.0 / 8 * s, 1e-12);
    assert_close(cost("recursive-doubling", req), 3 * (alpha + s), 1e-12);
    assert_close(cost("halving-doubling", req), 6 * alpha + 14.0 / 8 * s, 1e-12);
    assert_close(cost("direct", req), 2 * alpha + 14.0 / 8 * s, 1e-12);
    assert_close(cost("hierarchical", req), 14 * alpha + 14.0 / 8 * s, 1e-12);
    assert_close(cost("reduce-broadcast", req), 6 * (alpha + s), 1e-12);
    /* One server, on the first node: seven others push to it and pull from it. */
    assert_close(cost("parameter-server", req), 2 * (alpha + 7 * s), 1e-12);
    req.n_servers = 8; /* a share each: what all-to-all would move, twice */
    assert_close(cost("parameter-server", req), 2 * (alpha + 7.0 / 8 * s), 1e-12);
    req = request(COLL_ALLGATHER, 6, 1, 1); /* 3 steps of 1, 2, 2 and of 1, 1, 3 blocks */
    assert_close(cost("bruck", req), 3 * alpha + 5.0 / 6 * s, 1e-12);
    req.chunk_B = req.size_B;
    assert_close(cost("pat", req), 3 * alpha + 5.0 / 6 * s, 1e-12);
    req.kind = COLL_REDUCE_SCATTER;
    assert_close(cost("pat", req), 3 * alpha + 5.0 / 6 * s, 1e-12);
    req.kind = COLL_ALLTOALL; /* of 1 .. 5, bit 0: 1 3 5, bit 1: 2 3, bit 2: 4 5 */
    assert_close(cost("bruck", req), 3 * alpha + 7.0 / 6 * s, 1e-12);
    req.ranks_per_node = 2; /* half to the mate, then two thirds of two buffers out of the node */
    assert_close(cost("hierarchical", req), 2 * alpha + (1.0 / 2 + 4.0 / 3) * s, 1e-12);
    req = request(COLL_ALLREDUCE, 9, 1, 1); /* one surplus rank: two more messages of S */
    assert_close(cost("recursive-doubling", req), 5 * (alpha + s), 1e-12);
    assert_close(cost("halving-doubling", req), 8 * alpha + (2 + 14.0 / 8) * s, 1e-12);
    req = request(COLL_BROADCAST, 8, 1, 1);
    req.chunk_B = 1e5; /* k = 10: 7 alpha, 6 + 10 chunks */
    assert_close(cost("ring", req), 7 * alpha + 1.6 * s, 1e-12);
    assert_close(cost("binomial", req), 3 * (alpha + s), 1e-12);
    req.rendezvous = true; /* 16 times alpha + chunk */
    assert_close(cost("ring", req), 16 * (alpha + s / 10), 1e-12);
}

/* 4 nodes of 4, hops of 1 us inside and 10 us outside, 32 B: bytes take nothing to speak of. A segment (15 hops of 16
 * sends, 4 leave a node: 15 * 4 / 16 = 3) waits for the hops it makes, unless each step waits for the slowest. */
static void segments_wait_for_the_hops_they_make(void **state)
{
    (void)state;
    const struct coll_hops hops = {{1e-6, 1e-12}, {1e-5, 1e-12}};
    struct coll_req req = request(COLL_ALLREDUCE, 16, 4, 1);
    const struct coll_algo *segmented = coll_find(COLL_ALLREDUCE, "segmented-ring");
    req.size_B = 32;
    req.chunk_B = 2;
    assert_close(segmented->cost_s(&req, hops), 2 * (3 * 1e-5 + 12 * 1e-6), 1e-5);
    req.rendezvous = true;
    assert_close(segmented->cost_s(&req, hops), 30 * 1e-5, 1e-5);
}

/* 4 nodes of 2, S beta = 1 ms, chunks small beside S; each T is latencies and bytes, plus what fills:
 * nvls-tree: 2 + 4 hops, the busiest node sends 2 S; one more chunk of the 4 streams (k = 250 chunks each)
 * goes up or down the tree, and 4 streams of 2 members pass a chunk in and out of the node.
 * collnet-direct: 2 + 2 hops, 2 * 3/4 S; 2 streams (k = 500) pass a chunk in and out. */
static void sums_by_owners_take_what_their_busiest_node_sends(void **state)
{
    (void)state;
    struct coll_req req = request(COLL_ALLREDUCE, 8, 2, 1);
    double alpha = 2e-6, s = 1e-3;
    req.chunk_B = 1000;
    assert_close(cost("nvls-tree", req), 6 * alpha + 2 * s * (1 + 1.0 / 250) + 2 * 2 * 1e-6, 1e-12);
    assert_close(cost("collnet-direct", req), 4 * alpha + 1.5 * s + 2 * 1e-6, 1e-12);
    assert_close(cost("collnet-chain", req), 4 * alpha + 1.5 * s + 2 * 1e-6, 1e-12);
}

/* Ring all-reduce over a star of 500 ns, 50 GB/s cables (two per message), chunk = floor(S / N):
 * seconds simulated with SimGrid 3.32 S4U, network/model:CM02 without cross-traffic and TCP window. */
static void ring_takes_what_simgrid_gives_on_a_star(void **state)
{
    (void)state;
    static const struct {
        int n;
        double size_B, ms;
    } golden[] = {{8, 1e6, 0.049},       {8, 1e8, 3.514},       {8, 1e9, 35.014},
                  {64, 1e6, 0.165375},   {64, 1e8, 4.0635},     {64, 1e9, 39.501},
                  {256, 1e6, 0.549841},  {256, 1e8, 4.494375},  {256, 1e9, 40.35375},
                  {1024, 1e6, 2.085938}, {1024, 1e8, 6.042084}, {1024, 1e9, 42.006917}};
    const struct coll_hops star = {{1e-6, 1 / 50e9}, {1e-6, 1 / 50e9}};
    for (int i = 0; i < (int)(sizeof golden / sizeof golden[0]); i++) {
        struct coll_req req = request(COLL_ALLREDUCE, golden[i].n, 1, 1);
        req.size_B = golden[i].n * floor(golden[i].size_B / golden[i].n);
        double got_ms = 1e3 * coll_find(COLL_ALLREDUCE, "ring")->cost_s(&req, star);
        assert_true(fabs(got_ms - golden[i].ms) <= 0.5e-6 + 1e-9 * got_ms); /* printed digits */
    }
}

/* 200 M fp32 parameters on 8 ranks: 0.8 GB of gradient, 2 * 7 / 8 * 0.8 = 1.4 GB sent by each. */
static void ring_of_eight_sends_1400_MB_for_800(void **state)
{
    struct coll_req req = request(COLL_ALLREDUCE, 8, 8, 2);
    req.size_B = 200e6 * 4;
    struct arena scratch = *(struct arena *)*state;
    double *sent_B = arena_new(&scratch, double, 8);
    play_numbers(coll_find(COLL_ALLREDUCE, "ring"), &req, 1, sent_B, scratch);
    for (int r = 0; r < 8; r++) assert_close(sent_B[r], 1.4e9, 1e-12);
    assert_close(coll_bytes_sent_B(COLL_ALLREDUCE, 8, 0.8e9), 1.4e9, 1e-12);
}

static void busbw_of_a_flat_ring_stays_below_its_slowest_link(void **state)
{
    (void)state;
    const struct coll_hops hops = {{1e-6, 1 / 300e9}, {5e-6, 1 / 25e9}};
    for (int n = 16; n <= 4096; n *= 2)
        for (int digits = 3; digits < 12; digits++) {
            struct coll_req req = request(COLL_ALLREDUCE, n, 8, 4);
            req.size_B = pow(10, digits);
            double time_s = coll_find(COLL_ALLREDUCE, "ring")->cost_s(&req, hops);
            assert_true(req.size_B / time_s * coll_busbw_factor(COLL_ALLREDUCE, n) < 25e9);
        }
}

/* nccl-tests, doc/PERFORMANCE.md. */
static void busbw_factors_are_those_of_nccl_tests(void **state)
{
    (void)state;
    assert_close(coll_busbw_factor(COLL_ALLREDUCE, 4), 1.5, 1e-15);
    assert_close(coll_busbw_factor(COLL_REDUCE_SCATTER, 4), 0.75, 1e-15);
    assert_close(coll_busbw_factor(COLL_ALLGATHER, 4), 0.75, 1e-15);
    assert_close(coll_busbw_factor(COLL_ALLTOALL, 4), 0.75, 1e-15);
    assert_close(coll_busbw_factor(COLL_BROADCAST, 4), 1, 1e-15);
    assert_close(coll_busbw_factor(COLL_REDUCE, 4), 1, 1e-15);
    assert_close(coll_bytes_sent_B(COLL_BROADCAST, 1, 5), 0, 0);
}

static void rows_are_found_by_kind_and_name_and_named_once(void **state)
{
    (void)state;
    for (int i = 0; i < n_coll_algos; i++) {
        assert_ptr_equal(coll_find(coll_algos[i].kind, coll_algos[i].name), &coll_algos[i]);
        assert_non_null(coll_algos[i].source);
    }
    for (int kind = 0; kind < N_COLL_KINDS; kind++) assert_non_null(coll_kind_names[kind]);
    assert_null(coll_find(COLL_ALLTOALL, "ring"));
    assert_null(coll_find(COLL_ALLREDUCE, "rings"));
}

static void only_what_can_run_fits(void **state)
{
    (void)state;
    struct coll_req req = request(COLL_REDUCE_SCATTER, 6, 1, 1);
    assert_false(coll_find(COLL_REDUCE_SCATTER, "recursive-halving")->fits(&req));
    req = request(COLL_ALLREDUCE, 6, 1, 1);
    assert_true(coll_find(COLL_ALLREDUCE, "halving-doubling")->fits(&req));
    req.n_servers = 0;
    assert_false(coll_find(COLL_ALLREDUCE, "parameter-server")->fits(&req));
    req.n_servers = req.root = 2;
    assert_false(coll_find(COLL_ALLREDUCE, "parameter-server")->fits(&req));
    req = request(COLL_SENDRECV, 3, 1, 1);
    assert_false(coll_find(COLL_SENDRECV, "direct")->fits(&req));
    req = request(COLL_BROADCAST, 3, 1, 1);
    req.root = 3;
    assert_false(coll_find(COLL_BROADCAST, "binomial")->fits(&req));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_gives_every_rank_each_contribution_once),
        cmocka_unit_test(closed_form_is_what_the_phases_give_on_a_uniform_network),
        cmocka_unit_test(closed_form_finds_the_busiest_port_of_either_tier),
        cmocka_unit_test(synchronous_sends_take_the_closed_form),
        cmocka_unit_test(pipelined_sends_differ_by_less_than_a_chunk_per_hop),
        cmocka_unit_test(rings_along_the_axes_of_a_torus_sum_right_and_take_the_closed_form),
        cmocka_unit_test(a_torus_of_64_takes_18_steps_not_126),
        cmocka_unit_test(pat_takes_more_steps_where_a_buffer_holds_less),
        cmocka_unit_test(one_byte_and_64_GB_move_as_any_size),
        cmocka_unit_test(one_rank_alone_moves_nothing),
        cmocka_unit_test(textbook_forms_hold_for_eight_ranks),
        cmocka_unit_test(segments_wait_for_the_hops_they_make),
        cmocka_unit_test(sums_by_owners_take_what_their_busiest_node_sends),
        cmocka_unit_test(ring_takes_what_simgrid_gives_on_a_star),
        cmocka_unit_test(ring_of_eight_sends_1400_MB_for_800),
        cmocka_unit_test(busbw_of_a_flat_ring_stays_below_its_slowest_link),
        cmocka_unit_test(busbw_factors_are_those_of_nccl_tests),
        cmocka_unit_test(rows_are_found_by_kind_and_name_and_named_once),
        cmocka_unit_test(only_what_can_run_fits),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
