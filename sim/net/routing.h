/* Which way a flow takes through the fabric. The registry of routings: scenarios, help and tests read
 * this table. To add one: a mode, its row, and what router.c does for it. */
#ifndef NET_ROUTING_H
#define NET_ROUTING_H

#include <stdbool.h>

enum routing_mode {
    ROUTING_STATIC,
    ROUTING_ECMP,
    ROUTING_SPRAY,
    ROUTING_VALIANT,
    ROUTING_VALIANT_SPRAY,
    ROUTING_UGAL
};

struct routing {
    const char *name; /* as written in scenarios */
    enum routing_mode mode;
    bool hashed;  /* ways are drawn per connection: the fabric's own choices go by hash, too */
    bool detours; /* goes round by other groups: only for fabrics that have them */
    const char *summary, *source;
};

extern const struct routing routings[];
extern const int n_routings;
extern const char *const routing_names[]; /* in the same order; ends with NULL */

/* routing_find — the row of that name, NULL when there is none. */
const struct routing *routing_find(const char *name);

#endif
