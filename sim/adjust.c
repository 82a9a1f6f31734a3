#include "adjust.h"

#include <math.h>

const struct adjust adjust_none = {
    .compute = 1.0, .latency = 1.0, .scaleup_rate = 1.0, .network_rate = 1.0, .source = ""};

static void adjust_rates(const struct adjust *adjust, bool spread, struct lib_choice *choice)
{
    /* links carry no more than their line rate, whatever the factor */
    choice->efficiency_scaleup = fmin(1.0, choice->efficiency_scaleup * adjust->scaleup_rate);
    choice->efficiency_pcie = fmin(1.0, choice->efficiency_pcie * adjust->scaleup_rate);
    choice->efficiency_net = fmin(1.0, choice->efficiency_net * adjust->network_rate);
    /* what else limits the network is moved with it: else the factor would do nothing until links are slower */
    choice->net.pair_frac = fmin(1.0, choice->net.pair_frac * adjust->network_rate);
    choice->net.more_frac = fmin(1.0, choice->net.more_frac * adjust->network_rate);
    choice->channel_cap_Bps *= spread ? adjust->network_rate : adjust->scaleup_rate;
}

void adjust_library(const struct adjust *adjust, bool spread, struct library *library)
{
    double latency = adjust->latency;
    library->launch_s *= latency;
    library->channel_start_s *= latency;
    library->issue_s *= latency;
    library->issue_per_rank_s *= latency;
    for (int c = 0; c < library->n_choices; c++) {
        struct lib_choice *choice = &library->choices[c];
        double *times_s[] = {&choice->base_latency_s, &choice->scaleup_latency_s,
                             &choice->pcie_latency_s, &choice->net_latency_s,
                             &choice->per_peer_s,     &choice->net.handshake_s,
                             &choice->net.peer_s,     &choice->net.inject_s};
        for (size_t t = 0; t < sizeof times_s / sizeof *times_s; t++) *times_s[t] *= latency;
        adjust_rates(adjust, spread, choice);
    }
}

/* the update ends a step on every rank, so what a step takes besides joins its last kernel */
static void add_overhead(double overhead_s, struct program *program)
{
    for (int i = program->n_ops - 1; i >= 0; i--) {
        struct op *op = &program->ops[i];
        if (op->kind != OP_KERNEL || op->part != PART_OPTIMIZER) continue;
        op->work_s += overhead_s;
        return;
    }
}

void adjust_job(const struct adjust *adjust, struct job *job)
{
    for (int p = 0; p < job->n_programs; p++) {
        struct program *program = &job->programs[p];
        for (int i = 0; i < program->n_ops; i++) {
            if (program->ops[i].kind == OP_KERNEL) program->ops[i].work_s *= adjust->compute;
        }
        add_overhead(adjust->overhead_s, program);
    }
}
