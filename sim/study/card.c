#include "study/card.h"

#include "base/must.h"

#include <math.h>
#include <string.h>

/* the best first */
static const char *const starts[] = {"ping_pong", "socket", NULL};
static const char *const rates[] = {"message_stream", "ping_pong", "socket", "message_both_ways",
                                    NULL};

bool card_takes(const char *benchmark)
{
    for (int i = 0; rates[i]; i++) {
        if (strcmp(rates[i], benchmark) == 0) return true;
    }
    return false;
}

static const struct calibrate_part *find_part(const struct calibration *fit,
                                              const char *const *benchmarks)
{
    for (int b = 0; benchmarks[b]; b++) {
        for (int p = 0; p < fit->n_parts; p++) {
            if (strcmp(fit->parts[p].rows[0]->row->benchmark, benchmarks[b]) == 0)
                return &fit->parts[p];
        }
    }
    return NULL;
}

static double constant_of(const struct calibrate_part *part, const char *key, double otherwise)
{
    for (int c = 0; c < part->n_constants; c++) {
        if (strcmp(part->constants[c].key, key) == 0) return part->constants[c].value;
    }
    return otherwise;
}

static void set_rate(struct nic_profile *nic, const struct calibrate_part *part)
{
    double beta_s = constant_of(part, "beta", 0.0);
    double reached_Bps = 1.0 / constant_of(part, "beta_second", beta_s);
    nic->bandwidth_Bps = fmax(nic->bandwidth_Bps, reached_Bps);
    nic->efficiency = reached_Bps / nic->bandwidth_Bps;
}

static void set_start(struct nic_profile *nic, const struct calibrate_part *part)
{
    double alpha_s = constant_of(part, "alpha", 0.0);
    double more_s = constant_of(part, "alpha_second", alpha_s) - alpha_s;
    nic->latency_s = fmin(nic->latency_s, alpha_s / 2.0);
    nic->host_latency_s = fmax(alpha_s - 2.0 * nic->latency_s, 0.0);
    nic->handshake_s = fmax(more_s, 0.0);
    if (nic->handshake_s > 0.0) nic->eager_B = constant_of(part, "second_from", nic->eager_B);
}

static bool is_untold(const struct calibrate_part *part)
{
    for (int c = 0; c < part->n_constants; c++) {
        bool slope = strncmp(part->constants[c].key, "beta", strlen("beta")) == 0;
        if (slope && part->constants[c].at_bound) return true;
    }
    return part->problem != NULL;
}

const struct calibrate_part *card_untold(const struct card *card)
{
    if (is_untold(card->rate)) return card->rate;
    return card->start && is_untold(card->start) ? card->start : NULL;
}

double card_message_s(const struct nic_profile *nic, double size_B)
{
    double agreed = size_B > 0.0 ? size_B / (size_B + nic->eager_B) : 0.0;
    return 2.0 * nic->latency_s + nic->host_latency_s + nic->handshake_s * agreed +
           size_B / (nic->bandwidth_Bps * nic->efficiency);
}

static struct calibrate_error error_of(const struct nic_profile *nic,
                                       const struct calibrate_part *part, struct arena scratch)
{
    struct calibrate_row *rows = arena_new(&scratch, struct calibrate_row, part->n_rows);
    struct calibrate_row **each = arena_new(&scratch, struct calibrate_row *, part->n_rows);
    for (int i = 0; i < part->n_rows; i++) {
        rows[i] = *part->rows[i];
        rows[i].fitted_s = card_message_s(nic, rows[i].size);
        each[i] = &rows[i];
    }
    return calibrate_errors(each, part->n_rows, false, scratch);
}

struct card card_fit(const struct calibration *fit, const struct nic_profile *base,
                     struct arena scratch)
{
    struct card card = {.nic = {.eager_B = 8192.0, .in_order = true, .rdma = true},
                        .start = find_part(fit, starts),
                        .rate = find_part(fit, rates)};
    must(card.rate);
    if (base) card.nic = *base;
    set_rate(&card.nic, card.rate);
    if (card.start) set_start(&card.nic, card.start);
    card.error = card.start ? error_of(&card.nic, card.start, scratch) : card.rate->fitted;
    return card;
}
