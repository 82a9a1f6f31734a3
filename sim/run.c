/* What is worked out from the spans of a run, whatever produced them. */
#include "engine.h"

#include "base/must.h"

#include <math.h>
#include <stdlib.h>

void run_add_span(struct run *run, struct span span, struct arena *perm)
{
    if (run->n_spans == run->cap_spans) {
        int64_t capacity = run->cap_spans ? 2 * run->cap_spans : 1024;
        run->spans = arena_grow(perm, struct span, run->spans, run->n_spans, capacity);
        run->cap_spans = capacity;
    }
    run->spans[run->n_spans++] = span;
}

/* memory taken (> 0) or given back (< 0) by a class at a moment */
struct change {
    double time_s, bytes;
    int32_t rank_class;
};

/* At one moment memory is given back before it is taken: the allocator reuses it. */
static int compare_changes(const void *left, const void *right)
{
    const struct change *a = left;
    const struct change *b = right;
    if (a->rank_class != b->rank_class) return a->rank_class < b->rank_class ? -1 : 1;
    if (a->time_s < b->time_s) return -1;
    if (a->time_s > b->time_s) return 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static void find_memory_peak(const struct plan *plan, struct run *run, struct arena scratch)
{
    struct change *changes = arena_new(&scratch, struct change, 2 * run->n_spans + 1);
    int64_t n = 0;
    for (int64_t s = 0; s < run->n_spans; s++) {
        const struct span *span = &run->spans[s];
        const struct op *op = span_op(plan, span);
        if (op->alloc_B > 0.0) {
            changes[n++] = (struct change){span->start_s, op->alloc_B, span->rank_class};
        }
        if (op->free_B > 0.0) {
            changes[n++] = (struct change){span->end_s, -op->free_B, span->rank_class};
        }
    }
    qsort(changes, (size_t)n, sizeof *changes, compare_changes);
    for (int c = 0; c < plan->n_classes; c++) {
        double static_B = plan_program(plan, c)->static_B;
        if (c == 0 || static_B > run->peak_memory_B) {
            run->peak_memory_B = static_B;
            run->peak_class = c;
        }
    }
    double held_B = 0.0;
    for (int64_t i = 0; i < n; i++) {
        int c = changes[i].rank_class;
        if (i == 0 || c != changes[i - 1].rank_class) {
            held_B = plan_program(plan, c)->static_B;
        }
        held_B += changes[i].bytes;
        if (held_B > run->peak_memory_B) {
            run->peak_memory_B = held_B;
            run->peak_class = c;
        }
    }
}

void run_finish(const struct plan *plan, struct run *run, struct arena scratch)
{
    int last = plan->in->job->n_iterations - 1;
    double before_s = 0.0;
    for (int64_t s = 0; s < run->n_spans; s++) {
        const struct span *span = &run->spans[s];
        run->end_s = fmax(run->end_s, span->end_s);
        if (span->iteration == last - 1) before_s = fmax(before_s, span->end_s);
    }
    run->period_start_s = before_s;
    run->iteration_s = run->stuck ? HUGE_VAL : run->end_s - before_s;
    find_memory_peak(plan, run, scratch);
}
