/* Torus: rings along one axis after the other. A reduce-scatter along an axis leaves each rank the blocks of
 * those that share its place on the axis; the next axis goes on with these. An all_gather is the same
 * backwards, an all_reduce the one after the other. The members of a node are an axis, the first of a
 * scatter and the last of a gather.
 *
 *   2 x 3 nodes of one rank      0 - 1     blocks that 0 sends to its neighbours of either axis
 *                                2 - 3     axis 0    1 3 5, half of the buffer
 *                                4 - 5     axis 1    4, then 2: what is left, one of three each
 *
 *   all_reduce   T = 2 sum over axes (a_i - 1) (alpha + S / (a_1 ... a_i) beta)
 *
 * instead of 2 (n - 1) alpha round one ring of all. Parts of the buffer that go their way by themselves (one
 * for each member of a node and each of its rails) begin with different axes, and of those that begin with
 * the same axis every second goes the other way round, so that six cards of a node keep all six cables of a
 * torus of three axes busy. Where they come to axes of different length, the longest tells how long a stage
 * takes.
 * Source: Barnett, Littlefield, Payne & van de Geijn, Global combine on mesh architectures with wormhole
 * routing, IPPS 1993 (buckets along each dimension); parts in different order: Sack & Gropp, Faster
 * topology-aware collective algorithms through non-minimal communication, PPoPP 2012. */
#include "collectives/algos.h"
#include "collectives/shape.h"

/* the axes that a part of the buffer goes along, in the order of a scatter */
struct torus {
    int n, side[COLL_MAX_AXES + 1];
    int stride[COLL_MAX_AXES + 1]; /* of members */
    int sense;                     /* 1: up, -1: down */
};

static bool holds_nodes(const struct coll_req *req)
{
    int64_t product = 1;
    for (int a = 0; a < COLL_MAX_AXES && req->axes[a] > 0; a++) product *= req->axes[a];
    return req->axes[0] > 0 && product == shape_nodes(req);
}

/* Axes of nodes that have a length, lowest first. */
static struct torus node_axes(const struct coll_req *req)
{
    struct torus torus = {.sense = 1};
    int stride = req->ranks_per_node, one[COLL_MAX_AXES] = {shape_nodes(req)};
    const int *axes = holds_nodes(req) ? req->axes : one;
    for (int a = 0; a < COLL_MAX_AXES && axes[a] > 0; a++) {
        if (axes[a] > 1) {
            torus.side[torus.n] = axes[a];
            torus.stride[torus.n++] = stride;
        }
        stride *= axes[a];
    }
    return torus;
}

static int n_inside(const struct coll_req *req)
{
    return req->ranks_per_node > 1;
}

static struct torus torus_of(const struct coll_req *req, int local, int rail)
{
    struct torus nodes = node_axes(req);
    int part = local * shape_rails(req) + rail, inside = n_inside(req);
    struct torus torus = {.n = nodes.n + inside, .sense = 1};
    if (nodes.n > 0 && part / nodes.n % 2 == 1) torus.sense = -1;
    if (inside) {
        torus.side[0] = req->ranks_per_node;
        torus.stride[0] = 1;
    }
    for (int a = 0; a < nodes.n; a++) {
        int from = (a + part) % nodes.n;
        torus.side[inside + a] = nodes.side[from];
        torus.stride[inside + a] = nodes.stride[from];
    }
    return torus;
}

static int n_axes(const struct coll_req *req)
{
    return node_axes(req).n + n_inside(req);
}

static int n_stages(const struct coll_req *req)
{
    return n_axes(req) * (req->kind == COLL_ALLREDUCE ? 2 : 1);
}

static bool is_scatter(const struct coll_req *req, int stage)
{
    return req->kind != COLL_ALLGATHER && stage < n_axes(req);
}

/* Which axis of the order a stage goes along. */
static int axis_at(const struct coll_req *req, int stage)
{
    int axes = n_axes(req), past = stage < axes ? stage : stage - axes;
    return is_scatter(req, stage) ? stage : axes - 1 - past;
}

/* Blocks of a message along an axis: of all ranks that share a place on it and on those before. */
static int n_blocks(const struct coll_req *req, const struct torus *torus, int axis)
{
    int blocks = req->n_ranks;
    for (int a = 0; a <= axis && torus->side[a] > 0; a++) blocks /= torus->side[a];
    return blocks;
}

static double block_B(const struct coll_req *req)
{
    return req->size_B / req->n_ranks / shape_rails(req);
}

bool torus_fits(const struct coll_req *req)
{
    return req->n_ranks >= 1;
}

static bool crosses(const struct coll_req *req, int stage)
{
    return axis_at(req, stage) >= n_inside(req);
}

/* what each flow of a bundle carries in a stage: bundles are rails inside a node, and a member's rails
 * between them */
static double bundle_B(const struct coll_req *req, int stage, int b)
{
    int rails = shape_rails(req), axis = axis_at(req, stage);
    struct torus torus = torus_of(req, b / rails, b % rails);
    return (torus.side[axis] - 1) * n_blocks(req, &torus, axis) * block_B(req);
}

bool torus_phase(const struct coll_req *req, int p, struct coll_phase *out)
{
    if (p >= n_stages(req)) return false;
    int rails = shape_rails(req), m = req->ranks_per_node, axis = axis_at(req, p), steps = 0;
    if (!crosses(req, p)) {
        *out = (struct coll_phase){.n_bundles = rails, .steps = m - 1, .hops_intra = m - 1};
        return true;
    }
    for (int b = 0; b < m * rails; b++) {
        int side = torus_of(req, b / rails, b % rails).side[axis];
        if (side - 1 > steps) steps = side - 1;
    }
    *out = (struct coll_phase){.n_bundles = m * rails, .steps = steps, .hops_inter = steps};
    return true;
}

double torus_cost_s(const struct coll_req *req, struct coll_hops hops)
{
    struct coll_phase phase;
    double time_s = 0;
    for (int p = 0; torus_phase(req, p, &phase); p++) {
        double bytes =
            0; /* of all bundles through the port of a member inside, of a node outside */
        for (int b = 0; b < phase.n_bundles; b++) bytes += bundle_B(req, p, b);
        struct affine hop = crosses(req, p) ? hops.inter : hops.intra;
        time_s += phase.steps * hop.alpha_s + bytes * hop.beta_s_per_B;
    }
    return time_s;
}

void torus_bundle(const struct coll_req *req, int p, int b, struct coll_bundle *out)
{
    int rails = shape_rails(req);
    bool out_of_node = crosses(req, p);
    *out = (struct coll_bundle){.n_flows = out_of_node ? shape_nodes(req) : req->n_ranks,
                                .channel =
                                    out_of_node ? shape_rail_channel(req, b / rails, b % rails) : b,
                                .bytes = bundle_B(req, p, b)};
}

static int place_on(const struct torus *torus, int axis, int member)
{
    int side = torus->side[axis], stride = torus->stride[axis];
    return side > 1 ? member / stride % side : 0;
}

/* `places` further on along the axis, in the part's sense. */
static int moved(const struct torus *torus, int axis, int member, int places)
{
    int side = torus->side[axis], place = place_on(torus, axis, member);
    if (side < 2) return member;
    int to = (place + torus->sense * (places % side) + 2 * side) % side;
    return member + (to - place) * torus->stride[axis];
}

struct coll_flow torus_flow(const struct coll_req *req, int p, int b, int64_t k)
{
    int rails = shape_rails(req), m = req->ranks_per_node, axis = axis_at(req, p);
    int src = crosses(req, p) ? (int)k * m + b / rails : (int)k;
    struct torus torus = torus_of(req, src % m, b % rails);
    if (!crosses(req, p)) torus.sense = 1;
    return (struct coll_flow){src, moved(&torus, axis, src, 1)};
}

int torus_lanes(const struct coll_req *req)
{
    return shape_rails(req);
}

/* a counter per rail and stage, since a neighbour may be ahead */
int torus_slots(const struct coll_req *req)
{
    int stages = n_stages(req);
    return shape_rails(req) * (stages > 0 ? stages : 1);
}

int64_t torus_units(const struct coll_req *req)
{
    return (int64_t)shape_rails(req) * req->n_ranks;
}

/* first_unit says the place on the stage's axis of the blocks that a message carries. They are those of the
 * sender's places on the axes before it, and of all places on those after it, counted by j. */
int64_t torus_unit(const struct coll_req *req, int member, const struct coll_send *send, int64_t j)
{
    int stages = n_stages(req), rail = send->slot / stages, stage = send->slot % stages;
    int axis = axis_at(req, stage);
    struct torus torus = torus_of(req, member % req->ranks_per_node, rail);
    int64_t owner =
        member + (send->first_unit - place_on(&torus, axis, member)) * torus.stride[axis];
    for (int a = axis + 1; a < torus.n; a++) {
        owner += (j % torus.side[a] - place_on(&torus, a, member)) * torus.stride[a];
        j /= torus.side[a];
    }
    return (int64_t)rail * req->n_ranks + owner;
}

/* Steps of a lane before a stage, and the stage of a step. */
struct turn {
    int stage, step, before; /* before: steps of the stage before */
};

static struct turn turn_at(const struct coll_req *req, const struct torus *torus, int64_t i)
{
    struct turn turn = {0};
    for (; turn.stage < n_stages(req); turn.stage++) {
        int steps = torus->side[axis_at(req, turn.stage)] - 1;
        if (i < steps) break;
        i -= steps;
        turn.before = steps;
    }
    turn.step = (int)i;
    return turn;
}

bool torus_next(const struct coll_req *req, int member, int lane, int64_t i, struct coll_send *out)
{
    int local = member % req->ranks_per_node, stages = n_stages(req);
    struct torus torus = torus_of(req, local, lane);
    struct turn turn = turn_at(req, &torus, i);
    if (turn.stage >= stages) return false;
    int axis = axis_at(req, turn.stage);
    bool inside = !crosses(req, turn.stage), scatter = is_scatter(req, turn.stage);
    if (inside) torus.sense = 1;
    int block = moved(&torus, axis, member, scatter ? -1 - turn.step : -turn.step);
    int slot = lane * stages + turn.stage, n = n_blocks(req, &torus, axis);
    *out = (struct coll_send){
        .dst = moved(&torus, axis, member, 1),
        .channel = inside ? lane : shape_rail_channel(req, local, lane),
        .size_B = n * block_B(req),
        .slot = slot,
        .n_deps = i > 0,
        .deps = {{turn.step > 0 ? slot : slot - 1, turn.step > 0 ? turn.step : turn.before}},
        .first_unit = place_on(&torus, axis, block),
        .n_units = n,
        .reduce = scatter,
    };
    return true;
}
