/* dpsim fit: raw measurements to the profile of a GPU, or of a network card. */
#include "out/commands.h"

#include "base/sink.h"
#include "io/profile.h"
#include "out/against.h"
#include "out/fit_page.h"
#include "out/fit_profile.h"
#include "out/load.h"
#include "study/card.h"
#include "study/products.h"

enum { MOST_FOLDS = 100 };

/* of a GPU without a base, until its own are fitted: as the loader's defaults */
static const struct gpu unknown_gpu = {.name = "",
                                       .source = "",
                                       .matrix_frac = {0.75, 0.75, 0.75, 0.75, 0.75, 0.75, 0.75},
                                       .tile_edge = 24.0,
                                       .product_floor_s = 5e-6,
                                       .hbm_frac = 0.88,
                                       .hbm_half_B = 2e6,
                                       .memory_B = 17179869184.0,
                                       .kernel_floor_s = 1.3e-6,
                                       .issue_s = 5e-6};

static bool read_base(const struct options *options, struct gpu *gpu, struct arena *perm,
                      struct diag *diag)
{
    static const char nothing[] = "{}";
    *gpu = unknown_gpu;
    if (!options->base) return true;
    struct json *json = json_read_text("--base", nothing, sizeof nothing - 1, perm, diag);
    struct profile_reader reader = {.dir = load_profile_dir(perm), .perm = perm, .diag = diag};
    struct gpu_profile profile;
    int before = diag->n_messages;
    profile_read_gpu(&reader, (struct profile_ref){json, NULL, options->base}, &profile);
    *gpu = profile.gpu;
    return diag_quiet_since(diag, before);
}

static const struct raw **read_all(const struct options *options, struct arena *perm,
                                   struct diag *diag)
{
    const struct raw **raws = arena_new(perm, const struct raw *, options->operands.n);
    for (int i = 0; i < options->operands.n; i++) {
        const char *file = options->operands.items[i];
        raws[i] = options->device ? products_read(file, options->device, perm, diag)
                                  : raw_read(file, perm, diag);
    }
    return raws;
}

/* memory of a device as its file's head says */
static void read_memory(const struct raw *raw, struct gpu *gpu)
{
    const char *end = NULL;
    double memory_B = 0.0;
    if (unit_number(raw_value(raw, "memory_B"), &end, &memory_B) && memory_B >= 1.0)
        gpu->memory_B = memory_B;
}

static void refuse_out_over_input(const struct options *options, struct diag *diag)
{
    for (int i = 0; options->out && i < options->operands.n; i++) {
        if (!sink_would_replace(options->out, options->operands.items[i])) continue;
        diag_error(diag, (struct diag_place){.file = options->operands.items[i]},
                   "--out would replace these measurements (give it another name)");
    }
    if (options->out && options->base && sink_would_replace(options->out, options->base))
        diag_error(diag, (struct diag_place){.file = options->base},
                   "--out would replace the base (give it another name)");
}

static void write_profile(const struct options *options, const struct calibration *fit,
                          struct arena *perm)
{
    struct fit_profile profile = {options->name ? options->name : "", options->base};
    struct sink sink = sink_open(options->out, perm);
    fit_profile_write(sink.out, &profile, fit, *perm);
    sink_close(&sink);
}

static const struct calibration *fit_all(const struct options *options, int n_folds,
                                         struct arena *perm, struct diag *diag)
{
    struct gpu gpu;
    refuse_out_over_input(options, diag);
    const struct raw **raws = read_all(options, perm, diag);
    bool fine = read_base(options, &gpu, perm, diag);
    if (!fine || !diag_ok(diag)) return NULL;
    if (!options->base) read_memory(raws[0], &gpu);
    struct calibrate_input input = {.raws = raws,
                                    .n_raws = options->operands.n,
                                    .base = &gpu,
                                    .based = options->base != NULL,
                                    .options = {.n_folds = n_folds, .dtype = options->dtype}};
    return calibrate(&input, perm, diag);
}

/* Rows of messages alone: others say nothing of a card. */
static const struct raw *only_messages(const struct raw *raw, struct arena *perm)
{
    struct raw *messages = arena_new(perm, struct raw, 1);
    *messages = *raw;
    messages->rows = arena_new(perm, struct raw_row, raw->n_rows);
    messages->n_rows = 0;
    for (int r = 0; r < raw->n_rows; r++) {
        if (card_takes(raw->rows[r].benchmark)) messages->rows[messages->n_rows++] = raw->rows[r];
    }
    return messages;
}

static struct calibration *fit_messages(const struct options *options, int n_folds,
                                        struct arena *perm, struct diag *diag)
{
    refuse_out_over_input(options, diag);
    const struct raw **raws = read_all(options, perm, diag);
    if (!diag_ok(diag)) return NULL;
    int n_rows = 0;
    for (int i = 0; i < options->operands.n; i++) {
        raws[i] = only_messages(raws[i], perm);
        n_rows += raws[i]->n_rows;
    }
    if (n_rows == 0) {
        diag_error(diag, (struct diag_place){.file = options->operands.items[0]},
                   "no rows of messages (wanted ping_pong, socket, message_stream or "
                   "message_both_ways)");
        return NULL;
    }
    struct calibrate_input input = {.raws = raws,
                                    .n_raws = options->operands.n,
                                    .base = &unknown_gpu,
                                    .based = true,
                                    .options = {.n_folds = n_folds}};
    struct calibration *fit = calibrate(&input, perm, diag);
    if (fit) fit->n_notes = 0; /* of what a GPU lacks */
    return fit;
}

static bool read_card(const char *base, struct nic_profile *nic, struct arena *perm,
                      struct diag *diag)
{
    static const char nothing[] = "{}";
    struct json *json = json_read_text("--base", nothing, sizeof nothing - 1, perm, diag);
    struct profile_reader reader = {.dir = load_profile_dir(perm), .perm = perm, .diag = diag};
    int before = diag->n_messages;
    profile_read_nic(&reader, (struct profile_ref){json, NULL, base}, nic);
    return diag_quiet_since(diag, before);
}

static bool refuse_untold(const struct card *card, struct diag *diag)
{
    const struct calibrate_part *part = card_untold(card);
    if (!part) return false;
    const struct calibrate_row *first = part->rows[0];
    const char *why = part->problem ? part->problem : "does not rise with the size";
    diag_error(diag, (struct diag_place){.file = first->raw->file, .line = first->row->line},
               "from here on the line of %s %s: it tells no rate", part->name, why);
    return true;
}

static int fit_card(const struct options *options, int n_folds, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct nic_profile base;
    bool fine = !options->base || read_card(options->base, &base, perm, &diag);
    struct calibration *fit = fine ? fit_messages(options, n_folds, perm, &diag) : NULL;
    if (!fit || !diag_ok(&diag)) {
        diag_print(&diag, stderr);
        return EXIT_INPUT;
    }
    struct card card = card_fit(fit, options->base ? &base : NULL, *perm);
    if (refuse_untold(&card, &diag)) {
        diag_print(&diag, stderr);
        return EXIT_INPUT;
    }
    if (options->out) {
        struct fit_profile profile = {options->name ? options->name : "", options->base};
        struct sink sink = sink_open(options->out, perm);
        fit_card_write(sink.out, &profile, &card, fit, *perm);
        sink_close(&sink);
    }
    struct sink sink = sink_open(NULL, perm);
    if (options->json) {
        fit_json_print(sink.out, fit, *perm);
    } else {
        fit_page_print(sink.out, fit, *perm);
        fit_card_print(sink.out, &card);
    }
    sink_close(&sink);
    return EXIT_FINE;
}

int fit_command(const struct options *options, struct arena *perm)
{
    if (options->against.n > 0) return against_fit_command(options, perm);
    const char *end = NULL;
    double folds = 0.0;
    if (options->folds &&
        (!unit_number(options->folds, &end, &folds) || *end || folds < 2.0 || folds > MOST_FOLDS)) {
        fprintf(stderr, "dpsim: --folds wants a number from 2 to %d\n", MOST_FOLDS);
        return EXIT_USAGE;
    }
    if (options->link) return fit_card(options, (int)folds, perm);
    struct diag diag = {.perm = perm};
    const struct calibration *fit = fit_all(options, (int)folds, perm, &diag);
    if (!fit || !diag_ok(&diag)) {
        diag_print(&diag, stderr);
        return EXIT_INPUT;
    }
    if (options->out) write_profile(options, fit, perm);
    struct sink sink = sink_open(NULL, perm);
    if (options->json)
        fit_json_print(sink.out, fit, *perm);
    else
        fit_page_print(sink.out, fit, *perm);
    sink_close(&sink);
    return EXIT_FINE;
}
