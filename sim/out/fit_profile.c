#include "out/fit_profile.h"

#include "out/fit_page.h"
#include "out/writer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { N_WORST = 3, MAX_SOURCES = 64 };

/* a key of the profile and where its value is from */
struct entry {
    const char *key, *value, *source;
    bool bare; /* a number, not text */
};
struct entries {
    struct entry items[MAX_SOURCES];
    int n;
    struct arena *perm;
};

static bool has(const struct entries *entries, const char *key)
{
    for (int i = 0; i < entries->n; i++) {
        if (strcmp(entries->items[i].key, key) == 0) return true;
    }
    return false;
}

/* as units are read back: full digits, the unit that people use */
static const char *value_text(double value, enum dim dim, struct arena *perm)
{
    static const struct {
        enum dim dim;
        double factor;
        const char *unit;
    } forms[] = {{DIM_TIME, 1e6, "us"},
                 {DIM_SIZE, 1.0, "B"},
                 {DIM_RATE, 1e-9, "GB/s"},
                 {DIM_FLOPS, 1e-12, "TFLOP/s"}};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        if (forms[f].dim == dim)
            return arena_text(perm, "%.6g%s", value * forms[f].factor, forms[f].unit);
    }
    return arena_text(perm, "%.6g", value);
}

static void add(struct entries *entries, const char *key, double value, enum dim dim,
                const char *source)
{
    if (has(entries, key) || entries->n == MAX_SOURCES) return;
    entries->items[entries->n++] = (struct entry){.key = key,
                                                  .value = value_text(value, dim, entries->perm),
                                                  .source = source,
                                                  .bare = dim == DIM_FRACTION || dim == DIM_NUMBER};
}

static const char *error_text(const struct calibrate_constant *constant, struct arena *perm)
{
    if (constant->at_bound) return "at its bound";
    return arena_text(perm, "standard error %.2g %%", 100.0 * constant->relative_sd);
}

static const char *machine(const struct calibration *fit, struct arena *perm)
{
    return arena_text(perm, "%s%s%s", fit->device[0] ? fit->device : "an unnamed device",
                      fit->date[0] ? ", " : "", fit->date);
}

static void add_fitted(struct entries *entries, const struct calibration *fit,
                       const struct calibrate_part *part)
{
    for (int c = 0; c < part->n_constants; c++) {
        const struct calibrate_constant *constant = &part->constants[c];
        if (!constant->in_profile) continue;
        const char *source = arena_text(
            entries->perm,
            "fitted to %d rows of %s measured on %s, %s; %s: median error %.1f %%, 90th percentile "
            "%.1f %%, of shapes left out %.1f and %.1f %%",
            part->n_rows, part->name, machine(fit, entries->perm),
            error_text(constant, entries->perm), part->name, 100.0 * part->fitted.median,
            100.0 * part->fitted.p90, 100.0 * part->left_out.median, 100.0 * part->left_out.p90);
        add(entries, constant->key, constant->value, constant->dim, source);
    }
}

static void add_launch(struct entries *entries, const struct calibration *fit)
{
    for (int c = 0; c < fit->n_launch; c++)
        add(entries, fit->launch[c].key, fit->launch[c].value, DIM_TIME,
            arena_text(entries->perm, "empty kernels launched on %s, %s",
                       machine(fit, entries->perm), error_text(&fit->launch[c], entries->perm)));
}

/* after what was fitted, which goes first */
static void add_reset(struct entries *entries, const struct calibration *fit)
{
    for (int c = 0; c < fit->n_reset; c++)
        add(entries, fit->reset[c].key, fit->reset[c].value, fit->reset[c].dim,
            arena_text(entries->perm, "as without it: products measured on %s do not show it",
                       machine(fit, entries->perm)));
}

/* what a profile has to say and no base does */
static void add_nominal(struct entries *entries, const struct calibration *fit)
{
    const char *reached = arena_text(entries->perm,
                                     "five quarters of the best that was measured on %s: no data "
                                     "sheet was given; reach is a share of it",
                                     machine(fit, entries->perm));
    for (int t = 0; t < N_DTYPES; t++) {
        if (fit->gpu.peak_flops[t] > 0.0)
            add(entries, arena_text(entries->perm, "peak_%s", dtype_names[t]),
                fit->gpu.peak_flops[t], DIM_FLOPS, reached);
    }
    add(entries, "peak_vector", fit->gpu.vector_flops, DIM_FLOPS, reached);
    add(entries, "memory_bandwidth", fit->gpu.hbm_Bps, DIM_RATE, reached);
    add(entries, "memory", fit->gpu.memory_B, DIM_SIZE,
        arena_text(entries->perm, "as the head of %s says; 16 GiB when it does not",
                   fit->raws[0]->file));
}

static void write_part(struct writer *writer, const struct calibrate_part *part,
                       struct arena scratch)
{
    const struct measured_part *measured = &part->measured;
    int worst[N_WORST];
    writer_object(writer, NULL);
    writer_text(writer, "part", measured->part);
    writer_text(writer, "dtype", measured->dtype);
    writer_text(writer, "series", part->name);
    writer_text(writer, "unit", measured->unit);
    writer_number(writer, "least", measured->least);
    writer_number(writer, "most", measured->most);
    writer_integer(writer, "rows", measured->n_rows);
    writer_integer(writer, "groups", measured->n_groups);
    writer_number(writer, "fit_sd", measured->fit_sd);
    writer_number(writer, "left_out_sd", measured->left_out_sd);
    writer_number(writer, "left_out_median", measured->left_out_median);
    writer_number(writer, "left_out_p90", measured->left_out_p90);
    writer_number(writer, "left_out_bias", measured->left_out_bias);
    writer_list(writer, "constants");
    for (int c = 0; c < part->n_constants; c++) {
        writer_flat_object(writer, NULL);
        writer_text(writer, "key", part->constants[c].key);
        writer_number(writer, "value", part->constants[c].value);
        writer_number(writer, "relative_sd", part->constants[c].relative_sd);
        writer_end(writer);
    }
    writer_end(writer);
    writer_list(writer, "covariance");
    for (int a = 0; a < part->n_constants; a++) {
        writer_flat_list(writer, NULL);
        for (int b = 0; b < part->n_constants; b++)
            writer_number(writer, NULL, part->covariance[a * part->n_constants + b]);
        writer_end(writer);
    }
    writer_end(writer);
    writer_list(writer, "worst");
    int n = fit_worst(part, N_WORST, worst);
    for (int w = 0; w < n; w++)
        writer_text(writer, NULL, fit_row_text(part->rows[worst[w]], &scratch));
    writer_end(writer);
    writer_end(writer);
}

static void write_calibration(struct writer *writer, const struct calibration *fit,
                              struct arena scratch)
{
    writer_object(writer, "calibration");
    writer_text(writer, "device", fit->device);
    writer_text(writer, "date", fit->date);
    writer_list(writer, "files");
    for (int f = 0; f < fit->n_raws; f++) writer_text(writer, NULL, fit->raws[f]->file);
    writer_end(writer);
    writer_list(writer, "parts");
    for (int p = 0; p < fit->n_parts; p++) {
        if (fit->parts[p].in_profile) write_part(writer, &fit->parts[p], scratch);
    }
    writer_end(writer);
    writer_end(writer);
}

/* A base that is a file is named by its whole path, as the profile may be written elsewhere. */
static const char *base_text(const char *base, struct arena *perm)
{
    char path[PATH_MAX];
    return strchr(base, '/') || strstr(base, ".json")
               ? arena_text(perm, "%s", realpath(base, path) ? path : base)
               : base;
}

static void write_entry(struct writer *writer, const struct entry *entry)
{
    const char *end = NULL;
    double number = 0.0;
    if (entry->bare && unit_number(entry->value, &end, &number))
        writer_number(writer, entry->key, number);
    else
        writer_text(writer, entry->key, entry->value);
}

static void write_entries(FILE *out, const char *kind, const struct fit_profile *profile,
                          const struct entries *entries, const struct calibration *fit)
{
    struct arena *perm = entries->perm;
    struct writer writer = {.out = out};
    writer_object(&writer, NULL);
    writer_text(&writer, "kind", kind);
    if (profile->base) writer_text(&writer, "base", base_text(profile->base, perm));
    writer_text(&writer, "name", profile->name[0] ? profile->name : fit->device);
    writer_text(&writer, "source", arena_text(perm, "measured on %s", machine(fit, perm)));
    for (int i = 0; i < entries->n; i++) write_entry(&writer, &entries->items[i]);
    writer_object(&writer, "sources");
    for (int i = 0; i < entries->n; i++)
        writer_text(&writer, entries->items[i].key, entries->items[i].source);
    writer_end(&writer);
    write_calibration(&writer, fit, *perm);
    writer_end(&writer);
}

void fit_profile_write(FILE *out, const struct fit_profile *profile, const struct calibration *fit,
                       struct arena scratch)
{
    struct entries entries = {.perm = &scratch};
    if (!profile->base) add_nominal(&entries, fit);
    add_launch(&entries, fit);
    for (int p = 0; p < fit->n_parts; p++) add_fitted(&entries, fit, &fit->parts[p]);
    add_reset(&entries, fit);
    write_entries(out, "gpu", profile, &entries, fit);
}

/* how the number was told, and how far the card's law is off */
static const char *card_source(const struct card *card, const struct calibrate_part *part,
                               const struct calibration *fit, struct arena *perm)
{
    return arena_text(
        perm,
        "fitted to %d messages (%s) measured on %s; line in size: median error %.1f %%, of octaves "
        "left out %.1f and 90th percentile %.1f %%; as a card: median %.1f, 90th percentile %.1f "
        "%%",
        part->n_rows, part->name, machine(fit, perm), 100.0 * part->fitted.median,
        100.0 * part->left_out.median, 100.0 * part->left_out.p90, 100.0 * card->error.median,
        100.0 * card->error.p90);
}

void fit_card_write(FILE *out, const struct fit_profile *profile, const struct card *card,
                    const struct calibration *fit, struct arena scratch)
{
    struct entries entries = {.perm = &scratch};
    const struct nic_profile *nic = &card->nic;
    const char *rate = card_source(card, card->rate, fit, &scratch);
    add(&entries, "bandwidth", nic->bandwidth_Bps, DIM_RATE,
        profile->base && nic->efficiency < 1.0 ? "of the base" : rate);
    add(&entries, "efficiency", nic->efficiency, DIM_FRACTION, rate);
    if (card->start) {
        const char *start = card_source(card, card->start, fit, &scratch);
        add(&entries, "latency", nic->latency_s, DIM_TIME,
            nic->host_latency_s > 0.0 && profile->base ? "of the base"
            : profile->base                            ? start
                            : "none: all of the start-up is in host_latency");
        add(&entries, "host_latency", nic->host_latency_s, DIM_TIME, start);
        add(&entries, "handshake", nic->handshake_s, DIM_TIME, start);
        add(&entries, "eager", nic->eager_B, DIM_SIZE, start);
    }
    write_entries(out, "nic", profile, &entries, fit);
}
