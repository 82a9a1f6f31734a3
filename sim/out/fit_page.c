#include "out/fit_page.h"

#include "out/writer.h"

#include <math.h>
#include <string.h>

enum { N_WORST = 3, TEXT_MAX = 64 };

static double percent(double logarithm)
{
    return 100.0 * logarithm;
}

static double left_out(const struct calibrate_row *row)
{
    return log(row->left_out_s / row->measured_s);
}

const char *fit_row_text(const struct calibrate_row *row, struct arena *perm)
{
    const struct raw_row *raw = row->row;
    const char *text = arena_text(perm, "%s", raw->benchmark);
    if (raw->dtype[0]) text = arena_text(perm, "%s %s", text, raw->dtype);
    if (raw->layout[0]) text = arena_text(perm, "%s %s", text, raw->layout);
    if (raw->k > 0)
        text = arena_text(perm, "%s %lld x %lld x %lld", text, (long long)raw->m, (long long)raw->n,
                          (long long)raw->k);
    if (raw->k > 0 && raw->batch > 1)
        text = arena_text(perm, "%s, %lld of them", text, (long long)raw->batch);
    if (raw->k == 0 && raw->size_B > 0.0) text = arena_text(perm, "%s %.9g B", text, raw->size_B);
    return arena_text(perm, "%s (line %d): %+.0f %%", text, raw->line,
                      100.0 * expm1(left_out(row)));
}

int fit_worst(const struct calibrate_part *part, int n, int *worst)
{
    int found = 0;
    while (found < n && found < part->n_rows) {
        int at = -1;
        for (int r = 0; r < part->n_rows; r++) {
            bool taken = false;
            for (int w = 0; w < found; w++) taken = taken || worst[w] == r;
            if (taken) continue;
            if (at < 0 || fabs(left_out(part->rows[r])) > fabs(left_out(part->rows[at]))) at = r;
        }
        worst[found++] = at;
    }
    return found;
}

static const char *value_text(const struct calibrate_constant *constant, double value,
                              struct arena *perm)
{
    char text[TEXT_MAX];
    if (constant->dim == DIM_FRACTION || constant->dim == DIM_NUMBER)
        return arena_text(perm, "%.4g", value);
    unit_print(value, constant->dim, text, sizeof text);
    return arena_text(perm, "%s", text);
}

/* A constant whose error is as large as itself was not seen by the data. */
static const double UNSEEN_SD = 1;

static void print_constant(FILE *out, const char *part, const struct calibrate_constant *constant,
                           struct arena scratch)
{
    const char *error = constant->at_bound                  ? "at its bound"
                        : constant->relative_sd > UNSEEN_SD ? "not determined"
                        : constant->relative_sd > 0.0
                            ? arena_text(&scratch, "+- %.2g %%", percent(constant->relative_sd))
                            : "";
    fprintf(out, "  %-22s %-18s %12s  %-14s %12s\n", part, constant->key,
            value_text(constant, constant->value, &scratch), error,
            constant->before > 0.0 ? value_text(constant, constant->before, &scratch) : "");
}

/* The slope of a line, or of a piece of one, has a unit of its part's. */
static const char *key_text(const struct calibrate_part *part,
                            const struct calibrate_constant *constant, struct arena *perm)
{
    if (strncmp(constant->key, "beta", strlen("beta")) != 0) return constant->key;
    bool bytes = strcmp(part->measured.unit, "B") == 0;
    return arena_text(perm, "%s (s/%s)", constant->key, bytes ? "B" : "kernel");
}

static void print_constants(FILE *out, const struct calibration *fit, struct arena scratch)
{
    fprintf(out, "  %-22s %-18s %12s  %-14s %12s\n", "part", "constant", "value", "error",
            "in the base");
    for (int c = 0; c < fit->n_launch; c++) print_constant(out, "launch", &fit->launch[c], scratch);
    for (int p = 0; p < fit->n_parts; p++) {
        const struct calibrate_part *part = &fit->parts[p];
        for (int c = 0; c < part->n_constants; c++) {
            struct calibrate_constant constant = part->constants[c];
            constant.key = key_text(part, &constant, &scratch);
            print_constant(out, part->name, &constant, scratch);
        }
    }
}

static void print_errors(FILE *out, const char *name, struct calibrate_row **rows, int n,
                         int n_groups, struct arena scratch)
{
    struct calibrate_error fitted = calibrate_errors(rows, n, false, scratch);
    struct calibrate_error other = calibrate_errors(rows, n, true, scratch);
    const char *groups = n_groups > 0 ? arena_text(&scratch, "%d", n_groups) : "";
    fprintf(out, "  %-26s %5d %6s   %5.1f %5.1f %+5.1f   %5.1f %5.1f %+5.1f\n", name, n, groups,
            percent(fitted.median), percent(fitted.p90), percent(fitted.bias),
            percent(other.median), percent(other.p90), percent(other.bias));
}

/* the rows of one benchmark in a part, where the part has several */
static void print_benchmarks(FILE *out, const struct calibrate_part *part, struct arena scratch)
{
    struct calibrate_row **own = arena_new(&scratch, struct calibrate_row *, part->n_rows);
    for (int r = 0; r < part->n_rows; r++) {
        const char *name = part->rows[r]->row->benchmark;
        int first = 0;
        while (strcmp(part->rows[first]->row->benchmark, name) != 0) first++;
        if (first < r) continue;
        int n = 0;
        for (int o = r; o < part->n_rows; o++) {
            if (strcmp(part->rows[o]->row->benchmark, name) == 0) own[n++] = part->rows[o];
        }
        if (n == part->n_rows) return;
        print_errors(out, arena_text(&scratch, "  %s", name), own, n, 0, scratch);
    }
}

static void print_part(FILE *out, const struct calibrate_part *part, struct arena scratch)
{
    int worst[N_WORST];
    print_errors(out, part->name, part->rows, part->n_rows, part->measured.n_groups, scratch);
    print_benchmarks(out, part, scratch);
    if (part->n_odd > 0)
        fprintf(
            out,
            "      %d of them contradict larger ones that were faster by half or more; %d shapes "
            "have none: left out %.1f, 90th percentile %.1f\n",
            part->n_odd, part->n_clean, percent(part->left_out_clean.median),
            percent(part->left_out_clean.p90));
    int n = fit_worst(part, N_WORST, worst);
    fputs("      worst:", out);
    for (int w = 0; w < n; w++)
        fprintf(out, "%s %s", w > 0 ? ";" : "", fit_row_text(part->rows[worst[w]], &scratch));
    fputc('\n', out);
    if (part->problem) fprintf(out, "      problem: %s\n", part->problem);
}

void fit_page_print(FILE *out, const struct calibration *fit, struct arena scratch)
{
    fprintf(out, "measured on %s%s%s\n\nconstants (standard errors)\n",
            fit->device[0] ? fit->device : "an unnamed device", fit->date[0] ? ", " : "",
            fit->date);
    print_constants(out, fit, scratch);
    fputs("\nerrors in % of the time (ln(predicted / measured))\n"
          "                                            fitted              left out\n"
          "  part                        rows shapes   median  p90  bias   median  p90  bias\n",
          out);
    for (int p = 0; p < fit->n_parts; p++) print_part(out, &fit->parts[p], scratch);
    if (fit->n_notes > 0) fputs("\nnotes\n", out);
    for (int i = 0; i < fit->n_notes; i++) fprintf(out, "  %s\n", fit->notes[i]);
}

static void print_card_value(FILE *out, const char *key, double value, enum dim dim)
{
    char text[32];
    unit_print(value, dim, text, sizeof text);
    fprintf(out, "  %-18s %12s\n", key, text);
}

void fit_card_print(FILE *out, const struct card *card)
{
    const struct nic_profile *nic = &card->nic;
    fputs("\nas a network card\n", out);
    print_card_value(out, "bandwidth", nic->bandwidth_Bps, DIM_RATE);
    print_card_value(out, "efficiency", nic->efficiency, DIM_FRACTION);
    if (card->start) {
        print_card_value(out, "latency", nic->latency_s, DIM_TIME);
        print_card_value(out, "host_latency", nic->host_latency_s, DIM_TIME);
        print_card_value(out, "handshake", nic->handshake_s, DIM_TIME);
        print_card_value(out, "eager", nic->eager_B, DIM_SIZE);
    } else {
        fputs("  no rows of ping_pong or socket: latencies stay\n", out);
    }
    fprintf(out, "  its %s are off by %.1f %% (median), 90th percentile %.1f %%\n",
            card->start ? "half round trips" : "messages", percent(card->error.median),
            percent(card->error.p90));
}

static void json_error(struct writer *writer, const char *key, const struct calibrate_error *error)
{
    writer_flat_object(writer, key);
    writer_number(writer, "median", error->median);
    writer_number(writer, "p90", error->p90);
    writer_number(writer, "bias", error->bias);
    writer_number(writer, "rms", error->rms);
    writer_end(writer);
}

static void json_constant(struct writer *writer, const struct calibrate_constant *constant)
{
    writer_flat_object(writer, NULL);
    writer_text(writer, "key", constant->key);
    writer_number(writer, "value", constant->value);
    writer_number(writer, "relative_sd", constant->relative_sd);
    writer_bool(writer, "at_bound", constant->at_bound);
    if (constant->before > 0.0) writer_number(writer, "before", constant->before);
    writer_end(writer);
}

static void json_part(struct writer *writer, const struct calibrate_part *part,
                      struct arena scratch)
{
    int worst[N_WORST];
    writer_object(writer, NULL);
    writer_text(writer, "part", part->name);
    writer_integer(writer, "rows", part->n_rows);
    writer_integer(writer, "shapes", part->measured.n_groups);
    writer_number(writer, "least", part->measured.least);
    writer_number(writer, "most", part->measured.most);
    writer_text(writer, "unit", part->measured.unit);
    json_error(writer, "fitted", &part->fitted);
    json_error(writer, "left_out", &part->left_out);
    if (part->n_odd > 0) {
        writer_integer(writer, "contradicting_rows", part->n_odd);
        writer_integer(writer, "clean_shapes", part->n_clean);
        json_error(writer, "left_out_of_clean_shapes", &part->left_out_clean);
    }
    writer_number(writer, "fit_sd", part->measured.fit_sd);
    writer_number(writer, "chi2", part->chi2);
    writer_list(writer, "constants");
    for (int c = 0; c < part->n_constants; c++) json_constant(writer, &part->constants[c]);
    writer_end(writer);
    int n = fit_worst(part, N_WORST, worst);
    writer_list(writer, "worst");
    for (int w = 0; w < n; w++)
        writer_text(writer, NULL, fit_row_text(part->rows[worst[w]], &scratch));
    writer_end(writer);
    writer_text(writer, "problem", part->problem);
    writer_end(writer);
}

void fit_json_print(FILE *out, const struct calibration *fit, struct arena scratch)
{
    struct writer writer = {.out = out};
    writer_object(&writer, NULL);
    writer_text(&writer, "device", fit->device);
    writer_text(&writer, "date", fit->date);
    writer_list(&writer, "launch");
    for (int c = 0; c < fit->n_launch; c++) json_constant(&writer, &fit->launch[c]);
    writer_end(&writer);
    writer_list(&writer, "parts");
    for (int p = 0; p < fit->n_parts; p++) json_part(&writer, &fit->parts[p], scratch);
    writer_end(&writer);
    writer_list(&writer, "notes");
    for (int i = 0; i < fit->n_notes; i++) writer_text(&writer, NULL, fit->notes[i]);
    writer_end(&writer);
    writer_end(&writer);
}
