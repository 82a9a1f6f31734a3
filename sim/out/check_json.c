#include "out/check_json.h"

#include <math.h>

#include "out/writer.h"

static void json_score(struct writer *writer, const char *key, const struct check_score *score)
{
    writer_flat_object(writer, key);
    writer_text(writer, "id", score->id);
    writer_integer(writer, "n", score->n);
    writer_number(writer, "median_abs_err", score->median_abs);
    writer_number(writer, "mean_abs_err", score->mean_abs);
    writer_number(writer, "max_abs_err", score->max_abs);
    writer_number(writer, "bias", score->bias);
    writer_number(writer, "within_10", score->within_10);
    writer_number(writer, "within_25", score->within_25);
    writer_number(writer, "interval_coverage", score->coverage);
    writer_number(writer, "interval_width", score->width);
    writer_number(writer, "interval_score", score->interval_score);
    writer_number(writer, "baseline_median_abs_err", score->baseline_median_abs);
    writer_integer(writer, "moved_n", score->n_moved);
    writer_number(writer, "moved_median_abs_err", score->moved_median_abs);
    writer_number(writer, "moved_own_median_abs_err", score->own_median_abs_moved);
    writer_end(writer);
}

static void json_scores(struct writer *writer, const char *key, const struct check_scores *scores)
{
    writer_list(writer, key);
    for (int i = 0; i < scores->n; i++) json_score(writer, NULL, &scores->scores[i]);
    writer_end(writer);
}

static void json_scaling(struct writer *writer, const struct check_scaling *scaling)
{
    writer_object(writer, "scaling");
    writer_integer(writer, "n", scaling->n);
    writer_number(writer, "median_abs_points", scaling->median_points);
    writer_number(writer, "mean_abs_points", scaling->mean_points);
    writer_number(writer, "max_abs_points", scaling->max_points);
    writer_number(writer, "bias_points", scaling->bias_points);
    writer_number(writer, "within_3_points", scaling->within_3);
    writer_integer(writer, "ranked", scaling->n_ranked);
    writer_number(writer, "median_rank_correlation", scaling->median_rank_correlation);
    writer_list(writer, "series");
    for (int s = 0; s < scaling->n_series; s++) {
        const struct check_series *series = &scaling->series[s];
        writer_flat_object(writer, NULL);
        writer_text(writer, "id", series->id);
        writer_integer(writer, "n", series->n);
        writer_integer(writer, "gpus_from", series->gpus_from);
        writer_integer(writer, "gpus_to", series->gpus_to);
        writer_number(writer, "median_abs_points", series->median_points);
        writer_number(writer, "worst_points", series->worst_points);
        writer_number(writer, "rank_correlation", series->rank_correlation);
        writer_end(writer);
    }
    writer_end(writer);
    writer_end(writer);
}

static void json_fit(struct writer *writer, const struct check_fit *fit)
{
    writer_object(writer, "fit");
    writer_text(writer, "on", fit->on);
    writer_text(writer, "free", fit->file);
    writer_integer(writer, "evaluations", fit->n_evaluations);
    writer_number(writer, "loss_before", fit->loss_before);
    writer_number(writer, "loss_after", fit->loss_after);
    writer_list(writer, "constants");
    for (int k = 0; k < fit->n_constants; k++) {
        const struct check_constant *constant = &fit->constants[k];
        writer_flat_object(writer, NULL);
        writer_text(writer, "name", constant->name);
        writer_text(writer, "unit", constant->unit);
        writer_number(writer, "before", constant->before);
        writer_number(writer, "after", constant->after);
        writer_number(writer, "after_min", constant->after_min);
        writer_number(writer, "after_max", constant->after_max);
        writer_number(writer, "lower", constant->lower);
        writer_number(writer, "upper", constant->upper);
        writer_integer(writer, "rows", constant->n_rows);
        writer_end(writer);
    }
    writer_end(writer);
    json_scores(writer, "parts", &fit->parts);
    writer_end(writer);
}

static void json_off(struct writer *writer, const struct check_off *off)
{
    writer_object(writer, "off");
    writer_number(writer, "slower", off->slower);
    writer_number(writer, "faster", off->faster);
    writer_integer(writer, "series", off->n);
    writer_integer(writer, "suspect", off->n_suspect);
    writer_integer(writer, "suspect_off", off->n_suspect_off);
    writer_integer(writer, "others", off->n_others);
    writer_integer(writer, "others_off", off->n_others_off);
    writer_list(writer, "list");
    for (int i = 0; i < off->n_off; i++) {
        const struct check_verdict *verdict = &off->verdicts[i];
        writer_flat_object(writer, NULL);
        writer_text(writer, "id", verdict->id);
        writer_bool(writer, "suspect", verdict->suspect);
        writer_integer(writer, "n", verdict->n);
        writer_number(writer, "measured_over_predicted", verdict->ratio);
        writer_text(writer, "suspicion", verdict->first);
        if (isfinite(verdict->ratio_with))
            writer_number(writer, "with_suspicion", verdict->ratio_with);
        writer_end(writer);
    }
    writer_end(writer);
    writer_end(writer);
}

static void json_goals(struct writer *writer, const struct check *check)
{
    writer_list(writer, "goals");
    for (int i = 0; i < check->n_goals; i++) {
        const struct check_goal *goal = &check->goals[i];
        writer_flat_object(writer, NULL);
        writer_text(writer, "half", goal->half);
        writer_number(writer, "from_B", goal->from_B);
        writer_number(writer, "median_abs_err", goal->limit_frac);
        writer_integer(writer, "series", goal->n);
        writer_integer(writer, "met", goal->n_met);
        writer_integer(writer, "met_by_equal_runs", goal->n_floor);
        writer_end(writer);
    }
    writer_end(writer);
}

static void json_spreads(struct writer *writer, const struct check *check)
{
    writer_list(writer, "spreads_of_half_a");
    for (int i = 0; i < check->n_spreads; i++) {
        const struct check_spread *spread = &check->spreads[i];
        writer_flat_object(writer, NULL);
        writer_text(writer, "pool", spread->pool);
        writer_text(writer, "part", spread->part);
        writer_integer(writer, "n", spread->n);
        writer_integer(writer, "groups", spread->n_groups);
        writer_number(writer, "faster", spread->sides.faster);
        writer_number(writer, "slower", spread->sides.slower);
        writer_end(writer);
    }
    writer_end(writer);
}

void check_json_print(FILE *out, const struct check *check)
{
    struct writer writer = {.out = out};
    writer_object(&writer, NULL);
    writer_text(&writer, "table", check->reader->table->file);
    writer_text(&writer, "form", check->reader->form->name);
    writer_integer(&writer, "rows", check->n_rows);
    writer_integer(&writer, "covered", check->n_covered);
    writer_integer(&writer, "suspect", check->n_suspect);
    writer_object(&writer, "uncovered");
    for (int i = 0; i < check->n_reasons; i++)
        writer_integer(&writer, check->reasons[i].text, check->reasons[i].n);
    writer_end(&writer);
    writer_flat_list(&writer, "missing_columns");
    for (const char *const *key = check->reader->form->keys; *key; key++) {
        if (table_column(check->reader->table, *key) < 0) writer_text(&writer, NULL, *key);
    }
    writer_end(&writer);
    json_score(&writer, "overall", &check->overall);
    writer_number(&writer, "median_of_groups", check->median_of_groups);
    writer_number(&writer, "baseline_median_of_groups", check->baseline_median_of_groups);
    writer_integer(&writer, "groups_moved", check->n_groups_moved);
    writer_integer(&writer, "groups_better_than_moved", check->n_groups_better);
    if (!check->reader->form->collective) json_scaling(&writer, &check->scaling);
    writer_flat_object(&writer, "replicates");
    writer_integer(&writer, "n", check->floor.n);
    writer_number(&writer, "median_abs_err", check->floor.median_abs);
    writer_number(&writer, "p90_abs_err", check->floor.p90_abs);
    writer_end(&writer);
    if (check->n_goals > 0) json_goals(&writer, check);
    json_spreads(&writer, check);
    if (check->fit) json_fit(&writer, check->fit);
    if (check->off.n > 0) json_off(&writer, &check->off);
    json_scores(&writer, "halves", &check->halves);
    json_scores(&writer, "bands", &check->bands);
    json_scores(&writer, "kinds", &check->kinds);
    json_scores(&writer, "groups", &check->groups);
    writer_end(&writer);
}
