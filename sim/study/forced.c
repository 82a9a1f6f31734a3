#include "study/forced.h"

#include "io/words.h"

#include <string.h>

static bool is_asked(const char *asked, const char *name)
{
    return !asked || words_alike(asked, name);
}

bool forced_find(const struct library *library, enum coll_kind kind, struct forced *asked)
{
    for (int c = 0; c < library->n_choices; c++) {
        const struct lib_choice *choice = &library->choices[c];
        if (choice->kind != kind || !is_asked(asked->algorithm, choice->algo->name) ||
            !is_asked(asked->protocol, choice->protocol))
            continue;
        if (asked->algorithm) asked->algorithm = choice->algo->name;
        if (asked->protocol) asked->protocol = choice->protocol;
        return true;
    }
    return false;
}

/* is_new — no row before it offers the same algorithm, and if `with_protocol` the same protocol with it. */
static bool is_new(const struct library *library, const struct lib_choice *row, bool with_protocol)
{
    for (const struct lib_choice *other = library->choices; other < row; other++) {
        if (other->algo == row->algo &&
            (!with_protocol || strcmp(other->protocol, row->protocol) == 0))
            return false;
    }
    return true;
}

/* protocols_of — "ring with LL, LL128": rows of an algorithm are of one kind. */
static const char *protocols_of(const struct library *library, const struct coll_algo *algo,
                                struct arena *perm)
{
    const char *text = NULL;
    for (int c = 0; c < library->n_choices; c++) {
        const struct lib_choice *row = &library->choices[c];
        if (row->algo != algo || !is_new(library, row, true)) continue;
        text = text ? arena_text(perm, "%s, %s", text, row->protocol)
                    : arena_text(perm, "%s with %s", algo->name, row->protocol);
    }
    return text;
}

static const char *all_of(const struct library *library, enum coll_kind kind, struct arena *perm)
{
    const char *text = NULL;
    for (int c = 0; c < library->n_choices; c++) {
        const struct lib_choice *row = &library->choices[c];
        if (row->kind != kind || !is_new(library, row, false)) continue;
        const char *one = protocols_of(library, row->algo, perm);
        text = text ? arena_text(perm, "%s; %s", text, one) : one;
    }
    return text;
}

const char *forced_lacking(const struct library *library, enum coll_kind kind,
                           const struct forced *asked, struct arena *perm)
{
    const char *by = asked->algorithm ? arena_text(perm, " by %s", asked->algorithm) : "";
    const char *with = asked->protocol ? arena_text(perm, " with %s", asked->protocol) : "";
    const char *all = all_of(library, kind, perm);
    return arena_text(perm, "library %s offers no %s%s%s%s%s%s", library->name,
                      coll_kind_names[kind], by, with, all ? " (it has " : "", all ? all : "",
                      all ? ")" : "");
}
