#include "layout.h"

#include "base/must.h"
#include "net/router.h"

#include <math.h>
#include <string.h>

void layout_warn(struct layout *layout, const char *warning, struct arena *perm)
{
    for (int w = 0; w < layout->n_warnings; w++) {
        if (strcmp(layout->warnings[w], warning) == 0) return;
    }
    if (layout->n_warnings == layout->cap_warnings) {
        layout->cap_warnings = 2 * layout->cap_warnings + 8;
        layout->warnings = arena_grow(perm, const char *, layout->warnings, layout->n_warnings,
                                      layout->cap_warnings);
    }
    layout->warnings[layout->n_warnings++] = warning;
}

/* ---- uses ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_use(const struct use *a, const struct use *b)
{
    return a->comm == b->comm && a->kind == b->kind && a->root == b->root &&
           same_text(a->algorithm, b->algorithm) && same_text(a->protocol, b->protocol) &&
           a->size_B <= b->size_B && a->size_B >= b->size_B;
}

static int find_use(struct layout *layout, const struct op *op)
{
    struct use use = {op->comm, op->coll, op->algorithm, op->protocol, op->root, op->size_B};
    int u = 0;
    while (u < layout->n_uses && !same_use(&layout->uses[u], &use)) u++;
    if (u == layout->n_uses) layout->uses[layout->n_uses++] = use;
    return u;
}

static void collect_uses(struct layout *layout, struct arena *perm)
{
    const struct job *job = layout->in->job;
    int64_t n_ops = 0;
    for (int p = 0; p < job->n_programs; p++) n_ops += job->programs[p].n_ops;
    layout->uses = arena_new(perm, struct use, n_ops);
    layout->use_of = arena_new(perm, int *, job->n_programs);
    layout->comm_used = arena_new(perm, bool, job->n_comms);
    for (int p = 0; p < job->n_programs; p++) {
        const struct program *program = &job->programs[p];
        layout->use_of[p] = arena_new(perm, int, program->n_ops);
        for (int o = 0; o < program->n_ops; o++) {
            bool moves = program->ops[o].kind == OP_COLLECTIVE;
            layout->use_of[p][o] = moves ? find_use(layout, &program->ops[o]) : -1;
            if (moves) layout->comm_used[program->ops[o].comm] = true;
        }
    }
}

/* ---- shapes ---- */

/* does the root of some use name a rank? */
static bool has_roots(const struct layout *layout, int comm)
{
    if (layout->in->job->comms[comm].n_servers > 0) return false;
    for (int u = 0; u < layout->n_uses; u++) {
        if (layout->uses[u].comm == comm && layout->uses[u].root >= 0) return true;
    }
    return false;
}

static bool has_order(const struct layout *layout, int comm, bool ordered)
{
    for (int u = 0; u < layout->n_uses; u++) {
        if (layout->uses[u].comm != comm) continue;
        if (place_ordered(layout->uses[u].kind) == ordered) return true;
    }
    return false;
}

/* FNV-1a over where each of the job's members stands. Two orders with one value would share a
 * root's place; at 64 bits that does not happen by chance. */
static uint64_t order_of(const struct place *place)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (int i = 0; i < place->n_ranks; i++) {
        hash = (hash ^ (uint64_t)(place->ranks[i] - place->ranks[0])) * 0x100000001b3U;
    }
    return hash;
}

static int find_shape(struct layout *layout, const struct place *place, bool ordered, int first)
{
    bool roots = has_roots(layout, place->comm);
    struct shape shape = {.comm = place->comm,
                          .ordered = ordered,
                          .n_ranks = place->n_ranks,
                          .ranks_per_node = place->ranks_per_node,
                          .n_nodes = place->n_nodes,
                          .n_channels = place->n_channels,
                          .order = roots ? order_of(place) : 0,
                          .first_group = layout->first_group[place->comm] + place->group};
    for (int s = first; s < layout->n_shapes; s++) {
        const struct shape *other = &layout->shapes[s];
        if (other->ranks_per_node == shape.ranks_per_node && other->n_nodes == shape.n_nodes &&
            other->n_channels == shape.n_channels && other->order == shape.order) {
            return s;
        }
    }
    layout->shapes[layout->n_shapes] = shape;
    return layout->n_shapes++;
}

static void warn_uneven(struct layout *layout, const struct place *place, struct arena *perm)
{
    if (place->even) return;
    layout_warn(layout,
                arena_text(perm,
                           "communicator %s: groups have unequal numbers of ranks on their nodes; "
                           "algorithms see blocks of %d",
                           layout->in->job->comms[place->comm].name, place->ranks_per_node),
                perm);
}

static void shape_comm(struct layout *layout, int comm, bool ordered, const struct place **places,
                       struct arena *perm)
{
    int first = layout->n_shapes;
    for (int g = layout->first_group[comm]; g < layout->first_group[comm + 1]; g++) {
        int group = g - layout->first_group[comm];
        const struct place *place = place_group(layout->in, comm, group, ordered, perm);
        places[g] = place;
        layout->shape_of[ordered][g] = find_shape(layout, place, ordered, first);
        layout->reaches[ordered][g] = place_reaches(place);
        warn_uneven(layout, place, perm);
    }
}

static void shape_groups(struct layout *layout, struct arena *perm)
{
    const struct job *job = layout->in->job;
    layout->first_group = arena_new(perm, int, job->n_comms + 1);
    for (int c = 0; c < job->n_comms; c++) {
        layout->first_group[c + 1] = layout->first_group[c] + job_n_groups(job, c);
    }
    layout->n_groups = layout->first_group[job->n_comms];
    layout->shapes = arena_new(perm, struct shape, 2 * (int64_t)layout->n_groups);
    for (int ordered = 0; ordered < 2; ordered++) {
        const struct place **places = arena_new(perm, const struct place *, layout->n_groups);
        layout->places[ordered] = places;
        layout->shape_of[ordered] = arena_new(perm, int, layout->n_groups);
        layout->reaches[ordered] = arena_new(perm, struct reaches, layout->n_groups);
        for (int g = 0; g < layout->n_groups; g++) layout->shape_of[ordered][g] = -1;
        for (int c = 0; c < job->n_comms; c++) {
            if (has_order(layout, c, ordered)) shape_comm(layout, c, ordered, places, perm);
        }
    }
}

/* ---- choices ---- */

static const struct coll_algo *any_algo(const struct coll_req *req)
{
    for (int a = 0; a < n_coll_algos; a++) {
        if (coll_algos[a].kind == req->kind && coll_algos[a].fits(req)) return &coll_algos[a];
    }
    return NULL;
}

static void warn_choice(struct layout *layout, const struct use *use, const struct coll_algo *algo,
                        struct arena *perm)
{
    const char *asked = use->algorithm ? use->algorithm : "any algorithm";
    layout_warn(layout,
                arena_text(perm, "library %s has no %s by %s over %s that fits here; %s is used",
                           layout->in->library.name, coll_kind_names[use->kind], asked,
                           use->protocol ? use->protocol : "any protocol", algo->name),
                perm);
}

/* There and back: a message as the row has it, and the wire for what acknowledges it. Limits above what the
 * cards carry are left out. */
static void limit_connections(const struct library *library, const struct reach *reach,
                              const struct choice *choice, struct lib_choice *row)
{
    if (!reach->used || reach->kind != HOP_NET) return;
    double round_trip_s = place_hop_s(row, HOP_NET, reach->latency_s) + reach->latency_s;
    library_limit_connections(library, &choice->req, round_trip_s, row);
    double cards_Bps = choice->req.n_channels * reach->best_narrowest_Bps;
    if (row->net_cap_Bps * library->n_channels >= cards_Bps) row->net_cap_Bps = 0;
}

/* The library chooses by what it reckons; the choice then costs what its row says for the request.
 * What was forced and does not fit is given up name by name; what the library does not do at all is
 * done by the first algorithm that can, at the costs of the library's first row. */
static void choose_row(struct layout *layout, const struct use *use, const struct shape *shape,
                       struct choice *choice, struct arena *perm)
{
    const struct library *library = &layout->in->library;
    struct lib_choice *own = arena_new(perm, struct lib_choice, 1);
    struct arena scratch = *perm;
    struct coll_hops *hops = arena_new(&scratch, struct coll_hops, library->n_choices);
    struct library tuner = *library;
    tuner.choices = arena_new(&scratch, struct lib_choice, library->n_choices);
    for (int r = 0; r < library->n_choices; r++) {
        tuner.choices[r] = library_tuner_row(library, &library->choices[r], &choice->req);
        hops[r] = place_hops(&layout->reaches[shape->ordered][shape->first_group], library,
                             &tuner.choices[r], true);
    }
    const char *tries[3][2] = {
        {use->algorithm, use->protocol}, {use->algorithm, NULL}, {NULL, NULL}};
    int row = -1;
    int try = 0;
    for (; row < 0 && try < 3; try++) {
        row = library_choose(&tuner, &choice->req, hops, shape->n_nodes, tries[try][0],
                             tries[try][1]);
    }
    must(library->n_choices > 0);
    *own = library_row(library, &library->choices[row < 0 ? 0 : row], &choice->req);
    limit_connections(library, &layout->reaches[shape->ordered][shape->first_group].inter, choice,
                      own);
    choice->row = own;
    if (own->chunk_B > 0) choice->req.chunk_B = own->chunk_B;
    choice->algo = row < 0 ? any_algo(&choice->req) : own->algo;
    must(choice->algo);
    if (row < 0 || try > 1) warn_choice(layout, use, choice->algo, perm);
}

static void choose(struct layout *layout, const struct use *use, const struct shape *shape,
                   struct choice *choice, struct arena *perm)
{
    const struct library *library = &layout->in->library;
    const struct place *place = layout->places[shape->ordered][shape->first_group];
    int n_servers = place->n_servers;
    choice->pattern = -1;
    choice->req = (struct coll_req){.kind = use->kind,
                                    .n_ranks = shape->n_ranks,
                                    .ranks_per_node = shape->ranks_per_node,
                                    .n_channels = shape->n_channels,
                                    .n_servers = n_servers,
                                    .root = place_root(place, use->root),
                                    .size_B = use->size_B,
                                    .chunk_B = library->chunk_B,
                                    .rendezvous = library->rendezvous};
    place_axes(place, choice->req.axes);
    if (shape->n_ranks == 1 && n_servers == 0) {
        choice->row = &library->choices[0];
        choice->algo = any_algo(&choice->req);
        if (!choice->algo) choice->algo = &coll_algos[0];
        return;
    }
    choose_row(layout, use, shape, choice, perm);
}

static bool meets(const struct use *use, const struct shape *shape)
{
    return use->comm == shape->comm && place_ordered(use->kind) == shape->ordered;
}

const struct choice *layout_choice(const struct layout *layout, int use, int group)
{
    int shape = layout->shape_of[place_ordered(layout->uses[use].kind)][group];
    return &layout->choices[(int64_t)use * layout->n_shapes + shape];
}

/* ---- patterns ---- */

static bool program_uses(const struct layout *layout, int program, int shape, int pattern)
{
    for (int o = 0; o < layout->in->job->programs[program].n_ops; o++) {
        int u = layout->use_of[program][o];
        if (u < 0 || !meets(&layout->uses[u], &layout->shapes[shape])) continue;
        if (layout->choices[(int64_t)u * layout->n_shapes + shape].pattern == pattern) return true;
    }
    return false;
}

/* The groups of the shape whose programs need the pattern, in order. */
static void list_groups(struct layout *layout, int at, struct arena *perm)
{
    struct laid *laid = &layout->laid[at];
    const struct shape *shape = &layout->shapes[laid->shape];
    const struct job *job = layout->in->job;
    bool *needs = arena_new(perm, bool, job->n_programs);
    for (int p = 0; p < job->n_programs; p++) needs[p] = program_uses(layout, p, laid->shape, at);
    int first = layout->first_group[shape->comm];
    int n = layout->first_group[shape->comm + 1] - first;
    laid->groups = arena_new(perm, int, n);
    laid->turn = arena_new(perm, int, n);
    int n_groups = 0;
    for (int g = 0; g < n; g++) {
        laid->turn[g] = -1;
        if (layout->shape_of[shape->ordered][first + g] != laid->shape) continue;
        int rank = layout->places[shape->ordered][first + g]->ranks[0];
        if (!job_joins_roles(job, shape->comm) && !needs[job_role(job, rank)]) continue;
        laid->turn[g] = n_groups;
        laid->groups[n_groups++] = first + g;
    }
    pattern_open(laid->pattern, n_groups, 1 + layout->in->n_epochs, perm);
}

static int find_pattern(struct layout *layout, int shape, const struct choice *choice,
                        struct arena *perm)
{
    for (int l = 0; l < layout->n_laid; l++) {
        const struct laid *laid = &layout->laid[l];
        if (laid->shape == shape && pattern_same(laid->pattern, choice->algo, &choice->req)) {
            return l;
        }
    }
    layout->laid[layout->n_laid] =
        (struct laid){.pattern = pattern_new(choice->algo, &choice->req, perm), .shape = shape};
    return layout->n_laid++;
}

static void choose_all(struct layout *layout, struct arena *perm)
{
    int64_t n = (int64_t)layout->n_uses * layout->n_shapes;
    layout->choices = arena_new(perm, struct choice, n);
    layout->laid = arena_new(perm, struct laid, n);
    for (int u = 0; u < layout->n_uses; u++) {
        for (int s = 0; s < layout->n_shapes; s++) {
            if (!meets(&layout->uses[u], &layout->shapes[s])) continue;
            struct choice *choice = &layout->choices[(int64_t)u * layout->n_shapes + s];
            choose(layout, &layout->uses[u], &layout->shapes[s], choice, perm);
            bool moves = choice->req.n_ranks > 1 || choice->req.n_servers > 0;
            if (moves) choice->pattern = find_pattern(layout, s, choice, perm);
        }
    }
}

/* Where ways go by load, flows choose them before any is laid. */
static void settle(const struct layout *layout, struct laid *laid, struct arena *perm)
{
    bool ordered = layout->shapes[laid->shape].ordered;
    if (!topo_by_load(layout->in->topo)) return;
    for (int epoch = 0; epoch < laid->pattern->n_epochs; epoch++) {
        for (int i = 0; i < laid->pattern->n_groups; i++) {
            struct place place = place_at(layout->places[ordered][laid->groups[i]], epoch);
            pattern_offer(laid->pattern, epoch, &place, perm);
        }
        pattern_settle(laid->pattern, epoch, perm);
    }
}

static void lay_all(struct layout *layout, struct arena *perm)
{
    int n_things = layout->in->topo->n_links + layout->in->job->n_ranks;
    struct lay_scratch scratch = {arena_new(perm, double, n_things),
                                  arena_new(perm, int32_t, n_things)};
    bool count_memory = layout->in->hbm_per_comm_B > 0.0;
    for (int l = 0; l < layout->n_laid; l++) {
        struct laid *laid = &layout->laid[l];
        list_groups(layout, l, perm);
        bool ordered = layout->shapes[laid->shape].ordered;
        int n = laid->pattern->n_groups;
        settle(layout, laid, perm);
        for (int i = 0; i < n * laid->pattern->n_epochs; i++) {
            struct place place = place_at(layout->places[ordered][laid->groups[i % n]], i / n);
            pattern_lay(laid->pattern, i, &place, count_memory, scratch, perm);
        }
    }
}

struct layout *layout_build(const struct inputs *in, struct arena *perm)
{
    struct layout *layout = arena_new(perm, struct layout, 1);
    layout->in = in;
    router_bundle(in->topo, in->n_events == 0,
                  *perm); /* what happens to one link makes it another */
    collect_uses(layout, perm);
    shape_groups(layout, perm);
    choose_all(layout, perm);
    lay_all(layout, perm);
    return layout;
}
