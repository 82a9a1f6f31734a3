/* Any bytes are read as a picture of a server, as a matrix, as NCCL's file and as what rocm-smi prints: what is accepted makes
 * a node profile that the loader takes, in a scenario of that one server. */
#include "base/must.h"
#include "io/measured.h"
#include "io/scenario.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_profile(const struct server *server, struct arena *perm)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    must(out);
    fprintf(out,
            "{\"model\": \"resnet50\", \"batch_per_gpu\": 1, \"n_gpus\": %d, \"gpu\": "
            "{\"memory\": \"80GB\", \"memory_bandwidth\": \"1TB/s\", \"peak_fp32\": \"1TFLOP/s\"}, "
            "\"nic\": {\"bandwidth\": \"100Gbps\"}, \"node\": ",
            server->n_gpus);
    server_profile(server, "fuzz \"1\"", NULL, out);
    fputs("}", out);
    fclose(out);
    struct diag diag = {.perm = perm};
    struct scenario_options options = {.fidelity = "estimate"};
    const struct inputs *in = scenario_load_text("fuzz", text, length, &options, NULL, perm, &diag);
    if (!diag_ok(&diag)) diag_print(&diag, stderr);
    must(in && diag_ok(&diag));
    must(in->node.gpus_per_node == server->n_gpus);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"nvidia-topo", "nccl-topology", "rocm-topo"};
    for (int f = 0; f < 3; f++) {
        struct arena *perm = arena_open((size_t)256 << 20);
        struct diag diag = {.perm = perm};
        const struct measured *measured =
            measured_read_text("fuzz", (const char *)data, size, formats[f], perm, &diag);
        must((measured != NULL) == diag_ok(&diag));
        if (measured && measured->server) check_profile(measured->server, perm);
        arena_close(perm);
    }
    return 0;
}
