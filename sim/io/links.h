/* The key "degraded" of a scenario: links that are slower, later or not there, from the start or from a
 * moment of the run on. */
#ifndef IO_LINKS_H
#define IO_LINKS_H

#include "base/field.h"
#include "inputs.h"

struct link_reader {
    const struct json *json;
    struct field_log *log;
    struct arena *perm;
    struct diag *diag;
};

/* links_load — changes in->topo, and fills in->events and in->epochs with what happens later. A network
 * that is cut, now or later, is an error. */
void links_load(const struct link_reader *reader, const struct json_node *list, struct inputs *in);

#endif
