#include "slack.h"

#include <math.h>

/* Bundles of fewer loads cost so little that looking at them does not pay. */
enum { FEW_LOADS = 32 };

/* Sums of shares round; a link this close to full is watched. */
static const double MARGIN = 1e-9;

/* shares of links, by resource, with a list of those above 0 */
struct shares {
    double *of;     /* [n_resources] */
    int32_t *above; /* [n] */
    int n;
};

struct slack {
    const struct plan *plan;
    double *capacity;     /* [n_resources] */
    double *most;         /* [n_resources] share that all streams together can take */
    struct shares stream; /* the most that a phase of the present one takes */
    struct shares phase;
    int32_t *seen; /* [n_colls] the stream that looked at it last, from 1 */
};

static struct shares new_shares(int n, struct arena *perm)
{
    return (struct shares){arena_new(perm, double, n), arena_new(perm, int32_t, n), 0};
}

static double *share_of(struct shares *shares, int resource)
{
    if (shares->of[resource] <= 0.0) shares->above[shares->n++] = resource;
    return &shares->of[resource];
}

/* How fast a bundle is with nothing beside it. */
static double alone_Bps(const struct slack *slack, const struct plan_bundle *bundle)
{
    struct load_list loads = plan_loads(bundle, 0);
    double rate_Bps = bundle->cap_Bps;
    for (int l = 0; l < loads.n; l++)
        rate_Bps = fmin(rate_Bps, slack->capacity[loads.loads[l].resource] / loads.loads[l].n);
    return rate_Bps;
}

static void look_at_phase(struct slack *slack, const struct plan_phase *phase)
{
    for (int b = phase->first_bundle; b < phase->first_bundle + phase->n_bundles; b++) {
        const struct plan_bundle *bundle = &slack->plan->bundles[b];
        struct load_list loads = plan_loads(bundle, 0);
        if (bundle->n_alike == 0 || loads.n == 0) continue;
        double rate_Bps = alone_Bps(slack, bundle);
        for (int l = 0; l < loads.n; l++) {
            int r = loads.loads[l].resource;
            *share_of(&slack->phase, r) += loads.loads[l].n * rate_Bps / slack->capacity[r];
        }
    }
    for (int i = 0; i < slack->phase.n; i++) {
        int r = slack->phase.above[i];
        double *most = share_of(&slack->stream, r);
        *most = fmax(*most, slack->phase.of[r]);
        slack->phase.of[r] = 0.0;
    }
    slack->phase.n = 0;
}

/* A group's collectives are counted with the first class of its members. */
static void look_at_op(struct slack *slack, int rank_class, int op, int stream)
{
    const struct plan *plan = slack->plan;
    int number = plan->classes[rank_class].coll[op];
    if (number < 0 || slack->seen[number] == stream) return;
    const struct plan_coll *coll = &plan->colls[number];
    if (plan->groups[coll->group].classes[0] != rank_class) return;
    slack->seen[number] = stream;
    for (int p = coll->first_phase; p < coll->first_phase + coll->n_phases; p++)
        look_at_phase(slack, &plan->phases[p]);
}

static void look_at_stream(struct slack *slack, int rank_class, int s, int stream)
{
    const struct program *program = plan_program(slack->plan, rank_class);
    for (int o = 0; o < program->n_ops; o++) {
        if (program->ops[o].stream == s) look_at_op(slack, rank_class, o, stream);
    }
    for (int i = 0; i < slack->stream.n; i++) {
        int r = slack->stream.above[i];
        slack->most[r] += slack->stream.of[r];
        slack->stream.of[r] = 0.0;
    }
    slack->stream.n = 0;
}

static void look_at_all(struct slack *slack)
{
    int stream = 0;
    for (int c = 0; c < slack->plan->n_classes; c++) {
        int n_streams = plan_program(slack->plan, c)->n_streams;
        for (int s = 0; s < n_streams; s++) look_at_stream(slack, c, s, ++stream);
    }
}

/* Memory is watched always: kernels take of it, too. */
static bool never_fills(const struct slack *slack, int resource)
{
    return resource < slack->plan->n_link_classes && slack->most[resource] < 1.0 - MARGIN;
}

static int count_bundles(const struct plan *plan)
{
    int n = 0;
    for (int c = 0; c < plan->n_colls; c++) {
        const struct plan_coll *coll = &plan->colls[c];
        for (int p = coll->first_phase; p < coll->first_phase + coll->n_phases; p++) {
            int end = plan->phases[p].first_bundle + plan->phases[p].n_bundles;
            n = end > n ? end : n;
        }
    }
    return n;
}

/* Every stream of a class looks through all its ops. */
static bool pays(const struct plan *plan, int n_bundles)
{
    if (plan->in->n_events > 0) return false;
    double n_loads = 0.0;
    double n_looks = 0.0;
    for (int b = 0; b < n_bundles; b++) n_loads += plan->bundles[b].n_loads;
    for (int c = 0; c < plan->n_classes; c++) {
        const struct program *program = plan_program(plan, c);
        n_looks += (double)program->n_streams * program->n_ops;
    }
    return n_loads > (double)FEW_LOADS * n_bundles && n_loads > n_looks;
}

static struct load_list drop(const struct slack *slack, struct load_list loads, struct arena *perm)
{
    struct load *kept = arena_new(perm, struct load, loads.n);
    int n = 0;
    for (int l = 0; l < loads.n; l++) {
        if (!never_fills(slack, loads.loads[l].resource)) kept[n++] = loads.loads[l];
    }
    return (struct load_list){kept, n};
}

const struct load_list *slack_loads(const struct plan *plan, const struct scale *scale,
                                    struct arena *perm)
{
    int n_bundles = count_bundles(plan);
    if (!pays(plan, n_bundles)) return NULL;
    struct slack slack = {.plan = plan,
                          .capacity = arena_new(perm, double, plan->n_resources),
                          .most = arena_new(perm, double, plan->n_resources),
                          .stream = new_shares(plan->n_resources, perm),
                          .phase = new_shares(plan->n_resources, perm),
                          .seen = arena_new(perm, int32_t, plan->n_colls)};
    for (int r = 0; r < plan->n_resources; r++)
        slack.capacity[r] = plan->capacity[r] * scale_of(scale, plan, r);
    look_at_all(&slack);
    struct load_list *lists = arena_new(perm, struct load_list, n_bundles);
    for (int b = 0; b < n_bundles; b++)
        lists[b] = drop(&slack, plan_loads(&plan->bundles[b], 0), perm);
    return lists;
}
