/* A network from a text, for the tests of its readers. */
#ifndef TESTS_IO_GRAPH_TEXT_H
#define TESTS_IO_GRAPH_TEXT_H

#include "../test.h"
#include "io/graph_file.h"

static inline const struct net_graph *graph_of(const char *file, const char *text,
                                               struct arena *perm)
{
    struct diag diag = {.perm = perm};
    const struct net_graph *net = graph_file_read_text(file, text, strlen(text), perm, &diag);
    diag_print(&diag, stderr);
    assert_non_null(net);
    return net;
}

/* the text is refused, and the first message is as wanted */
static inline void assert_graph_refused(const char *file, const char *text, const char *wanted,
                                        struct arena *perm)
{
    struct diag diag = {.perm = perm};
    assert_null(graph_file_read_text(file, text, strlen(text), perm, &diag));
    assert_false(diag_ok(&diag));
    if (!strstr(diag.messages[0], wanted))
        print_error("\"%s\": said \"%s\", not \"%s\"\n", text, diag.messages[0], wanted);
    assert_non_null(strstr(diag.messages[0], wanted));
}

#endif
