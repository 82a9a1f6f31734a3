/* The readers of measured.h's table, one file each. */
#ifndef IO_MEASURED_FORMATS_H
#define IO_MEASURED_FORMATS_H

#include "io/measured.h"

#define MEASURED_LINES(stem)                                                                       \
    bool stem##_claims(const char *line);                                                          \
    void stem##_line(struct reading *reading, char *line);                                         \
    void stem##_end(struct reading *reading)
#define MEASURED_WHOLE(stem)                                                                       \
    bool stem##_opens(const char *text, size_t length);                                            \
    void stem##_whole(struct reading *reading, const char *text, size_t length)

MEASURED_LINES(nccl_text);
MEASURED_WHOLE(nccl_json);
MEASURED_LINES(osu);
MEASURED_LINES(perftest);
MEASURED_LINES(nvidia_topo);
MEASURED_LINES(rocm_topo);
MEASURED_WHOLE(nccl_topo);
MEASURED_LINES(megatron);
MEASURED_LINES(deepspeed);
MEASURED_LINES(trainer);
MEASURED_WHOLE(step_csv);
MEASURED_WHOLE(products);
MEASURED_WHOLE(raw_csv);

/* nccl_collective — the collective of a program or file by its name ("all_reduce_perf",
 * "logs/alltoall-8.txt"), as raw rows call it; NULL when there is none in it. */
const char *nccl_collective(const char *name);

/* nccl_type — "float" as raw rows say it, "fp32"; "" when they have no name for it. */
const char *nccl_type(const char *name);

/* nccl_ranks — n of a collective whose bus bandwidth is `factor` times its algorithm bandwidth; 0 = that
 * does not tell. */
int nccl_ranks(const char *collective, double factor);

/* busbw / algbw where it is most exact, at the largest algbw (GB/s), and the line */
struct nccl_ratio {
    double algbw, factor;
    int line;
};
void nccl_ratio_add(const struct reading *reading, struct nccl_ratio *ratio, double algbw,
                    double busbw);
/* nccl_check_ranks — a list of ranks that lacks some, as when a log was cut, shows in the ratio: a note with
 * its line. */
void nccl_check_ranks(struct reading *reading, const struct nccl_ratio *ratio,
                      const char *collective, int n_ranks);

#endif
