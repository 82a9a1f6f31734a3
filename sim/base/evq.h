/* A queue of events ordered by (time_s, sequence): equal times leave in the order they came, so
 * a run is the same every time. 4-ary heap; grows by doubling inside its arena. */
#ifndef BASE_EVQ_H
#define BASE_EVQ_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct evq;

struct event {
    double time_s;
    int64_t seq; /* given by the queue */
    int32_t kind, id;
};

/* evq_new — an empty queue with room for `capacity` events before its first doubling. */
struct evq *evq_new(struct arena *perm, int64_t capacity);

/* evq_push — time_s must be a number (not NaN). O(log n). */
void evq_push(struct evq *queue, double time_s, int32_t kind, int32_t id);

bool evq_empty(const struct evq *queue);
int64_t evq_size(const struct evq *queue);

/* evq_peek — the first event without taking it; the queue must not be empty. */
struct event evq_peek(const struct evq *queue);

/* evq_pop — take the first event; the queue must not be empty. */
struct event evq_pop(struct evq *queue);

#endif
