/* Rows of tables of published measurements to inputs. What a value of a column means stands in a
 * file of rules, DIR/rows/FORM.json, one per form of table:
 *
 *   {"scenario": {"run": {"fidelity": "estimate"}},      members that every row has
 *    "parts": [
 *      {"of": "gpu_key", "lacks": "no profile",
 *       "rules": [{"when": "a100-sxm-*", "set": {"gpu": {"base": "a100-sxm-40"}}},
 *                 {"when": {"gpu_key": "cpu", "nodes": "1"}, "reject": "is no GPU"}]}]}
 *
 * Of each part the first rule holds whose conditions all do: a shell pattern per column, several
 * separated by '|' ("when" as a text is about the column of the part). Its "set" gives members of
 * the scenario, its "ask" the collective, algorithm and protocol of a row that measures one. Objects
 * that several rules set for one member are joined, later values of a key replace earlier ones.
 * Texts may name columns in braces, "{nic_gbps}Gbps"; "{heads|0}" is 0 when the column is empty,
 * "{model%-*}" leaves off the shortest end that the pattern matches, if any; a text that is "{gpus}"
 * alone becomes the number.
 * "per_sample" says how many of a throughput's unit make a sample of the batch, {"words/s": 27}.
 * "suspicions" are what may be wrong where a collective is slow: {"slower": 1.3, "faster": 0.75, "large":
 * "8MB", "list": [{"name": "...", "when": {...}, "set": {...}}]}, rules with a name that are tried on
 * top of all others, see study/suspicion.h.
 * When no rule of a part holds, or one rejects, the row is not covered and the reason names column
 * and value. Rules see the key columns of the form only: never a row's name, source or result. */
#ifndef IO_ROW_H
#define IO_ROW_H

#include "base/table.h"
#include "io/scenario.h"

/* row_form — a form of table. */
struct row_form {
    const char *name;        /* of its file of rules */
    const char *group;       /* the column that rows are scored by */
    const char *const *keys; /* columns that rules may look at; end with NULL */
    const char *const
        *needed; /* columns that a table must have: others that it lacks are empty; end
                                * with NULL */
    const char *const *counts;  /* columns that hold whole numbers; end with NULL */
    const char *const *reals;   /* columns that hold numbers; end with NULL */
    const char *const *classes; /* columns of what groups must share to be alike; end with NULL */
    bool collective;            /* rows measure a collective, else a training step */
};
enum { N_ROW_FORMS = 2 };
extern const struct row_form row_forms[N_ROW_FORMS];

struct row_reader {
    const struct table *table;
    const struct row_form *form;
    const struct scenario_options *options;
    const struct json *rules; /* lives as long as the arena of row_open */
    int *columns;             /* [n_keys] of the table */
    int n_keys;
    int suspicion; /* that is tried, -1: none */
};

/* row_suspicions — how many the rules list; row_suspicion their names. */
int row_suspicions(const struct row_reader *reader);
const char *row_suspicion(const struct row_reader *reader, int suspicion);

/* row_limits — of the rules' suspicions; all 0 when there are none. */
struct row_limits {
    double slower, faster; /* measured / predicted of series that are as they should be */
    double large_B;        /* sizes to judge by */
};
struct row_limits row_limits(const struct row_reader *reader);

/* row_open — which form the table has, its rules, and a look at every row: what must be a number is
 * one, and time, size and bandwidth agree. NULL after errors. */
struct row_reader *row_open(const struct table *table, const struct scenario_options *options,
                            struct arena *perm, struct diag *diag);

/* row_compare — order of two rows by their keys (0: the same inputs). */
int row_compare(const struct row_reader *reader, int a, int b);

const char *row_cell(const struct row_reader *reader, int row, const char *column);
double row_number(const struct row_reader *reader, int row, const char *column); /* 0 if empty */

/* row_suspect — the row's own table says that it is not to be trusted. */
bool row_suspect(const struct row_reader *reader, int row);

/* row_measured_s — time of the collective or of a training step; 0 = the row does not tell. */
double row_measured_s(const struct row_reader *reader, int row);

/* row_bus_factor — bus over algorithm bandwidth of a collective of n ranks, by its name in tables: bytes
 * that cross a rank's port per byte of size. Source: NVIDIA/nccl-tests doc/PERFORMANCE.md. */
double row_bus_factor(const char *collective, double n);

/* what a row is mapped to; rows with equal keys share it */
struct row_job {
    const struct inputs *inputs; /* NULL: not covered */
    const char *reason;          /* of that: "gpu_key mi300x: no profile" */
    enum coll_kind kind;         /* of a collective */
    const char *algorithm, *protocol;
};
struct row_job row_map(const struct row_reader *reader, int row, struct arena *perm);

/* row_refusal — why the job's library has nothing for this size, NULL when it has. */
const char *row_refusal(const struct row_job *job, double size_B, struct arena *perm);

#endif
