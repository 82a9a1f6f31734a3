#include "out/load.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef DPSIM_SHARE
#define DPSIM_SHARE "/usr/local/share/dpsim"
#endif

enum { FOLDERS_UP = 3 };

static bool holds_profiles(const char *dir, struct arena scratch)
{
    return access(arena_text(&scratch, "%s/hardware", dir), R_OK) == 0;
}

static const char *beside_program(struct arena *perm)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return NULL;
    path[length] = '\0';
    for (int up = 0; up <= FOLDERS_UP; up++) {
        char *slash = strrchr(path, '/');
        if (!slash) return NULL;
        *slash = '\0';
        const char *dir = arena_text(perm, "%s/scenarios", path);
        if (holds_profiles(dir, *perm)) return dir;
    }
    return NULL;
}

const char *load_profile_dir(struct arena *perm)
{
    const char *wanted = getenv("DPSIM_PROFILES");
    if (wanted && wanted[0]) return wanted;
    if (holds_profiles(DPSIM_SHARE, *perm)) return DPSIM_SHARE;
    const char *beside = beside_program(perm);
    return beside ? beside : "scenarios";
}

static const char *find_question(const struct field_log *log)
{
    for (int i = 0; i < log->n_uses; i++) {
        const struct field_use *use = &log->uses[i];
        if (strcmp(use->key, "question") == 0 && !use->from_default) return use->value;
    }
    return NULL;
}

static void append(struct text_list *all, const struct text_list *more)
{
    for (int i = 0; more && i < more->n; i++) all->items[all->n++] = more->items[i];
}

static struct loaded load(const char *file, const struct scenario_options *how, struct arena *perm,
                          struct diag *diag)
{
    struct loaded loaded = {0};
    loaded.inputs = scenario_load(file, how, &loaded.log, perm, diag);
    loaded.question = find_question(&loaded.log);
    return loaded;
}

struct loaded load_scenario(const char *file, const struct text_list *extra,
                            const struct options *options, struct arena *perm, struct diag *diag)
{
    int n_sets = options->sets.n + (extra ? extra->n : 0);
    struct text_list sets = {arena_new(perm, const char *, n_sets), 0};
    append(&sets, extra);
    append(&sets, &options->sets);
    struct scenario_options how = {
        .sets = sets.items,
        .n_sets = sets.n,
        .fidelity = options->fidelity,
        .profile_dir = load_profile_dir(perm),
    };
    return load(file, &how, perm, diag);
}

struct loaded load_network(const struct options *options, struct arena *perm, struct diag *diag)
{
    struct scenario_options how = {
        .sets = options->sets.items,
        .n_sets = options->sets.n,
        .fidelity = options->fidelity,
        .profile_dir = load_profile_dir(perm),
        .tuner = options->as_tuner,
        .no_step = true,
    };
    return load(options->operands.items[0], &how, perm, diag);
}
