#include "collectives/library.h"

#include <math.h>
#include <string.h>

static bool named(const char *name, const char *wanted)
{
    return wanted == NULL || strcmp(name, wanted) == 0;
}

static bool allowed(const struct lib_choice *choice, const struct coll_req *req, int n_nodes)
{
    return choice->kind == req->kind && req->size_B >= choice->min_B &&
           req->size_B <= choice->max_B && n_nodes >= choice->min_nodes &&
           (choice->max_nodes == 0 || n_nodes <= choice->max_nodes) && choice->algo->fits(req);
}

int library_choose(const struct library *lib, const struct coll_req *req,
                   const struct coll_hops *hops, int n_nodes, const char *algorithm,
                   const char *protocol)
{
    bool first = strcmp(lib->selection, "first") == 0;
    double best_s = INFINITY;
    int best = -1;
    for (int i = 0; i < lib->n_choices; i++) {
        const struct lib_choice *choice = &lib->choices[i];
        if (!named(choice->algo->name, algorithm) || !named(choice->protocol, protocol)) continue;
        if (!allowed(choice, req, n_nodes)) continue;
        if (first) return i;
        double time_s = choice->base_latency_s + choice->algo->cost_s(req, hops[i]);
        if (best < 0 || time_s < best_s) {
            best = i;
            best_s = time_s;
        }
    }
    return best;
}
