#include "out/check_plot.h"

#include "out/gnuplot.h"

#include <string.h>

enum { SIDE = 720, KEY_WIDTH = 220, N_COLOURS = 8, N_MARKS = 4 };

static const char *const colours[N_COLOURS] = {"#0060a8", "#d1495b", "#2a9d8f", "#e09f3e",
                                               "#9d4edd", "#555555", "#7fb3d5", "#81b29a"};
static const int marks[N_MARKS] = {6, 4, 8, 1};

static void write_points(FILE *script, const struct check *check, int kind)
{
    const char *id = check->kinds.scores[kind].id;
    int n = 0;
    fprintf(script, "$kind%d << end\n", kind);
    for (int r = 0; r < check->n_rows; r++) {
        const struct check_row *row = &check->rows[r];
        if (row->suspect || row->reason || !(row->predicted_s > 0)) continue;
        if (strcmp(row_cell(check->reader, r, check->kinds.by), id) != 0) continue;
        fprintf(script, "%.4g %.4g\n", row->measured_s, row->predicted_s);
        n++;
    }
    if (n == 0) fputs("NaN NaN\n", script); /* gnuplot wants a point */
    fputs("end\n", script);
}

static void write_looks(FILE *script, const struct check *check)
{
    const char *table = strrchr(check->reader->table->file, '/');
    char title[256];
    snprintf(title, sizeof title, "%.128s: %d rows, median error %.1f %%",
             table ? table + 1 : check->reader->table->file, check->n_covered,
             100 * check->overall.median_abs);
    fputs("set title ", script);
    gnuplot_text(script, title);
    fputs(" noenhanced font \"DejaVu Sans Bold,12\"\n"
          "set logscale xy\nset format xy '10^{%T}'\nset xlabel 'measured (s)'\n"
          "set ylabel 'predicted (s)'\nset size ratio -1\n"
          "set border 3 linecolor rgb '#444444'\nset tics nomirror\n"
          "set grid xtics ytics linetype 1 linewidth 0.5 linecolor rgb '#dddddd'\n"
          "set key outside right top Left reverse noenhanced\n",
          script);
}

/* write_range — both axes alike, over all points. */
static void write_range(FILE *script, const struct check *check)
{
    double least = 0;
    double most = 0;
    for (int r = 0; r < check->n_rows; r++) {
        const struct check_row *row = &check->rows[r];
        if (row->suspect || row->reason || !(row->predicted_s > 0)) continue;
        double low = row->measured_s < row->predicted_s ? row->measured_s : row->predicted_s;
        double high = row->measured_s > row->predicted_s ? row->measured_s : row->predicted_s;
        if (!(least > 0) || low < least) least = low;
        if (high > most) most = high;
    }
    if (!(least > 0)) least = most = 1;
    fprintf(script, "set xrange [%g:%g]\nset yrange [%g:%g]\n", least / 2, most * 2, least / 2,
            most * 2);
}

/* write_kind — small points, a large one in the key. */
static void write_kind(FILE *script, const struct check *check, int kind)
{
    int mark = marks[kind / N_COLOURS % N_MARKS];
    const char *colour = colours[kind % N_COLOURS];
    fprintf(
        script,
        ", \\\n $kind%d using 1:2 with points pointtype %d pointsize 0.4 linecolor rgb '%s' "
        "notitle, \\\n keyentry with points pointtype %d pointsize 1.2 linecolor rgb '%s' title ",
        kind, mark, colour, mark, colour);
    gnuplot_text(script, check->kinds.scores[kind].id);
}

void check_plot_draw(const char *path, const struct check *check, struct arena *perm)
{
    struct gnuplot plot = gnuplot_open(SIDE + KEY_WIDTH, SIDE);
    FILE *script = plot.script;
    write_looks(script, check);
    write_range(script, check);
    for (int k = 0; k < check->kinds.n; k++) write_points(script, check, k);
    fputs("plot x with lines linecolor rgb '#444444' title 'equal', \\\n"
          " 1.1 * x with lines linecolor rgb '#9a9a9a' title '10 %', \\\n"
          " 0.9 * x with lines linecolor rgb '#9a9a9a' notitle, \\\n"
          " 1.25 * x with lines dashtype 2 linecolor rgb '#9a9a9a' title '25 %', \\\n"
          " 0.75 * x with lines dashtype 2 linecolor rgb '#9a9a9a' notitle",
          script);
    for (int k = 0; k < check->kinds.n; k++) write_kind(script, check, k);
    fputs("\n", script);
    gnuplot_draw(&plot, path, perm);
}
