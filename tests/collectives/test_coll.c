/* Claims that every row of the registry must meet, and the figures of the field. */
#include "play.h"

/* Requests of every shape for n ranks: 1, n and the middle divisor per node. */
static int divisor(int n, int which)
{
    if (which == 0) return 1;
    if (which == 1) return n;
    int m = 1;
    for (int d = 2; d < n; d++)
        if (n % d == 0 && d * d <= 2 * n) m = d;
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

static void play_all_servers_and_roots(const struct coll_algo *algo, struct coll_req req,
                                       uint64_t seed, struct arena arena)
{
    int n_servers = algo->servers ? 3 : 1, n = req.n_ranks;
    for (req.n_servers = 1; req.n_servers <= n_servers; req.n_servers++) {
        int roots[] = {req.root, algo->servers ? req.n_servers - 1 : n / 2, n - 1};
        bool rooted = algo->servers || req.kind == COLL_BROADCAST || req.kind == COLL_REDUCE;
        for (int i = 0; i < (rooted ? 3 : 1); i++) {
            req.root = roots[i];
            if (!algo->fits(&req)) continue;
            struct arena scratch = arena;
            double *sent_B = arena_new(&scratch, double, coll_members(algo, &req)), all_B = 0;
            play_numbers(algo, &req, seed, sent_B, scratch);
            for (int r = 0; r < coll_members(algo, &req); r++) all_B += sent_B[r];
            /* Somebody must send each of n - 1 ranks (for a sum: take from each) what it lacks:
             * the sum over ranks of the bound of nccl-tests, of which broadcast and reduce count S
             * for n - 1 ranks and sendrecv S for one. */
            double bound_B = n * coll_bytes_sent_B(req.kind, n, req.size_B);
            if (req.kind == COLL_BROADCAST || req.kind == COLL_REDUCE || req.kind == COLL_SENDRECV)
                bound_B *= (n - 1.0) / n;
            if (req.kind == COLL_SENDRECV) bound_B /= n == 1 ? 1 : n - 1;
            assert_true(all_B >= bound_B * (1 - 1e-9));
            if (strcmp(algo->name, "ring") == 0 && !rooted)
                for (int r = 0; r < n; r++)
                    assert_close(sent_B[r], coll_bytes_sent_B(req.kind, n, req.size_B), 1e-9);
        }
    }
}

static void every_algorithm_gives_every_rank_each_contribution_once(void **state)
{
    for (const struct coll_algo *algo = coll_algos; algo < coll_algos + n_coll_algos; algo++)
        for (int n = 1; n <= 33; n++)
            for (int which = 0; which < (n > 1 ? 3 : 1); which++)
                for (int channels = 1; channels <= 3; channels++) {
                    if (which == 2 && divisor(n, 2) == 1) continue;
                    struct coll_req req = request(algo->kind, n, divisor(n, which), channels);
                    play_all_servers_and_roots(algo, req, (uint64_t)(n * 16 + channels),
                                               *(struct arena *)*state);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_gives_every_rank_each_contribution_once),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
