#include "out/against.h"

#include "base/sink.h"
#include "base/units.h"
#include "io/profile.h"
#include "io/version.h"
#include "io/words.h"
#include "out/load.h"
#include "out/told.h"
#include "out/writer.h"
#include "study/against_fit.h"
#include "study/what_if.h"

#include <math.h>
#include <string.h>

static const double TOLERANCE = 0.1;

/* Of healthy series 95 in 100 take less than so many times the predicted time at small and at middle sizes
 * (tests/published/collectives.csv, medians of each series over sizes to 64 KiB and to 16 MiB: 1.66 and 1.81). */
static const double LATENCY_SLOW = 1.8;

/* measured files of a command, with their scenarios */
struct request {
    const struct text_list *files, *scenarios;
};

/* note_library — the version that the file names, where the scenario takes the rules of another. */
static void note_library(const struct measured *measured, const struct inputs *in,
                         struct arena *perm)
{
    const char *version = raw_value(&measured->raw, "nccl");
    const char *names[PROFILE_MAX_KNOWN];
    if (!version[0] || strncmp(in->library.name, "nccl", 4) != 0) return;
    const char *name = arena_text(perm, "nccl-%s", version);
    int n = profile_list(load_profile_dir(perm), &profile_kinds[PROFILE_LIBRARY], names, perm);
    const char *nearest = version_nearest(name, names, n);
    if (nearest && strcmp(nearest, in->library.name) != 0)
        fprintf(stderr, "%s: is of NCCL %s, the scenario takes %s: \"library\": \"%s\"\n",
                measured->raw.file, version, in->library.name, name);
}

/* note_gpu — the GPU that the file names, where that is a known one and not the scenario's. */
static void note_gpu(const struct measured *measured, const struct inputs *in, struct arena *perm)
{
    const char *device = raw_value(&measured->raw, "device");
    const char *names[PROFILE_MAX_KNOWN];
    if (!device[0]) return;
    const char *called = words_short(device, perm);
    int n = profile_list(load_profile_dir(perm), &profile_kinds[PROFILE_GPU], names, perm);
    const char *known = words_known(called, names, n);
    if (!known) known = words_profile("gpu", called);
    if (known && strcmp(known, in->gpu.name) != 0)
        fprintf(stderr, "%s: is of %s, the scenario has %s: \"gpu\": \"%s\"\n", measured->raw.file,
                device, in->gpu.name, known);
}

static struct against *open_all(const struct request *request, const struct options *options,
                                struct arena *perm, struct diag *diag)
{
    struct reading_options how;
    const char *wrong = told_read(options, &how, perm);
    int n = request->files->n;
    if (wrong) diag_error(diag, (struct diag_place){.file = "command line"}, "%s", wrong);
    if (request->scenarios->n != 1 && request->scenarios->n != n)
        diag_error(diag, (struct diag_place){.file = "--against"},
                   "%d scenarios for %d files (wanted one, or one for each)", request->scenarios->n,
                   n);
    if (!diag_ok(diag)) return NULL;
    struct measured **measured = arena_new(perm, struct measured *, n);
    for (int f = 0; f < n; f++) {
        measured[f] = measured_read(request->files->items[f], options->as, &how, perm, diag);
        if (measured[f]) told_print(stderr, measured[f]);
    }
    if (!diag_ok(diag)) return NULL;
    struct scenario_options *scenario = arena_new(perm, struct scenario_options, 1);
    *scenario = (struct scenario_options){.sets = options->sets.items,
                                          .n_sets = options->sets.n,
                                          .fidelity = options->fidelity,
                                          .profile_dir = load_profile_dir(perm)};
    struct against_files files = {.measured = measured,
                                  .n_measured = n,
                                  .scenarios = request->scenarios->items,
                                  .n_scenarios = request->scenarios->n,
                                  .forced = {options->algorithm, options->protocol}};
    struct against *against = against_open(&files, scenario, perm, diag);
    if (against && n == 1) {
        note_library(measured[0], against->inputs[0], perm);
        note_gpu(measured[0], against->inputs[0], perm);
    }
    return against;
}

static int give_up(const struct diag *diag)
{
    diag_print(diag, stderr);
    return EXIT_INPUT;
}

static double error_of(const struct against_point *point)
{
    return point->predicted_s / point->measured_s - 1;
}

static const char *size_text(const struct against_point *point, char *text, int room)
{
    if (point->step)
        snprintf(text, (size_t)room, "step");
    else
        snprintf(text, (size_t)room, "%.0f", point->size_B);
    return text;
}

/* --- points ------------------------------------------------------------------------------------------- */

static void print_points(FILE *out, const struct against *against, bool left_out)
{
    for (int g = 0; g < against->n_groups; g++) {
        const struct against_group *group = &against->groups[g];
        fprintf(out, "%s\n%15s %13s %13s %10s%s\n", group->name, "size (B)", "measured (us)",
                "predicted (us)", "pred/meas", left_out ? "   left out" : "");
        for (int i = group->first; i < group->first + group->n; i++) {
            const struct against_point *point = &against->points[i];
            char size[32];
            fprintf(out, "%15s %13.2f %14.2f %10.3f", size_text(point, size, sizeof size),
                    1e6 * point->measured_s, 1e6 * point->predicted_s, 1 + error_of(point));
            if (left_out) fprintf(out, " %10.3f", point->left_out_s / point->measured_s);
            fputc('\n', out);
        }
    }
}

static void print_points_json(struct writer *writer, const struct against *against, bool left_out)
{
    writer_list(writer, "points");
    for (int i = 0; i < against->n_points; i++) {
        const struct against_point *point = &against->points[i];
        writer_flat_object(writer, NULL);
        writer_text(writer, "series", against->groups[point->group].name);
        writer_number(writer, "size_B", point->size_B);
        writer_number(writer, "measured_s", point->measured_s);
        writer_number(writer, "predicted_s", point->predicted_s);
        writer_number(writer, "error", error_of(point));
        if (left_out) writer_number(writer, "left_out_s", point->left_out_s);
        writer_end(writer);
    }
    writer_end(writer);
}

/* --- the gate ------------------------------------------------------------------------------------------ */

struct verdict {
    double error; /* median over the series */
    bool good;
    const char *suspicion;
};

static struct verdict judge(const struct against *against, int g, double tolerance,
                            struct arena *perm)
{
    const struct against_group *group = &against->groups[g];
    const struct against_point *points = &against->points[group->first];
    struct verdict verdict = {.error = against_error(points, group->n, *perm)};
    verdict.good = verdict.error <= tolerance;
    verdict.suspicion = verdict.good ? "" : what_if_suspicion(against, g, *perm);
    if (!verdict.good && !verdict.suspicion[0])
        verdict.suspicion = against_suspicion(points, group->n, tolerance, perm);
    return verdict;
}

/* text inside XML */
static void xml_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        const char *special = strchr("&<>\"", *text);
        static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
        if (special)
            fputs(names[special - "&<>\""], out);
        else
            fputc(*text, out);
    }
}

static void write_junit(const char *path, const struct against *against,
                        const struct verdict *verdicts, struct arena *perm)
{
    struct sink sink = sink_open(path, perm);
    int n_bad = 0;
    for (int g = 0; g < against->n_groups; g++) n_bad += !verdicts[g].good;
    fprintf(sink.out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"dpsim check\" "
            "tests=\"%d\" failures=\"%d\">\n",
            against->n_groups, n_bad);
    for (int g = 0; g < against->n_groups; g++) {
        fputs("  <testcase classname=\"dpsim\" name=\"", sink.out);
        xml_text(sink.out, against->groups[g].name);
        fputs("\">", sink.out);
        if (!verdicts[g].good) {
            fprintf(sink.out, "<failure message=\"median error %.1f %%; ", 100 * verdicts[g].error);
            xml_text(sink.out, verdicts[g].suspicion);
            fputs("\"/>", sink.out);
        }
        fputs("</testcase>\n", sink.out);
    }
    fputs("</testsuite>\n", sink.out);
    sink_close(&sink);
}

static void print_verdicts(FILE *out, const struct against *against, const struct verdict *verdicts,
                           double tolerance)
{
    for (int g = 0; g < against->n_groups; g++)
        fprintf(out, "%s %s: median error %.1f %% of %d, tolerance %.1f %%%s%s\n",
                verdicts[g].good ? "ok  " : "FAIL", against->groups[g].name,
                100 * verdicts[g].error, against->groups[g].n, 100 * tolerance,
                verdicts[g].suspicion[0] ? "\n     first suspicion: " : "", verdicts[g].suspicion);
}

static void print_verdicts_json(FILE *out, const struct against *against,
                                const struct verdict *verdicts, double tolerance)
{
    struct writer writer = {.out = out};
    writer_object(&writer, NULL);
    writer_number(&writer, "tolerance", tolerance);
    writer_list(&writer, "series");
    for (int g = 0; g < against->n_groups; g++) {
        writer_flat_object(&writer, NULL);
        writer_text(&writer, "id", against->groups[g].name);
        writer_integer(&writer, "n", against->groups[g].n);
        writer_number(&writer, "median_abs_err", verdicts[g].error);
        writer_bool(&writer, "good", verdicts[g].good);
        writer_text(&writer, "suspicion", verdicts[g].suspicion);
        writer_end(&writer);
    }
    writer_end(&writer);
    print_points_json(&writer, against, false);
    writer_end(&writer);
}

/* "10%" or 0.1 */
static bool read_tolerance(const char *text, double *tolerance)
{
    const char *end = NULL;
    *tolerance = TOLERANCE;
    if (!text) return true;
    if (!unit_number(text, &end, tolerance)) return false;
    if (*end == '%') *tolerance /= 100;
    return (*end == '\0' || !strcmp(end, "%")) && *tolerance > 0 && *tolerance <= 10;
}

int against_check(const struct options *options, struct arena *perm)
{
    double tolerance = 0;
    if (!read_tolerance(options->tolerance, &tolerance)) {
        fprintf(stderr, "dpsim: --tolerance wants a share, such as 10%% or 0.1\n");
        return EXIT_USAGE;
    }
    struct diag diag = {.perm = perm};
    struct request request = {&options->operands, &options->against};
    const struct against *against = open_all(&request, options, perm, &diag);
    if (!against) return give_up(&diag);
    struct verdict *verdicts = arena_new(perm, struct verdict, against->n_groups);
    bool good = true;
    for (int g = 0; g < against->n_groups; g++) {
        verdicts[g] = judge(against, g, tolerance, perm);
        good &= verdicts[g].good;
    }
    if (options->junit) write_junit(options->junit, against, verdicts, perm);
    struct sink sink = sink_open(NULL, perm);
    if (options->json)
        print_verdicts_json(sink.out, against, verdicts, tolerance);
    else
        print_verdicts(sink.out, against, verdicts, tolerance);
    sink_close(&sink);
    return good ? EXIT_FINE : EXIT_INPUT;
}

/* whether a group is as it should be, and if not, why */
struct answer {
    struct what_if_pace pace;
    double error; /* median of |predicted / measured - 1| */
    const char *suspicion;
};

/* answer_of — what is within what healthy clusters differ by gives no suspicion. */
static struct answer answer_of(const struct against *against, int g, struct arena *perm)
{
    const struct against_group *group = &against->groups[g];
    const struct against_point *points = &against->points[group->first];
    struct answer answer = {.pace = what_if_pace(against, g, *perm),
                            .error = against_error(points, group->n, *perm),
                            .suspicion = what_if_suspicion(against, g, *perm)};
    double off = answer.pace.ratio > what_if_slow ? what_if_slow : LATENCY_SLOW;
    if (!answer.suspicion[0]) answer.suspicion = against_suspicion(points, group->n, off - 1, perm);
    return answer;
}

static void print_answer(FILE *out, const struct against_group *group, bool step,
                         const struct answer *answer)
{
    if (!step) {
        fprintf(out, "# %s: %s take %.2f of the predicted time, %s (healthy: %g to %g)\n",
                group->name, answer->pace.large ? "8 MB and more" : "all sizes", answer->pace.ratio,
                answer->pace.verdict, what_if_fast, what_if_slow);
    }
    fprintf(out, "# %s: median error %.1f %%%s%s\n", group->name, 100 * answer->error,
            answer->suspicion[0] ? "; first suspicion: " : "", answer->suspicion);
}

static void print_answer_json(struct writer *writer, const struct against_group *group, bool step,
                              const struct answer *answer)
{
    writer_flat_object(writer, NULL);
    writer_text(writer, "series", group->name);
    if (!step) {
        writer_number(writer, "measured_over_predicted", answer->pace.ratio);
        writer_text(writer, "verdict", answer->pace.verdict);
    }
    writer_number(writer, "median_abs_err", answer->error);
    writer_text(writer, "suspicion", answer->suspicion);
    writer_end(writer);
}

static void print_answers(struct writer *writer, const struct against *against, bool json,
                          struct arena *perm)
{
    if (json) writer_list(writer, "series");
    for (int g = 0; g < against->n_groups; g++) {
        const struct against_group *group = &against->groups[g];
        bool step = against->points[group->first].step;
        struct answer answer = answer_of(against, g, perm);
        if (json)
            print_answer_json(writer, group, step, &answer);
        else
            print_answer(writer->out, group, step, &answer);
    }
    if (json) writer_end(writer);
}

int against_compare(const struct options *options, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    const char *file = options->compare;
    struct text_list files = {&file, 1};
    struct request request = {&files, &options->operands};
    const struct against *against = open_all(&request, options, perm, &diag);
    if (!against) return give_up(&diag);
    struct sink sink = sink_open(NULL, perm);
    struct writer writer = {.out = sink.out};
    if (options->json) {
        writer_object(&writer, NULL);
        print_points_json(&writer, against, false);
        print_answers(&writer, against, true, perm);
        writer_end(&writer);
    } else {
        print_points(sink.out, against, false);
        print_answers(&writer, against, false, perm);
    }
    sink_close(&sink);
    return EXIT_FINE;
}

/* --- the fit -------------------------------------------------------------------------------------------- */

static void print_fit(FILE *out, const struct against *against, const struct against_fit *fit)
{
    fprintf(out, "%d point%s of %d series\n\n%-14s %12s %12s %12s\n", against->n_points,
            against->n_points == 1 ? "" : "s", against->n_groups, "constant", "before", "fitted",
            "std. error");
    for (int k = 0; k < fit->n_constants; k++) {
        const struct against_constant *constant = &fit->constants[k];
        bool seconds = !strcmp(constant->name, "overhead");
        fprintf(out, "%-14s %12.4g %12.4g %11.2g%s%s\n", constant->name, constant->before,
                constant->value, seconds ? constant->sd : 100 * constant->sd, seconds ? "s" : "%",
                constant->at_bound ? "  at its bound" : "");
    }
    fprintf(out, "\nmedian error      before %.1f %%, fitted %.1f %%", 100 * fit->error_before,
            100 * fit->error_after);
    if (isnan(fit->error_left_out))
        fputs("; nothing to leave out: one series alone\n", out);
    else
        fprintf(out, ", left out %.1f %%\n", 100 * fit->error_left_out);
    fprintf(out, "90 %% interval     +- %.1f %%\n", 100 * 1.645 * fit->spread);
    if (fit->problem) fprintf(out, "the fit           %s\n", fit->problem);
    fputc('\n', out);
    print_points(out, against, !isnan(fit->error_left_out));
}

static void print_fit_json(FILE *out, const struct against *against, const struct against_fit *fit)
{
    struct writer writer = {.out = out};
    writer_object(&writer, NULL);
    writer_list(&writer, "constants");
    for (int k = 0; k < fit->n_constants; k++) {
        writer_flat_object(&writer, NULL);
        writer_text(&writer, "name", fit->constants[k].name);
        writer_number(&writer, "before", fit->constants[k].before);
        writer_number(&writer, "value", fit->constants[k].value);
        writer_number(&writer, "sd", fit->constants[k].sd);
        writer_bool(&writer, "at_bound", fit->constants[k].at_bound);
        writer_end(&writer);
    }
    writer_end(&writer);
    writer_flat_list(&writer, "covariance");
    for (int i = 0; i < fit->n_constants * fit->n_constants; i++)
        writer_number(&writer, NULL, fit->covariance[i]);
    writer_end(&writer);
    writer_number(&writer, "error_before", fit->error_before);
    writer_number(&writer, "error_after", fit->error_after);
    writer_number(&writer, "error_left_out", fit->error_left_out);
    writer_number(&writer, "spread", fit->spread);
    writer_text(&writer, "problem", fit->problem);
    print_points_json(&writer, against, !isnan(fit->error_left_out));
    writer_end(&writer);
}

/* write_node — a value of a document, as it is */
static void write_node(FILE *out, const struct json_node *node)
{
    bool object = json_kind(node) == JSON_OBJECT;
    switch (json_kind(node)) {
    case JSON_NULL:
        fputs("null", out);
        return;
    case JSON_BOOL:
        fputs(json_bool(node) ? "true" : "false", out);
        return;
    case JSON_NUMBER:
        fprintf(out, "%.15g", json_number(node));
        return;
    case JSON_TEXT:
        json_write_text(out, json_text(node));
        return;
    case JSON_LIST:
    case JSON_OBJECT:
        break;
    }
    fputc(object ? '{' : '[', out);
    for (int i = 0; i < json_size(node); i++) {
        if (i > 0) fputs(", ", out);
        if (object) {
            json_write_text(out, json_key(json_at(node, i)));
            fputs(": ", out);
        }
        write_node(out, json_at(node, i));
    }
    fputc(object ? '}' : ']', out);
}

static void write_adjust(FILE *out, const struct against *against, const struct against_fit *fit)
{
    const struct adjust *adjust = &fit->adjust;
    fprintf(out,
            "  \"adjust\": {\n    \"compute\": %.6g,\n    \"latency\": %.6g,\n    "
            "\"scaleup_rate\": %.6g,\n    \"network_rate\": %.6g,\n    \"overhead\": \"%.6gms\",\n"
            "    \"spread\": %.4g,\n",
            adjust->compute, adjust->latency, adjust->scaleup_rate, adjust->network_rate,
            1e3 * adjust->overhead_s, adjust->spread);
    fprintf(out,
            "    \"source\": \"fitted by dpsim fit --against to %d points of %d series: median "
            "error %.1f %% before, %.1f %% after",
            against->n_points, against->n_groups, 100 * fit->error_before, 100 * fit->error_after);
    if (!isnan(fit->error_left_out)) fprintf(out, ", %.1f %% left out", 100 * fit->error_left_out);
    fputs("\"\n  }\n}\n", out);
}

/* write_scenario — the first scenario with what was fitted. Files that it names are sought beside it, so it
 * belongs into the same folder. */
static void write_scenario(const char *path, const struct against *against,
                           const struct against_fit *fit, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    const struct json *json = json_read_file(against->cases[0].scenario, perm, &diag);
    if (!json) return; /* it was read before */
    const struct json_node *root = json_root(json);
    struct sink sink = sink_open(path, perm);
    fputs("{\n", sink.out);
    for (int i = 0; i < json_size(root); i++) {
        if (!strcmp(json_key(json_at(root, i)), "adjust")) continue;
        fputs("  ", sink.out);
        json_write_text(sink.out, json_key(json_at(root, i)));
        fputs(": ", sink.out);
        write_node(sink.out, json_at(root, i));
        fputs(",\n", sink.out);
    }
    write_adjust(sink.out, against, fit);
    sink_close(&sink);
}

int against_fit_command(const struct options *options, struct arena *perm)
{
    struct diag diag = {.perm = perm};
    struct request request = {&options->operands, &options->against};
    struct against *against = open_all(&request, options, perm, &diag);
    if (!against) return give_up(&diag);
    const struct against_fit *fit = against_fit(against, perm);
    if (options->out) write_scenario(options->out, against, fit, perm);
    struct sink sink = sink_open(NULL, perm);
    if (options->json)
        print_fit_json(sink.out, against, fit);
    else
        print_fit(sink.out, against, fit);
    sink_close(&sink);
    return EXIT_FINE;
}
