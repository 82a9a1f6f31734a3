/* The keys of a scenario file: one struct per object, one row per key with its default, range and
 * help. The loader, the schema and the reference read these tables; a new key is a row here. */
#ifndef IO_KEYS_H
#define IO_KEYS_H

#include "base/field.h"
#include "inputs.h"
#include "workload/transformer.h"

struct top_keys {
    const char *name, *question, *precision, *optimizer;
    double batch, input_s, contention, jitter;
    int n_gpus, nics_per_node, grad_accumulation;
};
struct model_keys {
    const char *name, *layers;
    int sequence_length;
    const char *kind; /* of a transformer, as its further numbers */
    int sizes[N_TEXT_SIZES];
    bool gated, tied, rotary, biases, qkv_biases, norm_biases, qk_norm, dropout, fused_attention;
};
struct strategy_keys {
    const char *kind, *gradient_precision, *algorithm, *protocol, *recompute;
    double bucket_cap_B, first_bucket_B, fusion_B, cycle_s;
    int servers, tensor, pipeline, virtual_stages, chunk_blocks, context, experts, zero_stage,
        shard_ranks;
    bool overlap, sequence, tensor_overlap;
};
struct measured_keys {
    double one_gpu_throughput, one_gpu_s;
    struct sides spread;
    int grad_accumulation;
    const char *source;
};
struct run_keys {
    const char *fidelity;
    int iterations, seed, class_limit;
    bool fold;
};
struct degraded_keys {
    const char *link;
    double factor, bandwidth_Bps, latency_s, at_s, detection_s;
    bool failed;
};

/* an object of a scenario beside the profiles */
struct part {
    const char *key;
    const char *text_means; /* the key that a bare text in its place is the value of; NULL = none */
    const char *help;
    const struct field *fields;
    int n_fields;
    bool list; /* a list of such objects */
    bool open; /* that hold other objects of a scenario, too */
};
enum {
    KEYS_MODEL,
    KEYS_STRATEGY,
    KEYS_MEASURED,
    KEYS_RUN,
    KEYS_DEGRADED,
    KEYS_SLOW,
    KEYS_JOBS,
    KEYS_ADJUST,
    N_KEYS_PARTS
};
extern const struct part key_parts[N_KEYS_PARTS];

extern const struct field top_fields[]; /* bare keys of the file */
extern const int n_top_fields;

/* the other keys of the file: parts, profiles, placement and $comment; ends with NULL */
extern const char *const top_other_keys[];

enum { N_PLACEMENTS = 3, MAX_GPUS = 1000000 };
extern const char *const placement_names[N_PLACEMENTS];

/* values of "model/kind": own, decoder, encoder, classifier, encoder-decoder; ends with NULL */
extern const char *const text_kind_names[];

/* values of "precision", "run/fidelity" and "strategy/recompute" in the order of enum dtype, fidelity
 * and recompute; end with NULL */
extern const char *const precision_names[];
extern const char *const fidelity_choices[];
extern const char *const recompute_names[];

#endif
