#include "out/tuner_page.h"

#include <math.h>

static double time_s(const struct own_estimate *own, enum coll_kind kind, double size_B,
                     struct tuner_choice way)
{
    return tuner_time_s(own->tuner, &own->cluster, kind, size_B, way.algo, way.protocol);
}

/* Algorithms and protocols one after the other. */
enum { N_WAYS = N_TUNER_ALGOS * N_TUNER_PROTOCOLS };
static struct tuner_choice way_of(int w)
{
    return (struct tuner_choice){(enum tuner_algo)(w / N_TUNER_PROTOCOLS),
                                 (enum tuner_protocol)(w % N_TUNER_PROTOCOLS), INFINITY};
}

static void print_heads(FILE *out, const bool *offered)
{
    fprintf(out, "# %11s", "size");
    for (int w = 0; w < N_WAYS; w++) {
        if (offered[w]) fprintf(out, " %14s", tuner_algo_names[way_of(w).algo]);
    }
    fprintf(out, "   %-22s %12s\n# %11s", "takes", "predicted", "(B)");
    for (int w = 0; w < N_WAYS; w++) {
        if (offered[w]) fprintf(out, " %14s", tuner_protocol_names[way_of(w).protocol]);
    }
    fprintf(out, "   %-22s %12s\n", "", "(us)");
}

static void print_line(FILE *out, const struct own_estimate *own, enum coll_kind kind,
                       const struct tuner_line *line, const bool *offered)
{
    fprintf(out, "  %11.0f", line->size_B);
    for (int w = 0; w < N_WAYS; w++) {
        if (offered[w]) fprintf(out, " %14.2f", 1e6 * time_s(own, kind, line->size_B, way_of(w)));
    }
    char takes[64] = "-";
    if (isfinite(line->own.time_s))
        snprintf(takes, sizeof takes, "%s/%s", tuner_algo_names[line->own.algo],
                 tuner_protocol_names[line->own.protocol]);
    fprintf(out, "   %-22s %12.2f with %s/%s\n", takes, 1e6 * line->predicted_s,
            line->algorithm ? line->algorithm : "-", line->protocol ? line->protocol : "-");
}

void tuner_page_json(struct writer *writer, const struct own_estimate *own, enum coll_kind kind,
                     double size_B)
{
    writer_flat_object(writer, "tuner_times_s");
    for (int w = 0; w < N_WAYS; w++) {
        char name[64];
        double way_s = time_s(own, kind, size_B, way_of(w));
        if (!isfinite(way_s)) continue;
        snprintf(name, sizeof name, "%s/%s", tuner_algo_names[way_of(w).algo],
                 tuner_protocol_names[way_of(w).protocol]);
        writer_number(writer, name, way_s);
    }
    writer_end(writer);
}

void tuner_page_print(FILE *out, const struct inputs *in, enum coll_kind kind,
                      const struct tuner_line *lines, int n)
{
    bool offered[N_WAYS];
    for (int w = 0; w < N_WAYS; w++)
        offered[w] = n > 0 && isfinite(time_s(&in->own, kind, lines[0].size_B, way_of(w)));
    fprintf(out,
            "# %s: %s, %d x %d GPUs as %s reckons it, in us: no host, no launch, no contention\n",
            in->scenario, coll_kind_names[kind], in->own.cluster.n_nodes,
            in->own.cluster.ranks_per_node, in->own.tuner->name);
    print_heads(out, offered);
    for (int i = 0; i < n; i++) print_line(out, &in->own, kind, &lines[i], offered);
}
