#include "plan.h"

#include "base/must.h"
#include "fold.h"
#include "net/adaptive.h"
#include "net/router.h"
#include "workload/divide.h"
#include "workload/measured.h"

#include <math.h>
#include <string.h>

/* Beyond this many classes folding has not helped: runs are as slow as without it. */
enum { MANY_CLASSES = 4096 };

/* loads of one pattern under one row of the library on one class of groups */
struct ready {
    int laid;
    const struct lib_choice *row;
    const struct plan_bundle *bundles; /* [n_bundles] */
    int next;                          /* the class's next, -1 = none */
};

/* groups by class, for sums over all of a class */
struct herd {
    const int32_t *class_of; /* [groups] -1: not used */
    int32_t *members;        /* by class */
    int32_t *first_member;   /* [n_classes + 1] into members */
    int *first_ready;        /* [n_classes] */
};

/* what a class of groups loads, and how */
struct loading {
    const struct herd *herd;
    int class;
    const struct choice *choice;
    const struct laid *laid;
    int first_group; /* of the communicator */
};

struct planner {
    struct plan *plan;
    const struct inputs *in;
    struct layout *layout;
    const struct fold *fold;
    struct arena *perm;
    struct arena *scratch;
    struct herd own;   /* groups as they are folded */
    struct herd alike; /* groups as they would be folded: an estimate's contention is among those
                              that do the same at one time, however many of them are played */
    double *sum;       /* [n_resources] zero between two uses */
    int32_t *touched;
    double *own_s; /* [links and ranks] likewise, see own_drain_s */
    int32_t *own_touched;
    struct ready *ready;
    int n_ready, cap_ready;
    const struct adaptive ***adaptive; /* [laid] NULL = not yet kept */
    int *coll_of;                      /* [n_groups * n_uses] -1 = not yet made */
    int cap_colls, n_phases, cap_phases, n_bundles, cap_bundles;
};

/* ---- resources, classes, groups ---- */

static void make_resources(struct planner *planner)
{
    struct plan *plan = planner->plan;
    const struct fold *fold = planner->fold;
    const struct topo *topo = planner->in->topo;
    plan->n_link_classes = fold->n_link_classes;
    plan->n_resources = fold->n_link_classes + fold->n_rank_classes;
    plan->capacity = arena_new(planner->perm, double, plan->n_resources);
    plan->rep_link = arena_new(planner->perm, int, plan->n_resources);
    plan->n_links = arena_new(planner->perm, int, plan->n_resources);
    for (int l = 0; l < topo->n_links; l++) {
        int c = fold->link_class[l];
        if (c < 0) continue;
        if (plan->n_links[c] == 0) plan->rep_link[c] = l;
        plan->n_links[c] += router_bundled(topo, l);
        plan->capacity[c] = topo->links[l].capacity_Bps;
    }
    plan->event_resource = arena_new(planner->perm, int, planner->in->n_events);
    for (int e = 0; e < planner->in->n_events; e++)
        plan->event_resource[e] = fold->link_class[planner->in->events[e].link];
    double hbm_Bps = planner->in->gpu.hbm_Bps * planner->in->gpu.hbm_frac;
    must(hbm_Bps > 0.0 || planner->in->hbm_per_comm_B <= 0.0);
    for (int r = plan->n_link_classes; r < plan->n_resources; r++) {
        plan->rep_link[r] = -1;
        plan->capacity[r] = hbm_Bps > 0.0 ? hbm_Bps : 1.0; /* not known: nothing loads it */
    }
}

static void make_classes(struct planner *planner)
{
    struct plan *plan = planner->plan;
    const struct job *job = planner->in->job;
    plan->n_classes = planner->fold->n_rank_classes;
    plan->classes = arena_new(planner->perm, struct plan_class, plan->n_classes);
    for (int r = 0; r < job->n_ranks; r++) {
        struct plan_class *class = &plan->classes[planner->fold->rank_class[r]];
        if (class->n_ranks++ > 0) continue;
        class->rep = r;
        class->program = job_role(job, r);
        class->slowdown = fold_slowdown(planner->in, r);
    }
}

static void collect_member_classes(struct planner *planner, struct plan_group *group)
{
    const struct job *job = planner->in->job;
    struct arena scratch = *planner->scratch;
    bool *seen = arena_new(&scratch, bool, planner->plan->n_classes);
    int size = job_group_size(job, group->comm);
    int *classes = arena_new(&scratch, int, size);
    for (int i = 0; i < size; i++) {
        int c = planner->fold->rank_class[job_member(job, group->comm, group->rep, i)];
        if (!seen[c]) classes[group->n_classes++] = c;
        seen[c] = true;
    }
    int *kept = arena_new(planner->perm, int, group->n_classes);
    memcpy(kept, classes, (size_t)group->n_classes * sizeof *kept);
    group->classes = kept;
}

static void make_groups(struct planner *planner)
{
    struct plan *plan = planner->plan;
    const struct layout *layout = planner->layout;
    const int32_t *class_of = planner->fold->group_class;
    plan->n_groups = planner->fold->n_group_classes;
    plan->groups = arena_new(planner->perm, struct plan_group, plan->n_groups);
    int comm = 0;
    for (int g = 0; g < layout->n_groups; g++) {
        while (g >= layout->first_group[comm + 1]) comm++;
        if (class_of[g] < 0) continue;
        struct plan_group *group = &plan->groups[class_of[g]];
        if (group->n_groups++ > 0) continue;
        group->comm = comm;
        group->rep = g - layout->first_group[comm];
        collect_member_classes(planner, group);
    }
}

static struct herd herd_of(const struct fold *fold, int n_groups, struct arena *perm)
{
    int n_classes = fold->n_group_classes;
    struct herd herd = {.class_of = fold->group_class,
                        .members = arena_new(perm, int32_t, n_groups),
                        .first_member = arena_new(perm, int32_t, n_classes + 2),
                        .first_ready = arena_new(perm, int, n_classes)};
    int32_t *at = herd.first_member + 1; /* counts, then places, then ends: the next one's starts */
    for (int g = 0; g < n_groups; g++) {
        if (herd.class_of[g] >= 0) at[herd.class_of[g] + 1]++;
    }
    for (int c = 0; c < n_classes; c++) at[c + 1] += at[c];
    for (int g = 0; g < n_groups; g++) {
        if (herd.class_of[g] >= 0) herd.members[at[herd.class_of[g]]++] = g;
    }
    for (int c = 0; c < n_classes; c++) herd.first_ready[c] = -1;
    return herd;
}

static bool has_equal_groups(const struct layout *layout)
{
    for (int c = 0; c < layout->in->job->n_comms; c++) {
        if (layout->comm_used[c] && layout->first_group[c + 1] - layout->first_group[c] > 1)
            return true;
    }
    return false;
}

static void make_herds(struct planner *planner)
{
    const struct layout *layout = planner->layout;
    planner->own = herd_of(planner->fold, layout->n_groups, planner->scratch);
    planner->alike = planner->own;
    if (planner->in->fold || !has_equal_groups(layout)) return;
    const struct fold *folded = fold_layout(layout, true, planner->scratch);
    planner->alike = herd_of(folded, layout->n_groups, planner->scratch);
}

/* ---- loads ---- */

static int resource_of(const struct planner *planner, int thing)
{
    int n_links = planner->in->topo->n_links;
    if (thing < n_links) return planner->fold->link_class[thing];
    return planner->plan->n_link_classes + planner->fold->rank_class[thing - n_links];
}

/* things that it stands for */
static int n_bundled(const struct planner *planner, int thing)
{
    const struct topo *topo = planner->in->topo;
    return thing < topo->n_links ? router_bundled(topo, thing) : 1;
}

/* What one flow of payload takes of one thing of the class, over how many things it is spread. */
static double load_factor(const struct planner *planner, int resource, const struct lib_choice *row)
{
    const struct plan *plan = planner->plan;
    if (resource < plan->n_link_classes) {
        enum tier tier = planner->in->topo->links[plan->rep_link[resource]].tier;
        return 1.0 / (place_efficiency(row, tier) * plan->n_links[resource]);
    }
    int rank_class = resource - plan->n_link_classes;
    return planner->in->hbm_per_comm_B / plan->classes[rank_class].n_ranks;
}

/* What a byte of payload on one link, or out of one memory, keeps it busy for. */
static double s_per_B(const struct planner *planner, int thing, const struct lib_choice *row)
{
    const struct inputs *in = planner->in;
    if (thing >= in->topo->n_links) {
        return in->hbm_per_comm_B / planner->plan->capacity[planner->plan->n_link_classes];
    }
    const struct link *link = &in->topo->links[thing];
    return 1.0 / (place_efficiency(row, link->tier) * link->capacity_Bps);
}

/* Loads of a bundle of all groups of a class in one epoch of routes. */
static struct load_list sum_loads(struct planner *planner, const struct loading *loading, int epoch,
                                  int b)
{
    const struct pattern *pattern = loading->laid->pattern;
    const struct herd *herd = loading->herd;
    int n = 0;
    for (int m = herd->first_member[loading->class]; m < herd->first_member[loading->class + 1];
         m++) {
        int turn = loading->laid->turn[herd->members[m] - loading->first_group];
        must(turn >= 0);
        int64_t cell = ((int64_t)epoch * pattern->n_groups + turn) * pattern->n_bundles + b;
        for (int64_t t = pattern->first[cell]; t < pattern->first[cell + 1]; t++) {
            int resource = resource_of(planner, pattern->tallies[t].thing);
            if (resource < 0) continue; /* merged: other links hold it back more */
            if (planner->sum[resource] <= 0.0) planner->touched[n++] = resource;
            planner->sum[resource] +=
                pattern->tallies[t].n_flows * n_bundled(planner, pattern->tallies[t].thing);
        }
    }
    struct load *loads = arena_new(planner->perm, struct load, n);
    for (int i = 0; i < n; i++) {
        int resource = planner->touched[i];
        double flows = planner->sum[resource];
        loads[i] =
            (struct load){resource, flows * load_factor(planner, resource, loading->choice->row)};
        planner->sum[resource] = 0.0;
    }
    return (struct load_list){loads, n};
}

static void load_bundle(struct planner *planner, const struct loading *loading, int b,
                        struct plan_bundle *out)
{
    int n_epochs = planner->in->n_epochs;
    struct load_list first = sum_loads(planner, loading, 0, b);
    out->loads = first.loads;
    out->n_loads = first.n;
    if (n_epochs == 0) return;
    struct load_list *later = arena_new(planner->perm, struct load_list, n_epochs);
    for (int e = 0; e < n_epochs; e++) later[e] = sum_loads(planner, loading, e + 1, b);
    out->later = later;
}

/* Equal loads, in whatever order. */
static bool same_loads(struct planner *planner, const struct plan_bundle *a,
                       const struct plan_bundle *b)
{
    if (a->n_loads != b->n_loads) return false;
    for (int i = 0; i < a->n_loads; i++) planner->sum[a->loads[i].resource] = a->loads[i].n;
    bool same = true;
    for (int i = 0; i < b->n_loads; i++) {
        double by = planner->sum[b->loads[i].resource] - b->loads[i].n;
        same = same && fabs(by) <= 0.0;
    }
    for (int i = 0; i < a->n_loads; i++) planner->sum[a->loads[i].resource] = 0.0;
    return same;
}

/* Bundles of one phase: which of them come after one with the same cap and loads. Ways that change
 * in the run are not compared. */
static void find_alike(struct planner *planner, struct plan_bundle *bundles, int n)
{
    enum { MOST_KINDS = 8 }; /* that are compared with; where there are more, little is alike */
    int kinds[MOST_KINDS];
    int n_kinds = 0;
    for (int b = 0; b < n; b++) {
        bundles[b].first_alike = b;
        if (planner->in->n_epochs > 0) continue;
        int k = 0;
        for (; k < n_kinds; k++) {
            const struct plan_bundle *kind = &bundles[kinds[k]];
            bool capped =
                kind->cap_Bps >= bundles[b].cap_Bps && kind->cap_Bps <= bundles[b].cap_Bps;
            if (capped && same_loads(planner, kind, &bundles[b])) break;
        }
        if (k < n_kinds) bundles[b].first_alike = kinds[k];
        if (k == n_kinds && n_kinds < MOST_KINDS) kinds[n_kinds++] = b;
    }
}

/* Of the bundles of a phase with equal loads and bytes, the first stands for all. */
static void join_alike(struct planner *planner, const struct plan_phase *phase)
{
    struct plan_bundle *bundles = &planner->plan->bundles[phase->first_bundle];
    for (int b = 0; b < phase->n_bundles; b++) {
        struct plan_bundle *first = &bundles[bundles[b].first_alike];
        bool joins = fabs(first->bytes_per_B - bundles[b].bytes_per_B) <= 0.0;
        bundles[b].n_alike = 0;
        (joins ? first : &bundles[b])->n_alike++;
    }
    for (int b = 0; b < phase->n_bundles; b++) {
        if (bundles[b].n_alike < 2) continue;
        struct load *together = arena_new(planner->perm, struct load, bundles[b].n_loads);
        for (int l = 0; l < bundles[b].n_loads; l++) {
            together[l] = bundles[b].loads[l];
            together[l].n *= bundles[b].n_alike;
        }
        bundles[b].together = together;
    }
}

static const struct plan_bundle *make_ready(struct planner *planner, const struct loading *loading)
{
    const struct pattern *pattern = loading->laid->pattern;
    const struct lib_choice *row = loading->choice->row;
    struct plan_bundle *bundles =
        arena_new(planner->scratch, struct plan_bundle, pattern->n_bundles);
    int n_channels = planner->in->library.n_channels;
    double inside_Bps = row->channel_cap_Bps * n_channels;
    double leaving_Bps = library_leaving_Bps(row) * n_channels;
    for (int b = 0; b < pattern->n_bundles; b++) {
        load_bundle(planner, loading, b, &bundles[b]);
        double channels_Bps = pattern->leaves[b] ? leaving_Bps : inside_Bps;
        bundles[b].cap_Bps = channels_Bps * pattern->cap_share[b];
    }
    const int *phase_bundle = pattern->phase_bundle;
    for (int p = 0; p < pattern->n_phases; p++)
        find_alike(planner, bundles + phase_bundle[p], phase_bundle[p + 1] - phase_bundle[p]);
    return bundles;
}

/* The bundles of a class of the group's herd, made once. */
static const struct plan_bundle *find_ready(struct planner *planner, const struct herd *herd,
                                            int group, const struct choice *choice)
{
    const struct layout *layout = planner->layout;
    const struct laid *laid = &layout->laid[choice->pattern];
    int class = herd->class_of[group];
    for (int i = herd->first_ready[class]; i >= 0; i = planner->ready[i].next) {
        const struct ready *ready = &planner->ready[i];
        if (ready->laid == choice->pattern && library_same_way(ready->row, choice->row))
            return ready->bundles;
    }
    struct loading loading = {herd, class, choice, laid,
                              layout->first_group[layout->shapes[laid->shape].comm]};
    const struct plan_bundle *bundles = make_ready(planner, &loading);
    if (planner->n_ready == planner->cap_ready) {
        planner->cap_ready = 2 * planner->cap_ready + 16;
        planner->ready = arena_grow(planner->scratch, struct ready, planner->ready,
                                    planner->n_ready, planner->cap_ready);
    }
    planner->ready[planner->n_ready] =
        (struct ready){choice->pattern, choice->row, bundles, herd->first_ready[class]};
    herd->first_ready[class] = planner->n_ready++;
    return bundles;
}

/* ---- collectives ---- */

/* alpha of both kinds of hops; one that no flow makes stands for the other */
struct alphas {
    double intra_s, inter_s;
};

static struct alphas alphas_of(const double *wire_s, const struct lib_choice *row)
{
    double alpha_s[N_HOP_KINDS];
    for (int k = 0; k < N_HOP_KINDS; k++) {
        alpha_s[k] = wire_s[k] < 0.0 ? -1.0 : place_hop_s(row, (enum hop_kind)k, wire_s[k]);
    }
    double intra_s = fmax(alpha_s[HOP_SCALEUP], alpha_s[HOP_PCIE]);
    double inter_s = alpha_s[HOP_NET];
    double other_s = fmax(0.0, fmax(intra_s, inter_s));
    return (struct alphas){intra_s < 0.0 ? other_s : intra_s, inter_s < 0.0 ? other_s : inter_s};
}

/* hops of a collective's group as its flows meet them: the slowest link, the longest way */
struct met {
    const struct choice *choice;
    const struct pattern *pattern;
    const double *wire_s; /* of the group, see struct pattern */
    struct coll_hops hops;
    int group;
    int64_t turn; /* of the group in the pattern */
};

/* The longest ways of any group of a merged class: groups that are not alike wait for the slowest. */
static const double *longest_wires(const struct planner *planner, const struct laid *laid,
                                   int group)
{
    const struct layout *layout = planner->layout;
    const struct pattern *pattern = laid->pattern;
    const struct herd *herd = &planner->own;
    int class = herd->class_of[group];
    int first_group = layout->first_group[layout->shapes[laid->shape].comm];
    int n = pattern->n_phases * N_HOP_KINDS;
    double *longest_s = arena_new(planner->scratch, double, n);
    for (int i = 0; i < n; i++) longest_s[i] = -1.0;
    for (int m = herd->first_member[class]; m < herd->first_member[class + 1]; m++) {
        int64_t turn = laid->turn[herd->members[m] - first_group];
        for (int i = 0; i < n; i++)
            longest_s[i] = fmax(longest_s[i], pattern->wire_s[turn * n + i]);
    }
    return longest_s;
}

static struct met meet(const struct planner *planner, const struct choice *choice, int group)
{
    const struct layout *layout = planner->layout;
    const struct laid *laid = &layout->laid[choice->pattern];
    const struct shape *shape = &layout->shapes[laid->shape];
    const struct pattern *pattern = laid->pattern;
    int64_t turn = laid->turn[group - layout->first_group[shape->comm]];
    must(turn >= 0);
    struct met met = {
        .choice = choice,
        .pattern = pattern,
        .group = group,
        .turn = turn,
        .wire_s = pattern->wire_s + turn * pattern->n_phases * N_HOP_KINDS,
        .hops = place_hops(&layout->reaches[shape->ordered][group], &planner->in->library,
                           choice->row, false),
    };
    if (planner->fold->merged) met.wire_s = longest_wires(planner, laid, group);
    double longest_s[N_HOP_KINDS] = {-1.0, -1.0, -1.0};
    for (int i = 0; i < pattern->n_phases * N_HOP_KINDS; i++) {
        longest_s[i % N_HOP_KINDS] = fmax(longest_s[i % N_HOP_KINDS], met.wire_s[i]);
    }
    struct alphas alphas = alphas_of(longest_s, choice->row);
    met.hops.intra.alpha_s = alphas.intra_s;
    met.hops.inter.alpha_s = alphas.inter_s;
    return met;
}

/* What comes before the p-th phase's bundles, which take busy_s if nothing else moves. */
static double wait_s(const struct met *met, const struct coll_phase *phase, int p, double busy_s)
{
    const struct lib_choice *row = met->choice->row;
    struct alphas alphas = alphas_of(met->wire_s + (int64_t)p * N_HOP_KINDS, row);
    struct coll_hops hops = {{alphas.intra_s, met->hops.intra.beta_s_per_B},
                             {alphas.inter_s, met->hops.inter.beta_s_per_B}};
    return (p == 0 ? row->base_latency_s : 0.0) + coll_wait_s(phase, hops, busy_s) +
           phase->fill_intra_B * hops.intra.beta_s_per_B;
}

/* a phase's bundles and what each carries */
struct draining {
    const struct plan_bundle *bundles; /* [n] whose loads count */
    const struct plan_bundle *moving;  /* [n] whose bytes do */
    int n;
    double size_B, fill_B;
};

/* What a phase's busiest resource has to do, and its slowest bundle at the least. */
static double drain_s(struct planner *planner, const struct draining *draining)
{
    double least_s = 0.0;
    int n = 0;
    for (int b = 0; b < draining->n; b++) {
        const struct plan_bundle *bundle = &draining->bundles[b];
        double work_B = draining->moving[b].bytes_per_B * draining->size_B + draining->fill_B;
        least_s = fmax(least_s, work_B / bundle->cap_Bps);
        for (int l = 0; l < bundle->n_loads; l++) {
            int resource = bundle->loads[l].resource;
            if (planner->sum[resource] <= 0.0) planner->touched[n++] = resource;
            planner->sum[resource] += bundle->loads[l].n * work_B;
        }
    }
    for (int i = 0; i < n; i++) {
        int resource = planner->touched[i];
        least_s = fmax(least_s, planner->sum[resource] / planner->plan->capacity[resource]);
        planner->sum[resource] = 0.0;
    }
    return least_s;
}

/* The p-th phase under the loads of all groups that do the same at one time. */
static double alike_drain_s(struct planner *planner, const struct plan_coll *coll,
                            const struct met *met, int p)
{
    const struct plan_phase *phase = &planner->plan->phases[coll->first_phase + p];
    const struct plan_bundle *ready = find_ready(planner, &planner->alike, met->group, met->choice);
    struct draining draining = {.bundles = ready + met->pattern->phase_bundle[p],
                                .moving = &planner->plan->bundles[phase->first_bundle],
                                .n = phase->n_bundles,
                                .size_B = coll->req.size_B,
                                .fill_B = phase->fill_B};
    return drain_s(planner, &draining);
}

/* The same for one group alone, of which a class may hold several: how far its steps hide latencies is
 * its own affair, and must not depend on what is folded with it. */
static double own_drain_s(struct planner *planner, const struct plan_coll *coll,
                          const struct met *met, int p)
{
    const struct plan *plan = planner->plan;
    const struct plan_phase *phase = &plan->phases[coll->first_phase + p];
    const struct herd *alike = &planner->alike;
    int class = alike->class_of[met->group];
    if (alike->first_member[class + 1] - alike->first_member[class] == 1)
        return alike_drain_s(planner, coll, met, p);
    const struct pattern *pattern = met->pattern;
    double least_s = 0.0;
    int n = 0;
    for (int b = pattern->phase_bundle[p]; b < pattern->phase_bundle[p + 1]; b++) {
        const struct plan_bundle *bundle =
            &plan->bundles[phase->first_bundle + b - pattern->phase_bundle[p]];
        double work_B = bundle->bytes_per_B * coll->req.size_B + phase->fill_B;
        least_s = fmax(least_s, work_B / bundle->cap_Bps);
        int64_t cell = met->turn * pattern->n_bundles + b;
        for (int64_t t = pattern->first[cell]; t < pattern->first[cell + 1]; t++) {
            struct tally tally = pattern->tallies[t];
            if (planner->own_s[tally.thing] <= 0.0) planner->own_touched[n++] = tally.thing;
            planner->own_s[tally.thing] +=
                tally.n_flows * work_B * s_per_B(planner, tally.thing, coll->row);
        }
    }
    for (int i = 0; i < n; i++) {
        least_s = fmax(least_s, planner->own_s[planner->own_touched[i]]);
        planner->own_s[planner->own_touched[i]] = 0.0;
    }
    return least_s;
}

static void add_phases(struct planner *planner, struct plan_coll *coll, const struct met *met)
{
    struct plan *plan = planner->plan;
    const struct pattern *pattern = met->pattern;
    bool played = planner->in->fidelity != FIDELITY_ESTIMATE;
    const struct herd *herd = played ? &planner->own : &planner->alike;
    const struct plan_bundle *ready = find_ready(planner, herd, met->group, met->choice);
    must(planner->n_phases + pattern->n_phases <= planner->cap_phases);
    must(planner->n_bundles + pattern->n_bundles <= planner->cap_bundles);
    for (int p = 0; p < pattern->n_phases; p++) {
        struct coll_phase phase;
        bool exists = coll->algo->phase(&coll->req, p, &phase);
        must(exists);
        struct plan_phase *out = &plan->phases[planner->n_phases++];
        *out = (struct plan_phase){.fill_B = phase.fill_B,
                                   .first_bundle = planner->n_bundles,
                                   .n_bundles = phase.n_bundles};
        for (int b = 0; b < phase.n_bundles; b++) {
            struct coll_bundle bundle;
            coll->algo->bundle(&coll->req, p, b, &bundle);
            plan->bundles[planner->n_bundles] = ready[pattern->phase_bundle[p] + b];
            plan->bundles[planner->n_bundles++].bytes_per_B = bundle.bytes / coll->req.size_B;
        }
        join_alike(planner, out);
        out->latency_s = wait_s(met, &phase, p, own_drain_s(planner, coll, met, p));
    }
    coll->n_phases = pattern->n_phases;
}

/* The closed form knows one rate per kind of hop; where more flows of the collective itself meet on a
 * link (an oversubscribed leaf, a global link), its phases take longer than that. */
static double estimate_s(struct planner *planner, const struct plan_coll *coll,
                         const struct met *met)
{
    double phases_s = 0.0;
    for (int p = 0; p < coll->n_phases; p++) {
        phases_s += planner->plan->phases[coll->first_phase + p].latency_s;
        phases_s += alike_drain_s(planner, coll, met, p);
    }
    double closed_s = coll->row->base_latency_s + coll->algo->cost_s(&coll->req, met->hops);
    return coll->launch_s + fmax(closed_s, phases_s);
}

/* Does the algorithm send unequal amounts one after the other between nodes? */
static bool varies(const struct coll_algo *algo, const struct coll_req *req)
{
    struct coll_phase phase;
    double first_B = -1.0; /* of the first phase that has any */
    for (int p = 0; algo->phase(req, p, &phase); p++) {
        if (phase.n_bundles == 0) continue;
        struct coll_bundle bundle;
        algo->bundle(req, p, 0, &bundle);
        if (first_B < 0.0) first_B = bundle.bytes;
        if (bundle.bytes > first_B || bundle.bytes < first_B) return true;
    }
    return false;
}

/* Is some way of the group slower between nodes than its best one? */
static bool has_slow_port(const struct reach *reach)
{
    for (int t = TIER_NIC; reach->used && t < N_TIERS; t++)
        if (reach->slowest_Bps[t] < reach->best_Bps[t]) return true;
    return false;
}

/* Where a port is slower than the others, an early big message stands in it before a later small one;
 * fluid flows and single messages share the port instead. */
static void warn_queued(struct planner *planner, const struct plan_coll *coll,
                        const struct reaches *reaches)
{
    if (strcmp(coll->algo->name, "halving-doubling") != 0) return;
    if (!has_slow_port(&reaches->inter) || !varies(coll->algo, &coll->req)) return;
    layout_warn(planner->layout,
                arena_text(planner->scratch,
                           "communicator %s: %s over links of unequal rates: order in queues, "
                           "which is not modelled, decides (a measured case took 27 %% less)",
                           planner->in->job->comms[planner->plan->groups[coll->group].comm].name,
                           coll->algo->name),
                planner->scratch);
}

/* For what-ifs by closed forms. */
static const struct reaches *keep_reaches(struct planner *planner, enum coll_kind kind, int group)
{
    if (planner->in->fidelity != FIDELITY_ESTIMATE) return NULL;
    struct reaches *kept = arena_new(planner->perm, struct reaches, 1);
    *kept = planner->layout->reaches[place_ordered(kind)][group];
    return kept;
}

/* For single sends, which know nothing of phases; once for all that move alike. */
static const struct adaptive *const *keep_adaptive(struct planner *planner,
                                                   const struct choice *choice)
{
    const struct pattern *pattern = planner->layout->laid[choice->pattern].pattern;
    if (planner->in->fold || !pattern->adaptive) return NULL;
    const struct adaptive **kept = planner->adaptive[choice->pattern];
    if (kept) return kept;
    kept = arena_new(planner->perm, const struct adaptive *, pattern->n_epochs);
    for (int e = 0; e < pattern->n_epochs; e++) {
        const struct adaptive *const *phases =
            (const struct adaptive *const *)pattern->adaptive + (int64_t)e * pattern->n_phases;
        kept[e] = adaptive_join(phases, pattern->n_phases, planner->perm);
    }
    planner->adaptive[choice->pattern] = kept;
    return kept;
}

static int add_coll(struct planner *planner, int use, int group_class)
{
    struct plan *plan = planner->plan;
    const struct layout *layout = planner->layout;
    const struct plan_group *group = &plan->groups[group_class];
    int rep = layout->first_group[group->comm] + group->rep;
    const struct choice *choice = layout_choice(layout, use, rep);
    must(plan->n_colls < planner->cap_colls);
    struct plan_coll *coll = &plan->colls[plan->n_colls];
    struct lib_choice *row = arena_new(planner->perm, struct lib_choice, 1);
    *row = *choice->row;
    *coll = (struct plan_coll){.group = group_class,
                               .algo = choice->algo,
                               .protocol = row->protocol,
                               .row = row,
                               .req = choice->req,
                               .first_phase = planner->n_phases};
    if (choice->pattern >= 0) {
        struct met met = meet(planner, choice, rep);
        add_phases(planner, coll, &met);
        warn_queued(planner, coll, &layout->reaches[place_ordered(coll->req.kind)][rep]);
        coll->hops = met.hops;
        coll->reaches = keep_reaches(planner, coll->req.kind, rep);
        coll->adaptive = keep_adaptive(planner, choice);
        coll->launch_s = planner->in->library.launch_s;
        coll->estimate_s = estimate_s(planner, coll, &met);
        double idle_s = library_issue_s(&planner->in->library, row, &coll->req) - coll->estimate_s;
        coll->launch_s += fmax(0.0, idle_s);
        coll->estimate_s += fmax(0.0, idle_s);
    }
    return plan->n_colls++;
}

static int group_class_of(const struct planner *planner, int comm, int rank)
{
    int group = job_group(planner->in->job, comm, rank);
    if (group < 0) return -1;
    return planner->fold->group_class[planner->layout->first_group[comm] + group];
}

/* Classes of one program in the same groups (ranks of one ring, unfolded) share their lists. */
static void find_groups(struct planner *planner, int class_number)
{
    struct plan_class *class = &planner->plan->classes[class_number];
    int n_comms = planner->in->job->n_comms;
    struct arena mark = *planner->perm;
    int *group = arena_new(planner->perm, int, n_comms);
    for (int c = 0; c < n_comms; c++) group[c] = group_class_of(planner, c, class->rep);
    class->group = group;
    if (class_number == 0) return;
    const struct plan_class *before = class - 1;
    if (before->program != class->program) return;
    if (memcmp(before->group, group, (size_t)n_comms * sizeof *group) != 0) return;
    *planner->perm = mark;
    class->group = before->group;
    class->coll = before->coll;
}

/* How much a class's program can ask for; sizes the arrays before they are filled. */
static void count_colls(struct planner *planner)
{
    const struct layout *layout = planner->layout;
    for (int u = 0; u < layout->n_uses; u++) {
        for (int g = 0; g < planner->plan->n_groups; g++) {
            const struct plan_group *group = &planner->plan->groups[g];
            if (group->comm != layout->uses[u].comm) continue;
            const struct choice *choice =
                layout_choice(layout, u, layout->first_group[group->comm] + group->rep);
            planner->cap_colls++;
            if (choice->pattern < 0) continue;
            planner->cap_phases += layout->laid[choice->pattern].pattern->n_phases;
            planner->cap_bundles += layout->laid[choice->pattern].pattern->n_bundles;
        }
    }
}

static void find_colls(struct planner *planner, struct plan_class *class)
{
    const struct program *program = &planner->in->job->programs[class->program];
    int n_uses = planner->layout->n_uses;
    int *coll = arena_new(planner->perm, int, program->n_ops);
    for (int o = 0; o < program->n_ops; o++) {
        int use = planner->layout->use_of[class->program][o];
        coll[o] = -1;
        if (use < 0) continue;
        int group = class->group[program->ops[o].comm];
        must(group >= 0);
        int *known = &planner->coll_of[(int64_t)group * n_uses + use];
        if (*known < 0) *known = add_coll(planner, use, group);
        coll[o] = *known;
    }
    class->coll = coll;
}

static void make_colls(struct planner *planner)
{
    struct plan *plan = planner->plan;
    count_colls(planner);
    plan->colls = arena_new(planner->perm, struct plan_coll, planner->cap_colls);
    plan->phases = arena_new(planner->perm, struct plan_phase, planner->cap_phases);
    plan->bundles = arena_new(planner->perm, struct plan_bundle, planner->cap_bundles);
    planner->sum = arena_new(planner->scratch, double, plan->n_resources);
    planner->touched = arena_new(planner->scratch, int32_t, plan->n_resources);
    int n_things = planner->in->topo->n_links + planner->in->job->n_ranks;
    planner->own_s = arena_new(planner->scratch, double, n_things);
    planner->own_touched = arena_new(planner->scratch, int32_t, n_things);
    planner->adaptive =
        arena_new(planner->scratch, const struct adaptive **, planner->layout->n_laid);
    int64_t n = (int64_t)plan->n_groups * planner->layout->n_uses;
    planner->coll_of = arena_new(planner->scratch, int, n);
    for (int64_t i = 0; i < n; i++) planner->coll_of[i] = -1;
    for (int c = 0; c < plan->n_classes; c++) {
        find_groups(planner, c);
        if (!plan->classes[c].coll) find_colls(planner, &plan->classes[c]);
    }
}

/* ---- the whole ---- */

static void warn_merged(const struct planner *planner, struct layout *layout, struct arena *perm)
{
    const struct fold *fold = planner->fold;
    int comm = 0;
    while (fold->spread_group >= layout->first_group[comm + 1]) comm++;
    layout_warn(layout,
                arena_text(perm,
                           "little symmetry: %d ranks would fold into %d classes, with those of "
                           "their groups; merged into %d at the pace of the slowest group "
                           "(class_limit %d); the busiest links of groups of %s differ by up "
                           "to %.2g times",
                           planner->in->job->n_ranks, fold->n_exact,
                           planner->plan->n_classes + planner->plan->n_groups,
                           planner->in->class_limit, planner->in->job->comms[comm].name,
                           fold->spread),
                perm);
}

static void warn_shattered(const struct planner *planner, struct layout *layout, struct arena *perm)
{
    const struct plan *plan = planner->plan;
    int n = plan->n_classes + plan->n_groups;
    if (planner->fold->merged) warn_merged(planner, layout, perm);
    if (!plan->in->fold || n <= MANY_CLASSES) return;
    layout_warn(
        layout,
        arena_text(perm,
                   "little symmetry: %d ranks fold into %d classes, %d of groups; the run is "
                   "exact but slow",
                   plan->in->job->n_ranks, plan->n_classes, plan->n_groups),
        perm);
}

/* Products beyond the sizes on which the GPU's constants were fitted are extrapolated. */
static void warn_unmeasured(const struct inputs *in, struct layout *layout, struct arena *perm)
{
    if (!in->gpu.measured || !in->model) return;
    enum dtype dtype = in->train.dtype;
    const struct measured_part *part = measured_find(in->gpu.measured, MEASURED_PRODUCT, dtype);
    if (!part) {
        layout_warn(layout,
                    arena_text(perm, "the calibration of %s has no products in %s", in->gpu.name,
                               dtype_names[dtype]),
                    perm);
        return;
    }
    const struct model *own = divide_model(in->model, &in->train.split, perm);
    struct measured_range range = measured_products(part, own, in->train.batch_per_gpu);
    if (range.n_outside == 0) return;
    layout_warn(layout,
                arena_text(perm,
                           "%d of %d linear layers have products outside of what was measured on "
                           "%s: %.2g to %.2g FLOP, measured %.2g to %.2g",
                           range.n_outside, range.n, in->gpu.name, range.least, range.most,
                           part->least, part->most),
                perm);
}

/* Messages beyond those that the network card was fitted to are extrapolated. A collective's messages are at
 * most what it moves, and at least that over its ranks and channels. */
static void warn_unmeasured_messages(const struct planner *planner, struct layout *layout,
                                     struct arena *perm)
{
    const struct inputs *in = planner->in;
    const struct measured_part *part =
        in->nic_measured ? measured_find(in->nic_measured, MEASURED_NETWORK, in->train.dtype)
                         : NULL;
    if (!part) return;
    double least_B = INFINITY, most_B = 0.0;
    for (int c = 0; c < planner->plan->n_colls; c++) {
        const struct coll_req *req = &planner->plan->colls[c].req;
        if (req->n_ranks <= req->ranks_per_node) continue;
        least_B = fmin(least_B, req->size_B / req->n_ranks / req->n_channels);
        most_B = fmax(most_B, req->size_B);
    }
    if (most_B <= 0.0 || (least_B >= part->least && most_B <= part->most)) return;
    layout_warn(layout,
                arena_text(perm,
                           "messages between servers are of %.2g to %.2g B, outside of what was "
                           "measured for %s: %.2g to %.2g B",
                           least_B, most_B, in->nic, part->least, part->most),
                perm);
}

struct plan *plan_build(const struct inputs *in, struct arena *perm)
{
    struct arena scratch = arena_upper_half(perm);
    struct layout *layout = layout_build(in, &scratch);
    struct planner planner = {.plan = arena_new(perm, struct plan, 1),
                              .in = in,
                              .layout = layout,
                              .fold = fold_layout(layout, in->fold, &scratch),
                              .perm = perm,
                              .scratch = &scratch};
    planner.plan->in = in;
    make_resources(&planner);
    make_classes(&planner);
    make_groups(&planner);
    make_herds(&planner);
    make_colls(&planner);
    warn_shattered(&planner, layout, &scratch);
    warn_unmeasured(in, layout, &scratch);
    warn_unmeasured_messages(&planner, layout, &scratch);
    planner.plan->n_warnings = layout->n_warnings;
    const char **warnings = arena_new(perm, const char *, layout->n_warnings);
    for (int w = 0; w < layout->n_warnings; w++) {
        warnings[w] = arena_text(perm, "%s", layout->warnings[w]);
    }
    planner.plan->warnings = warnings;
    return planner.plan;
}
