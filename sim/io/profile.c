#include "io/profile.h"

#include "base/must.h"
#include "io/calibration.h"
#include "io/graph_file.h"
#include "io/rows.h"
#include "io/version.h"
#include "io/words.h"
#include "net/fabric.h"
#include "net/routing.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LARGE 1e18 /* an upper bound that only keeps nonsense out */

/* clang-format off */
#define PEAK(k, t) REAL("peak_" k, DIM_FLOPS, struct gpu_profile, gpu.peak_flops[t], 0, LARGE, "0TFLOP/s", "dense matrix peak in " k "; 0 = the GPU has none")
#define CONV(k, t) REAL("reach_conv_" k, DIM_FRACTION, struct gpu_profile, gpu.conv_frac[t], 0, 1, "0", "the same for convolutions; 0 = as reach_" k)
#define REACH(k, t) REAL("reach_" k, DIM_FRACTION, struct gpu_profile, gpu.matrix_frac[t], 1e-3, 1, "0.75", "share of peak_" k " that a large op reaches")

#define LAYOUT(k, l) REAL("product_" k "_rate", DIM_NUMBER, struct gpu_profile, gpu.layout_rate[l], 0, 100, "1", "rate of matrix products with operands " k " (n as they stand by rows, t transposed), times that of nn"), REAL("product_" k "_memory", DIM_NUMBER, struct gpu_profile, gpu.layout_memory[l], 0, 100, "1", "the same of product_memory")

#define TUNER(k, d, member, hi, unset) REAL("tuner_" k, d, struct lib_choice, tuner.member, -1, hi, unset, "what the library takes for " k " when it chooses; negative: what it is")

/* of a spread, a logarithm: beyond e^10 an interval says nothing */
static const double LARGEST_SPREAD = 10;

static const struct field gpu_fields[] = {
    TEXT("name", struct gpu_profile, gpu.name, "", "name in reports"),
    TEXT("source", struct gpu_profile, gpu.source, "", "where the profile is from"),
    PEAK("fp32", DTYPE_FP32), PEAK("tf32", DTYPE_TF32), PEAK("fp16", DTYPE_FP16), PEAK("bf16", DTYPE_BF16), PEAK("fp8", DTYPE_FP8), PEAK("mxfp8", DTYPE_MXFP8), PEAK("nvfp4", DTYPE_NVFP4),
    REACH("fp32", DTYPE_FP32), REACH("tf32", DTYPE_TF32), REACH("fp16", DTYPE_FP16), REACH("bf16", DTYPE_BF16), REACH("fp8", DTYPE_FP8), REACH("mxfp8", DTYPE_MXFP8), REACH("nvfp4", DTYPE_NVFP4),
    CONV("fp32", DTYPE_FP32), CONV("tf32", DTYPE_TF32), CONV("fp16", DTYPE_FP16), CONV("bf16", DTYPE_BF16),
    REAL("sustained", DIM_FRACTION, struct gpu_profile, gpu.sustained_frac, 0, 1, "1", "share of reach that products on matrix units hold through a step, where power limits the clock"),
    REAL("conv_wave", DIM_NUMBER, struct gpu_profile, gpu.conv_wave, 0, 1e8, "0", "of the result of a convolution, elements computed in vain where the last tiles do not fill all multiprocessors"),
    REAL("reach_attention", DIM_FRACTION, struct gpu_profile, gpu.attention_frac, 0, 1, "0", "share of the peak in 16 bits that FlashAttention-2 reaches, forward and backward together; 0 = as products"),
    REAL("reach_attention_vendor", DIM_FRACTION, struct gpu_profile, gpu.vendor_attention_frac, 0, 1, "0", "the same of the vendor's own kernel; 0 = as reach_attention"),
    REAL("tile_edge", DIM_NUMBER, struct gpu_profile, gpu.tile_edge, 0, 4096, "24", "rows and columns of a matrix product that are computed in vain, in tiles that it does not fill"),
    REAL("tile_load", DIM_NUMBER, struct gpu_profile, gpu.tile_load, 0, 4096, "0", "of a matrix product cut in tiles for its multiprocessors: the side of a tile that takes as long to load as to compute; 0 = by tile_edge"),
    REAL("multiprocessors", DIM_NUMBER, struct gpu_profile, gpu.multiprocessors, 0, 10000, "0", "that tiles of a matrix product are dealt to; 0 = not known, and products go by tile_edge"),
    REAL("cache", DIM_SIZE, struct gpu_profile, gpu.cache_B, 0, LARGE, "0B", "last level of cache, which all multiprocessors share; 0 = not known, and none is counted"),
    REAL("product_reread", DIM_NUMBER, struct gpu_profile, gpu.product_reread, 0, 100, "0", "of a matrix product in tiles: time that operands take which a wave of tiles finds no longer in the cache, times that of a large kernel's traffic"),
    LAYOUT("nt", PRODUCT_NT), LAYOUT("tn", PRODUCT_TN),
    REAL("peak_vector", DIM_FLOPS, struct gpu_profile, gpu.vector_flops, 0, LARGE, "0TFLOP/s", "fp32 peak of the vector units; 0 = peak_fp32"),
    REAL("product_memory", DIM_NUMBER, struct gpu_profile, gpu.product_memory, 0, 100, "1", "share of the reachable memory bandwidth that products get for operands and results; above 1 where caches help"),
    REAL("product_step", DIM_TIME, struct gpu_profile, gpu.product_step_s, 0, 1, "0us", "latency of a matrix product for each element of its sum, up to about 1024"),
    REAL("product_floor", DIM_TIME, struct gpu_profile, gpu.product_floor_s, 0, 1, "5us", "shortest matrix product; at least kernel_floor counts"),
    REAL("half_work", DIM_FLOP, struct gpu_profile, gpu.half_flop, 0, LARGE, "2GFLOP", "work of a matrix op of unknown shape that reaches half of what a large one does"),
    REAL("memory", DIM_SIZE, struct gpu_profile, gpu.memory_B, 1, LARGE, NULL, "GPU memory"),
    REAL("memory_bandwidth", DIM_RATE, struct gpu_profile, gpu.hbm_Bps, 1, LARGE, NULL, "GPU memory bandwidth, nominal"),
    REAL("memory_reach", DIM_FRACTION, struct gpu_profile, gpu.hbm_frac, 1e-3, 1, "0.88", "share of memory_bandwidth that a large kernel reaches"),
    REAL("memory_half", DIM_SIZE, struct gpu_profile, gpu.hbm_half_B, 0, LARGE, "2MB", "traffic of a kernel that reaches half of what a large one does"),
    REAL("kernel_floor", DIM_TIME, struct gpu_profile, gpu.kernel_floor_s, 0, 1, "1.3us", "shortest kernel"),
    REAL("issue", DIM_TIME, struct gpu_profile, gpu.issue_s, 0, 1, "5us", "host time to issue one kernel, when no framework says"),
    REAL("power", DIM_POWER, struct gpu_profile, gpu.power_W, 0, LARGE, "0W", "board power"),
    REAL("capability", DIM_NUMBER, struct gpu_profile, capability, 0, 100, "0", "compute capability, for NCCL's own estimates; 0 = has none"),
    TEXT("node", struct gpu_profile, node, "", "profile of the server it usually sits in"),
    TEXT("library", struct gpu_profile, library, "", "profile of the collective library that it runs instead of NCCL where the scenario names none; empty: it runs NCCL"),
    REAL("spread_faster", DIM_NUMBER, struct gpu_profile, spread.faster, 0, 10, "0.28", "of ln(measured / predicted step time) without network, how far below 0 nine in ten unseen steps reach at most"),
    REAL("spread_slower", DIM_NUMBER, struct gpu_profile, spread.slower, 0, 10, "0.46", "the same above 0"),
    REAL("jitter", DIM_FRACTION, struct gpu_profile, jitter, 0, 1, "0", "relative standard deviation of the time to compute a step, between ranks and steps; all wait for the slowest"),
    REAL("tree_pair_bandwidth", DIM_RATE, struct gpu_profile, tree_pair_Bps, 0, LARGE, "0GB/s", "most that a server sends through one card in a tree over two servers; 0 = no limit"),
    REAL("tree_bandwidth", DIM_RATE, struct gpu_profile, tree_Bps, 0, LARGE, "0GB/s", "the same over more servers"),
    REAL("switch_tree_pair_bandwidth", DIM_RATE, struct gpu_profile, switch_tree_pair_Bps, 0, LARGE, "0GB/s", "most that a server sends through all its cards in a tree of switches (NVLS) over two servers; 0 = no limit"),
};

static const char *const cpu_names[] = {"intel", "amd", NULL};
static const char *const scaleup_names[] = {"none", "switch", "mesh", NULL};

static const struct field node_fields[] = {
    TEXT("name", struct node_profile, name, "", "name in reports"),
    TEXT("source", struct node_profile, source, "", "where the profile is from"),
    INT("gpus", struct node_profile, spec.gpus_per_node, 1, 1024, NULL, "GPUs in a server"),
    INT("nics", struct node_profile, spec.nics_per_node, 0, 1024, "1", "network cards in a server"),
    INT("sockets", struct node_profile, spec.sockets, 1, 8, "2", "CPU sockets; GPUs and cards are spread over them in order"),
    INT("gpus_per_pcie_switch", struct node_profile, spec.gpus_per_pcie_switch, 1, 64, "1", "GPUs that share one uplink to the CPU; 1 = each has its own"),
    CHOICE("scaleup", struct node_profile, scaleup, scaleup_names, "none", "links between GPUs besides PCIe: through a switch, direct (mesh), none"),
    REAL("scaleup_bandwidth", DIM_RATE, struct node_profile, spec.scaleup_Bps, 0, LARGE, "0GB/s", "of one GPU into those links, one direction"),
    REAL("scaleup_latency", DIM_TIME, struct node_profile, spec.scaleup_latency_s, 0, 1, "0.7us", "of one link between a GPU and the switch"),
    REAL("scaleup_efficiency", DIM_FRACTION, struct node_profile, scaleup_efficiency, 1e-3, 1, "0.8", "share of scaleup_bandwidth that a large collective reaches"),
    REAL("sum_efficiency", DIM_FRACTION, struct node_profile, sum_efficiency, 1e-3, 1, "0.65", "the same where the switch sums, see scaleup_sums"),
    REAL("pcie_bandwidth", DIM_RATE, struct node_profile, spec.pcie_Bps, 1, LARGE, "15.75GB/s", "of a x16 slot, one direction"),
    REAL("pcie_latency", DIM_TIME, struct node_profile, spec.pcie_latency_s, 0, 1, "0.5us", "of one PCIe link"),
    REAL("pcie_efficiency", DIM_FRACTION, struct node_profile, pcie_efficiency, 1e-3, 1, "0.77", "share of pcie_bandwidth that a large transfer reaches"),
    REAL("memory_bandwidth", DIM_RATE, struct node_profile, spec.memory_Bps, 0, LARGE, "0GB/s", "of a socket's memory, reads and writes together: what is staged there (p2p, gpudirect false) is written and read; 0 = never in the way"),
    REAL("socket_bandwidth", DIM_RATE, struct node_profile, spec.socket_Bps, 1, LARGE, "20GB/s", "between neighbouring sockets, one direction"),
    REAL("socket_latency", DIM_TIME, struct node_profile, spec.socket_latency_s, 0, 1, "0.3us", "between neighbouring sockets"),
    BOOL("gpudirect", struct node_profile, spec.gpudirect, "true", "network cards read GPU memory; otherwise data is staged through host memory"),
    BOOL("scaleup_sums", struct node_profile, scaleup_sums, "false", "the switch between GPUs can sum what they send"),
    BOOL("p2p", struct node_profile, spec.p2p, "true", "GPUs read each other over PCIe; otherwise data is staged through host memory"),
    TEXT("nic", struct node_profile, nic, "", "profile of the network card it usually has"),
    CHOICE("cpu", struct node_profile, cpu, cpu_names, "intel", "of its processors, for NCCL's own estimates: intel stands for all others too"),
};

static const struct field nic_fields[] = {
    TEXT("name", struct nic_profile, name, "", "name in reports"),
    TEXT("source", struct nic_profile, source, "", "where the profile is from"),
    REAL("bandwidth", DIM_RATE, struct nic_profile, bandwidth_Bps, 1, LARGE, NULL, "line rate of the port, one direction"),
    REAL("latency", DIM_TIME, struct nic_profile, latency_s, 0, 10, "0.7us", "of the link between the card and its switch, the card's own share included"),
    REAL("efficiency", DIM_FRACTION, struct nic_profile, efficiency, 1e-3, 1, "0.9", "share of the line rate that a large collective reaches"),
    REAL("host_latency", DIM_TIME, struct nic_profile, host_latency_s, 0, 10, "0us", "per message in the hosts at both ends together"),
    REAL("handshake", DIM_TIME, struct nic_profile, handshake_s, 0, 10, "0us", "per message that is too large to be sent at once: both ends first agree"),
    REAL("eager", DIM_SIZE, struct nic_profile, eager_B, 0, LARGE, "8KiB", "message of which half of the handshake is paid; larger ones pay more of it"),
    REAL("half_rate", DIM_SIZE, struct nic_profile, half_B, 0, LARGE, "0B", "chunk of a tree that the card sends at half the rate of large messages; 0 = as fast"),
    REAL("peer_latency", DIM_TIME, struct nic_profile, peer_s, 0, 10, "0us", "for each peer on another server in an all-to-all"),
    REAL("inject", DIM_SIZE, struct nic_profile, inject_B, 0, LARGE, "0B", "messages up to this size the host copies from GPU memory into the card's queue"),
    REAL("inject_latency", DIM_TIME, struct nic_profile, inject_s, 0, 10, "0us", "what that takes for each peer in an all-to-all"),
    REAL("alltoall_efficiency", DIM_FRACTION, struct nic_profile, alltoall_efficiency, 0, 1, "0", "share of the line rate that a large all-to-all reaches; 0 = as efficiency"),
    REAL("connection_bandwidth", DIM_RATE, struct nic_profile, connection_Bps, 0, LARGE, "0GB/s", "most that one connection carries, of which each channel of the library has one to each of its peers; 0 = no limit"),
    REAL("rank_bandwidth", DIM_RATE, struct nic_profile, rank_Bps, 0, LARGE, "0GB/s", "most that one rank sends to other servers, whose thread copies what it sends; 0 = no limit"),
    REAL("window", DIM_SIZE, struct nic_profile, window_B, 0, LARGE, "0B", "bytes in flight on one connection: a round trip passes no more; 0 = no limit"),
    BOOL("in_order", struct nic_profile, in_order, "true", "what is sent arrives in its order, as protocols with flags in the data (LL128) need"),
    BOOL("rings_only", struct nic_profile, rings_only, "false", "NCCL is told to use rings of protocol Simple alone between servers, as the card's maker sets it up"),
    BOOL("rdma", struct nic_profile, rdma, "true", "the card can read GPU memory itself, if the server lets it"),
};

static const char *const driver_names[] = {"server", "gpu", NULL};
static const char *const selection_names[] = {"fastest", "first", NULL};

static const struct field library_fields[] = {
    TEXT("name", struct library_profile, library.name, "", "name in reports"),
    TEXT("version", struct library_profile, library.version, "", "of the library"),
    TEXT("source", struct library_profile, library.source, "", "where the profile is from"),
    INT("channels", struct library_profile, library.n_channels, 1, 1024, "1", "parts of a buffer that go their own way at the same time"),
    REAL("chunk", DIM_SIZE, struct library_profile, library.chunk_B, 1, LARGE, "1MiB", "pipelining grain"),
    INT("pcie_channels", struct library_profile, pcie_channels, 0, 1024, "0", "the same where GPUs have PCIe only; 0 = as channels"),
    REAL("launch", DIM_TIME, struct library_profile, library.launch_s, 0, 10, "0us", "host and kernel time before anything moves, per collective"),
    REAL("issue", DIM_TIME, struct library_profile, library.issue_s, 0, 10, "0us", "host time to issue a collective: it passes while the last one moves, so a short one takes this long"),
    REAL("issue_per_rank", DIM_TIME, struct library_profile, library.issue_per_rank_s, 0, 10, "0us", "the same, for each rank of a server"),
    CHOICE("process_per", struct library_profile, process_per, driver_names, "server", "who drives a server's GPUs: one process, which issues for each rank after the other, or one for each GPU, which issue side by side: then issue_per_rank is not paid"),
    BOOL("graph_launch", struct library_profile, graph_launch, "false", "collectives are captured in graphs of the GPU, which begins the next one itself: issue and issue_per_rank are not paid"),
    REAL("channel_start", DIM_TIME, struct library_profile, library.channel_start_s, 0, 10, "0us", "the same, for each channel in use"),
    REAL("window", DIM_SIZE, struct library_profile, window_B, 0, LARGE, "0B", "bytes that a channel has under way to a server at most, its buffers; 0 = no limit"),
    BOOL("rendezvous", struct library_profile, library.rendezvous, "true", "a rank's next send waits until its last one is delivered, not only injected"),
    CHOICE("selection", struct library_profile, library.selection, selection_names, "fastest", "fastest: least predicted time; first: first row that fits"),
    BOOL("hardware_efficiency", struct library_profile, hardware_efficiency, "true", "the efficiencies of servers and cards multiply those of its rows; false: line rate"),
    TEXT("spread_faster", struct library_profile, faster[LIB_INSIDE], "0.59 0.4 0.23 0.099", "of ln(measured / predicted time) of collectives within a server, how far below 0 nine in ten unseen ones reach at most, by size: below 64 kB, 8 MB, 64 MB, and above"),
    TEXT("spread_slower", struct library_profile, slower[LIB_INSIDE], "0.53 0.67 0.71 0.22", "the same above 0"),
    TEXT("net_spread_faster", struct library_profile, faster[LIB_BETWEEN], "", "as spread_faster, of collectives between servers; empty = the same"),
    TEXT("net_spread_slower", struct library_profile, slower[LIB_BETWEEN], "", "as spread_slower, of collectives between servers; empty = the same"),
    REAL("scaleup_wire", DIM_TIME, struct library_profile, scaleup_wire_s, 0, 1, "0us", "the wire's time of a hop over the links between GPUs that scaleup_latency holds already; a longer one adds the rest"),
    REAL("pcie_wire", DIM_TIME, struct library_profile, pcie_wire_s, 0, 1, "0us", "the same over PCIe"),
    REAL("net_wire", DIM_TIME, struct library_profile, net_wire_s, 0, 1, "0us", "the same between servers"),
    TEXT("tuner", struct library_profile, tuner, "", "profile of what the library itself reckons, see `tuner`"),
    REAL("memory_traffic", DIM_NUMBER, struct library_profile, memory_traffic, 0, 100, "0", "bytes of GPU memory traffic per byte that a GPU sends; kernels share the memory's bandwidth with it"),
};

const struct field profile_choice_fields[] = {
    TEXT("protocol", struct lib_choice, protocol, "Simple", "name of the protocol"),
    REAL("base_latency", DIM_TIME, struct lib_choice, base_latency_s, 0, 10, "0us", "once per collective"),
    REAL("scaleup_latency", DIM_TIME, struct lib_choice, scaleup_latency_s, 0, 10, "0us", "per hop over the links between GPUs, see scaleup_wire"),
    REAL("pcie_latency", DIM_TIME, struct lib_choice, pcie_latency_s, 0, 10, "0us", "per hop over PCIe, see pcie_wire"),
    REAL("net_latency", DIM_TIME, struct lib_choice, net_latency_s, 0, 10, "0us", "per hop between servers, see net_wire"),
    REAL("efficiency_scaleup", DIM_FRACTION, struct lib_choice, efficiency_scaleup, 1e-3, 1, "1", "payload of what crosses the links between GPUs; the server's own efficiency multiplies it"),
    REAL("efficiency_pcie", DIM_FRACTION, struct lib_choice, efficiency_pcie, 1e-3, 1, "1", "payload of what crosses PCIe; the server's own efficiency multiplies it"),
    REAL("efficiency_net", DIM_FRACTION, struct lib_choice, efficiency_net, 1e-3, 1, "1", "payload of what crosses the network; the card's own efficiency multiplies it"),
    REAL("channel_bandwidth", DIM_RATE, struct lib_choice, channel_cap_Bps, 0, LARGE, "0GB/s", "most that one channel carries; 0 = no limit"),
    REAL("issue", DIM_NUMBER, struct lib_choice, issue_frac, 0, 1, "0", "share of the library's issue and issue_per_rank that it pays, 0 = all"),
    REAL("handshake", DIM_NUMBER, struct lib_choice, handshake_frac, 0, 10, "1", "share of the card's handshake that the protocol pays"),
    REAL("inject", DIM_NUMBER, struct lib_choice, inject_frac, 0, 10, "1", "the same of what injected messages take"),
    REAL("min_size", DIM_SIZE, struct lib_choice, min_B, 0, LARGE, "0B", "smallest collective it is used for"),
    REAL("max_size", DIM_SIZE, struct lib_choice, max_B, 0, LARGE, "0B", "largest collective it is used for; 0 = no limit"),
    INT("min_ranks", struct lib_choice, min_ranks, 0, INT_MAX, "0", "fewest ranks it is used for"),
    INT("max_ranks", struct lib_choice, max_ranks, 0, INT_MAX, "0", "most ranks it is used for; 0 = no limit"),
    INT("min_nodes", struct lib_choice, min_nodes, 1, 1000000, "1", "fewest servers it is used for"),
    INT("max_nodes", struct lib_choice, max_nodes, 0, 1000000, "0", "most servers it is used for; 0 = no limit"),
    INT("max_per_node", struct lib_choice, max_per_node, 0, 1000000, "0", "most ranks of a server it is used for; 0 = no limit"),
    REAL("channel_size", DIM_SIZE, struct lib_choice, channel_B, 0, LARGE, "0B", "one more channel is used for each so many bytes of the buffer; 0 = all, whatever the size"),
    REAL("channel_size_per_rank", DIM_SIZE, struct lib_choice, channel_per_rank_B, 0, LARGE, "0B", "the same, times the number of ranks; both add up"),
    REAL("peer_latency", DIM_TIME, struct lib_choice, per_peer_s, 0, 10, "0us", "of an all-to-all, for each peer: issued by the host while data moves, if all are on one server"),
    REAL("own_copy_bandwidth", DIM_RATE, struct lib_choice, own_copy_Bps, 0, LARGE, "0GB/s", "at which a channel copies a rank's own block while it sends nothing; 0 = that costs nothing"),
    REAL("fill", DIM_SIZE, struct lib_choice, fill_B, 0, LARGE, "0B", "so much of the buffer passes the links between GPUs before all stages of the pipeline work at once, and takes twice the time"),
    REAL("chunk", DIM_SIZE, struct lib_choice, chunk_B, 0, LARGE, "0B", "pipelining grain; 0 = that of the library"),
    REAL("least_chunk", DIM_SIZE, struct lib_choice, least_chunk_B, 0, LARGE, "0B", "the grain is halved down to this where a channel would have fewer chunks than the tree is deep, and sooner at its larger sizes; 0 = it is not"),
    BOOL("offered", struct lib_choice, offered, "true", "false: this version of the library has no such choice"),
    BOOL("needs_scaleup", struct lib_choice, needs_scaleup, "false", "used only where GPUs have links of their own"),
    BOOL("needs_card", struct lib_choice, needs_card, "false", "used between servers only where GPUs share a PCIe switch with network cards that keep order"),
    TUNER("base_latency", DIM_TIME, base_latency_s, 10, "-1us"),
    TUNER("scaleup_latency", DIM_TIME, scaleup_latency_s, 10, "-1us"),
    TUNER("pcie_latency", DIM_TIME, pcie_latency_s, 10, "-1us"),
    TUNER("net_latency", DIM_TIME, net_latency_s, 10, "-1us"),
    TUNER("efficiency_scaleup", DIM_FRACTION, efficiency_scaleup, 1, "-1"),
    TUNER("efficiency_pcie", DIM_FRACTION, efficiency_pcie, 1, "-1"),
    TUNER("efficiency_net", DIM_FRACTION, efficiency_net, 1, "-1"),
    REAL("tuner_inner_floor", DIM_TIME, struct lib_choice, tuner.inner_floor_s, 0, 10, "0us", "least latency of a hop inside a server that it reckons with when the collective leaves the server"),
    REAL("tuner_pair_bandwidth", DIM_RATE, struct lib_choice, tuner.pair_Bps, 0, LARGE, "0GB/s", "most that it expects of all channels together over two servers; 0 = no limit"),
    REAL("tuner_more_bandwidth", DIM_RATE, struct lib_choice, tuner.more_Bps, 0, LARGE, "0GB/s", "the same over more servers"),
    REAL("tuner_plateau", DIM_NUMBER, struct lib_choice, tuner.plateau, 0, 100, "1", "it reckons with so many times the latencies for an all-reduce between servers"),
    TEXT("tuner_shares", struct lib_choice, tuner_shares, "", "it reckons with such shares of its efficiencies for buffers of 64 B, 128 B, 256 B ... and more; numbers with blanks between"),
};
const int n_profile_choice_fields = N_OF(profile_choice_fields);

static const struct field framework_fields[] = {
    TEXT("name", struct framework, name, "", "name in reports"),
    TEXT("source", struct framework, source, "", "where the profile is from"),
    REAL("issue", DIM_TIME, struct framework, issue_s, 0, 1, "5us", "host time to issue one kernel; next to nothing with CUDA graphs"),
    REAL("saved_traffic", DIM_NUMBER, struct framework, saved_frac, -4, 0.99, "0", "share of the memory traffic of normalisation, activation and other element-wise layers that fused kernels save; below 0: that much more than one kernel for each layer takes"),
    REAL("saved_traffic_text", DIM_NUMBER, struct framework, saved_text_frac, -4, 0.99, "0", "the same in models of sequences, whose kernels are the framework's own instead of a vendor library's"),
    BOOL("wide_text", struct framework, wide_text, "false", "in models of sequences such layers move 32 bits where products have 16, as automatic mixed precision does"),
    REAL("conv_lost", DIM_NUMBER, struct framework, conv_lost_frac, 0, 0.99, "0", "share of the GPU's convolution rate that its kernels and tensor layout lose"),
    REAL("conv_lost_half", DIM_NUMBER, struct framework, half_lost_frac, 0, 0.99, "0", "the same for convolutions in 16 bits"),
    REAL("winograd", DIM_NUMBER, struct framework, winograd, 1, 9, "1", "of convolutions by 3 x 3 and 5 x 5 in fp32, multiplications per one that transforms of small tiles leave"),
    REAL("conv_transposed", DIM_NUMBER, struct framework, transposed_frac, 0, 4, "0", "of the activations of convolutions on matrix units, the share that is transposed on its way in and out, because the framework keeps channels first"),
    REAL("conv_transposed_half", DIM_NUMBER, struct framework, half_transposed_frac, 0, 4, "0", "the same in 16 bits"),
    REAL("depthwise", DIM_FRACTION, struct framework, depthwise_frac, 0, 1, "0", "share of a GPU's vector peak that convolutions of each channel alone reach, whatever the type; 0 = as other convolutions"),
    BOOL("vendor_attention", struct framework, vendor_attention, "false", "its attention is the GPU vendor's kernel where there is one, not the portable one"),
    REAL("cast_extra", DIM_NUMBER, struct framework, cast_extra, -1, 100, "0", "memory traffic of casts of operands to 8 and 4 bits beyond that of one fused pass, as a share of it; below 0: fused with the layers before"),
    REAL("optimizer_extra", DIM_NUMBER, struct framework, optimizer_extra, 0, 100, "0", "memory traffic of the update beyond that of one fused pass, as a share of it"),
};

static const char *const arrangement_names[] = {"palmtree", "consecutive", NULL};
static const char *const wiring_names[] = {"packed", "rail", NULL};

static const struct field fabric_fields[] = {
    TEXT("name", struct fabric_profile, name, "", "name in reports"),
    TEXT("source", struct fabric_profile, source, "", "where the profile is from"),
    TEXT("kind", struct fabric_profile, spec.kind, "fat-tree", "one of the fabrics"),
    INT("levels", struct fabric_profile, spec.levels, 0, 3, "0", "fat-tree: 2 or 3; 0 = the fewest that fit"),
    INT("radix", struct fabric_profile, spec.radix, 0, 4096, "0", "fat-tree: ports per switch; 0 = chosen to fit"),
    INT("hosts_per_leaf", struct fabric_profile, spec.hosts_per_leaf, 0, 4096, "0", "fat-tree: servers that a leaf serves, with all their cards in its plane; where wiring is rail, with one card of each; 0 = by ports_per_leaf"),
    INT("ports_per_leaf", struct fabric_profile, spec.ports_per_leaf, 0, 4096, "0", "fat-tree: the same by ports of network cards; 0 = from radix"),
    INT("leaves_per_pod", struct fabric_profile, spec.leaves_per_pod, 0, 4096, "0", "fat-tree: leaves in a pod (3 levels) or in all (2); 0 = from radix"),
    INT("pods", struct fabric_profile, spec.n_pods, 0, 4096, "0", "fat-tree: pods (3 levels); 0 = as many as needed"),
    REAL("oversubscription", DIM_NUMBER, struct fabric_profile, spec.oversubscription, 1, 1000, "1", "capacity of a leaf down / up"),
    REAL("core_oversubscription", DIM_NUMBER, struct fabric_profile, spec.core_oversubscription, 1, 1000, "1", "capacity of a pod down / up (3 levels)"),
    INT("ports_per_router", struct fabric_profile, spec.ports_per_router, 0, 4096, "0", "dragonfly p, grids: ports of network cards per router; 0 = chosen to fit"),
    INT("routers_per_group", struct fabric_profile, spec.routers_per_group, 0, 4096, "0", "dragonfly a; 0 = chosen to fit"),
    INT("global_per_router", struct fabric_profile, spec.global_per_router, 0, 4096, "0", "dragonfly h: links to other groups per router; 0 = chosen to fit"),
    INT("groups", struct fabric_profile, spec.n_groups, 0, 100000, "0", "dragonfly g; 0 = chosen to fit"),
    INT("spines_per_group", struct fabric_profile, spec.spines_per_group, 0, 4096, "0", "dragonfly-plus: spines of a group; 0 = chosen to fit. There routers_per_group counts leaves, and global_per_router is of a spine"),
    INT("links_per_pair", struct fabric_profile, spec.links_per_pair, 0, 4096, "0", "dragonfly, dragonfly-plus: links between each two groups; 0 = as many as there are ports for"),
    CHOICE("arrangement", struct fabric_profile, spec.arrangement, arrangement_names, "palmtree", "dragonfly: how the links of a group are dealt out: palmtree: to the groups next below; consecutive: to groups in order of their number"),
    TEXT("part", struct fabric_profile, spec.part, "fat-tree", "rail-only, multi-plane, multi-site: the fabric that each plane or site is; its numbers are given by the other keys"),
    INT("planes", struct fabric_profile, spec.planes, 0, 4096, "0", "multi-plane: card k of a server is in plane k mod planes; 0 = 2; rail-only: as many as a server has cards"),
    INT("sites", struct fabric_profile, spec.sites, 0, 4096, "0", "multi-site: how many; 0 = 2. global_bandwidth and global_latency are of the link between two"),
    INT("gateways", struct fabric_profile, spec.gateways, 0, 4096, "0", "multi-site: ports of a site's fabric that lead to the other sites; 0 = 1"),
    INT("chassis", struct fabric_profile, spec.n_chassis, 0, 4096, "0", "cascade: rows of routers in a group; 0 = one where routers_per_group is given, else 6 of 16"),
    TEXT("file", struct fabric_profile, file, "", "graph: the file of the network, .dot or .json, relative to the file that says so"),
    TEXT("dimensions", struct fabric_profile, dimensions, "", "torus, mesh, hyperx, full-mesh: switches along each dimension, \"8x8x4\"; chosen to fit when not given"),
    REAL("link_bandwidth", DIM_RATE, struct fabric_profile, spec.link_Bps, 0, 1e18, "0GB/s", "between switches, one direction; 0 = as the network card"),
    REAL("global_bandwidth", DIM_RATE, struct fabric_profile, spec.global_Bps, 0, 1e18, "0GB/s", "between dragonfly groups; 0 = as link_bandwidth"),
    REAL("link_latency", DIM_TIME, struct fabric_profile, spec.link_latency_s, 0, 10, "0.5us", "between switches, one switch included"),
    REAL("global_latency", DIM_TIME, struct fabric_profile, spec.global_latency_s, 0, 10, "1us", "between dragonfly groups, one switch included"),
    CHOICE("routing", struct fabric_profile, spec.routing, routing_names, "static", "static: by destination, without collisions where the fabric allows; ecmp: by a seeded hash; minimal: dragonfly's shortest; spray: packets over all shortest ways; valiant, valiant-spray, ugal: round by other groups (dragonfly, grids)"),
    INT("qps", struct fabric_profile, spec.qps, 1, 1024, "1", "ecmp, valiant: queue pairs a connection is spread over, each with its own hash"),
    CHOICE("wiring", struct fabric_profile, spec.wiring, wiring_names, "packed", "packed: the cards of a server on one leaf; rail: card k of neighbouring servers, as many as a leaf has ports, on one leaf"),
    BOOL("sums", struct fabric_profile, sums, "false", "its switches can sum what servers send, as SHARP does"),
    INT("seed", struct fabric_profile, seed, 0, INT_MAX, "1", "of the hash of ecmp and valiant"),
    TEXT("node", struct fabric_profile, node, "", "profile of the server it usually joins, where the scenario names none"),
    TEXT("nic", struct fabric_profile, nic, "", "the same of the network card"),
};

static const struct field prices_fields[] = {
    TEXT("name", struct prices_profile, name, "", "name in reports"),
    TEXT("source", struct prices_profile, source, "", "where the prices are from"),
    TEXT("currency", struct prices_profile, prices.currency, "", "of all costs, such as US dollars"),
    REAL("switch_cost", DIM_NUMBER, struct prices_profile, prices.switch_cost, 0, LARGE, "0", "of a switch; 0 = not known, as for the others"),
    REAL("port_cost", DIM_NUMBER, struct prices_profile, prices.port_cost, 0, LARGE, "0", "of a port of a switch with a cable in it, where switches are reckoned by ports"),
    REAL("nic_cable_cost", DIM_NUMBER, struct prices_profile, prices.nic_cable_cost, 0, LARGE, "0", "of a cable between a network card and its switch, what is plugged at both ends included"),
    REAL("fabric_cable_cost", DIM_NUMBER, struct prices_profile, prices.fabric_cable_cost, 0, LARGE, "0", "of a cable between switches"),
    REAL("global_cable_cost", DIM_NUMBER, struct prices_profile, prices.global_cable_cost, 0, LARGE, "0", "of a cable between groups or sites"),
    REAL("switch_power", DIM_POWER, struct prices_profile, prices.switch_W, 0, LARGE, "0W", "of a switch"),
    REAL("port_power", DIM_POWER, struct prices_profile, prices.port_W, 0, LARGE, "0W", "more for each port with a cable in it"),
    REAL("cable_power", DIM_POWER, struct prices_profile, prices.cable_W, 0, LARGE, "0W", "of the optics of a cable, both ends together"),
};

const struct profile_kind profile_kinds[N_PROFILE_KINDS] = {
    [PROFILE_GPU] = {"gpu", "hardware", "One GPU: what it computes and moves.", gpu_fields, N_OF(gpu_fields), false},
    [PROFILE_NODE] = {"node", "hardware", "A server: its GPUs, and what joins them inside.", node_fields, N_OF(node_fields), false},
    [PROFILE_NIC] = {"nic", "links", "A network card and its port.", nic_fields, N_OF(nic_fields), false},
    [PROFILE_LIBRARY] = {"library", "libraries", "A communication library: what it picks and what that costs. A version that has no profile of its own (nccl-2.21.5) takes the nearest before it, nccl alone nccl-2.18; results and `--explain` name the one taken.", library_fields, N_OF(library_fields), false},
    [PROFILE_FRAMEWORK] = {"framework", "frameworks", "A training framework: what it makes of a GPU. pytorch alone is pytorch-eager, megatron megatron-core, deepspeed megatron-deepspeed, tensorflow tf2-ngc; `--explain` names the one taken.", framework_fields, N_OF(framework_fields), false},
    [PROFILE_FABRIC] = {"fabric", "fabrics", "The network between servers: one of the fabrics, or that of a known system. Not needed on one server.", fabric_fields, N_OF(fabric_fields), true},
    [PROFILE_PRICES] = {"prices", "prices", "What the network between servers costs and draws, for `topo`; nothing is reckoned where it is not given.", prices_fields, N_OF(prices_fields), false},
    [PROFILE_TUNER] = {"tuner", "tuners", "What NCCL itself reckons of a collective, for `collective --as-tuner`; default: the library's.", tuner_fields, N_TUNER_FIELDS, false},
};
/* clang-format on */

/* keys of a profile that field_load does not read */
static const char *const profile_extra[] = {"kind",       "base",          "sources",
                                            "choices",    "changes",       "calibration",
                                            "algorithms", "architectures", NULL};
enum { N_PROFILE_EXTRA = 8, MAX_ROWS = 64 };

/* files open on the way to a base, innermost first: a file may not be met again */
struct chain {
    const struct chain *prev;
    dev_t device;
    ino_t inode;
};

static void report_choices(struct arena *perm, const char *const *known, int n, char **list)
{
    *list = arena_text(perm, "%s", n > 0 ? known[0] : "none");
    for (int i = 1; i < n; i++) *list = arena_text(perm, "%s, %s", *list, known[i]);
}

enum { MAX_LISTED = 80 }; /* names of about ten letters in one message */

/* NOLINTNEXTLINE(readability-function-size): seven plain facts; a struct for one caller would hide them */
void profile_unknown(struct diag *diag, struct diag_place place, const char *what, const char *name,
                     const char *const *known, int n_known, struct arena *perm)
{
    const char *near = diag_nearest(name, known, n_known);
    const char **alike = arena_new(perm, const char *, n_known);
    int n_alike = 0;
    for (int i = 0; i < n_known; i++) {
        if (diag_begins(name, known[i])) alike[n_alike++] = known[i];
    }
    char *list;
    if (n_alike > 1) {
        report_choices(perm, alike, n_alike, &list);
        diag_error(diag, place, "unknown %s \"%s\" (did you mean one of %s?)", what, name, list);
        return;
    }
    if (near) {
        diag_error(diag, place, "unknown %s \"%s\" (did you mean \"%s\"?)", what, name, near);
        return;
    }
    report_choices(perm, known, n_known, &list);
    if (n_known > MAX_LISTED) {
        diag_error(diag, place, "unknown %s \"%s\" (dpsim %s lists those known)", what, name,
                   strcmp(what, "model") == 0 ? "models" : "profiles");
    } else {
        diag_error(diag, place, "unknown %s \"%s\" (known: %s)", what, name, list);
    }
}

const char *profile_path(const char *file, const char *path, struct arena *perm)
{
    const char *slash = strrchr(file, '/');
    if (path[0] == '/' || !slash) return arena_text(perm, "%s", path);
    return arena_text(perm, "%.*s/%s", (int)(slash - file), file, path);
}

static bool is_path(const char *name)
{
    size_t n = strlen(name);
    return strchr(name, '/') || (n > 5 && !strcmp(name + n - 5, ".json"));
}

/* by insertion, so that messages do not depend on the order of the directory */
static int insert_sorted(const char **names, int n, const char *name)
{
    int at = n;
    while (at > 0 && strcmp(names[at - 1], name) > 0) at--;
    memmove(names + at + 1, names + at, (size_t)(n - at) * sizeof *names);
    names[at] = name;
    return n + 1;
}

static bool states_kind(const struct json_node *object, const struct profile_kind *kind)
{
    const struct json_node *stated = json_get(object, "kind");
    return kind->own_kind || !stated ||
           (json_kind(stated) == JSON_TEXT && strcmp(json_text(stated), kind->name) == 0);
}

static bool is_of_kind(const char *file, const struct profile_kind *kind, struct arena scratch)
{
    struct diag ignored = {.perm = &scratch};
    struct json *json = json_read_file(file, &scratch, &ignored);
    if (!json) return false;
    const struct json_node *root = json_root(json);
    bool right = json_kind(root) == JSON_OBJECT && states_kind(root, kind);
    json_close(json);
    return right;
}

static int add_fabric_kinds(const char **names, int n)
{
    for (int i = 0; i < n_fabric_kinds && n < PROFILE_MAX_KNOWN; i++)
        n = insert_sorted(names, n, fabric_kinds[i].name);
    return n;
}

int profile_list(const char *profile_dir, const struct profile_kind *kind, const char **names,
                 struct arena *perm)
{
    const char *folder = arena_text(perm, "%s/%s", profile_dir, kind->folder);
    DIR *dir = opendir(folder);
    int n = 0;
    if (!dir) return 0;
    for (const struct dirent *entry; (entry = readdir(dir)) && n < PROFILE_MAX_KNOWN - 1;) {
        size_t length = strlen(entry->d_name);
        if (length <= 5 || strcmp(entry->d_name + length - 5, ".json") != 0) continue;
        if (!is_of_kind(arena_text(perm, "%s/%s", folder, entry->d_name), kind, *perm)) continue;
        n = insert_sorted(names, n, arena_text(perm, "%.*s", (int)length - 5, entry->d_name));
    }
    closedir(dir);
    return kind == &profile_kinds[PROFILE_FABRIC] ? add_fabric_kinds(names, n) : n;
}

static struct diag_place place_of(const struct profile_reader *reader, struct profile_ref ref)
{
    const struct json_node *node = ref.node ? ref.node : json_root(ref.json);
    return json_place(ref.json, node, reader->perm);
}

/* resolve — the file of a name or path, whatever its case and dashes; of a library's version the nearest before it,
 * of a family's name a stated member; NULL after an error. */
static const char *resolve(const struct profile_reader *reader, const struct profile_kind *kind,
                           struct profile_ref ref, const char *name, struct stat *status)
{
    const char *file;
    if (is_path(name)) {
        file = profile_path(json_file(ref.json), name, reader->perm);
    } else {
        file = arena_text(reader->perm, "%s/%s/%s.json", reader->dir, kind->folder, name);
    }
    bool found = stat(file, status) == 0;
    if (found && S_ISREG(status->st_mode)) return file;
    if (found || is_path(name)) {
        diag_error(reader->diag, place_of(reader, ref), "%s %s \"%s\" (a JSON file)",
                   found ? "not a file:" : "no such file:", kind->name, file);
        return NULL;
    }
    const char *names[PROFILE_MAX_KNOWN];
    int n = profile_list(reader->dir, kind, names, reader->perm);
    const char *called = words_short(name, reader->perm);
    const char *nearest =
        kind == &profile_kinds[PROFILE_LIBRARY] ? version_nearest(called, names, n) : NULL;
    if (!nearest) nearest = words_known(called, names, n);
    if (!nearest) nearest = words_profile(kind->name, called);
    if (nearest) return resolve(reader, kind, ref, nearest, status);
    profile_unknown(reader->diag, place_of(reader, ref), kind->name, name, names, n, reader->perm);
    return NULL;
}

static void load_ref(const struct profile_reader *reader, const struct profile_kind *kind,
                     struct profile_ref ref, const struct chain *chain, void *out);

/* a table of fields, and the keys beside them that others read */
struct form {
    const struct field *fields;
    int n_fields;
    const char *const *extra; /* ends with NULL */
    const char *name;
};

/* load_given — only the keys that the object gives; the rest of *out keeps its values. */
static void load_given(const struct profile_reader *reader, struct form form,
                       const struct json *json, const struct json_node *node, void *out)
{
    struct field rows[MAX_ROWS];
    const char *extra[MAX_ROWS + N_PROFILE_EXTRA + 1];
    int n_rows = 0;
    int n_extra = 0;
    must(form.n_fields <= MAX_ROWS);
    for (int i = 0; form.extra[i]; i++) extra[n_extra++] = form.extra[i];
    for (int i = 0; i < form.n_fields; i++) {
        if (json_get(node, form.fields[i].key)) {
            rows[n_rows++] = form.fields[i];
        } else {
            extra[n_extra++] = form.fields[i].key;
        }
    }
    extra[n_extra] = NULL;
    field_load(rows, n_rows, extra, json, node, out, form.name, reader->log, reader->perm,
               reader->diag);
}

/* check_kind — of what kind an object says it is; one that says nothing may be of any. */
static bool check_kind(const struct profile_reader *reader, const struct profile_kind *kind,
                       const struct json *json, const struct json_node *node)
{
    const struct json_node *stated = json_get(node, "kind");
    if (states_kind(node, kind)) return true;
    const char *is = json_kind(stated) == JSON_TEXT ? json_text(stated) : "nameless";
    diag_error(reader->diag, json_place(json, stated, reader->perm),
               "is a profile of kind %s (wanted %s)", is, kind->name);
    return false;
}

struct choice_place {
    const struct profile_reader *reader;
    const struct json *json;
    const struct json_node *row;
};

/* choice_algorithm — the algorithm's row for a kind of collective; NULL after an error. */
static const struct coll_algo *choice_algorithm(struct choice_place at, const char *name,
                                                enum coll_kind kind)
{
    const struct coll_algo *algo = coll_find(kind, name);
    if (algo) return algo;
    const char *known[PROFILE_MAX_KNOWN];
    int n = 0;
    for (int i = 0; i < n_coll_algos && n < PROFILE_MAX_KNOWN; i++) {
        if (coll_algos[i].kind == kind) known[n++] = coll_algos[i].name;
    }
    struct arena *perm = at.reader->perm;
    profile_unknown(at.reader->diag, json_place(at.json, json_get(at.row, "algorithm"), perm),
                    arena_text(perm, "%s algorithm", coll_kind_names[kind]), name, known, n, perm);
    return NULL;
}

static bool find_kind(struct choice_place at, const struct json_node *node, enum coll_kind *kind)
{
    struct arena *perm = at.reader->perm;
    if (json_kind(node) != JSON_TEXT) {
        diag_error(at.reader->diag, json_place(at.json, node, perm), "is %s (wanted a collective)",
                   json_kind_name(json_kind(node)));
        return false;
    }
    for (int k = 0; k < N_COLL_KINDS; k++) {
        *kind = (enum coll_kind)k;
        if (!strcmp(json_text(node), coll_kind_names[k])) return true;
    }
    profile_unknown(at.reader->diag, json_place(at.json, node, perm), "collective", json_text(node),
                    coll_kind_names, N_COLL_KINDS, perm);
    return false;
}

/* need — a member of a given kind; NULL after an error. */
static const struct json_node *need(struct choice_place at, const char *key, enum json_kind kind)
{
    const struct json_node *node = json_get(at.row, key);
    if (node && json_kind(node) == kind) return node;
    struct arena *perm = at.reader->perm;
    if (node) {
        diag_error(at.reader->diag, json_place(at.json, node, perm), "is %s (wanted %s)",
                   json_kind_name(json_kind(node)), json_kind_name(kind));
    } else {
        diag_error(at.reader->diag, json_place(at.json, at.row, perm), "missing key \"%s\" (%s)",
                   key, json_kind_name(kind));
    }
    return NULL;
}

/* keys of a choice that field_load does not read */
static const char *const choice_extra[] = {"collectives", "algorithm", NULL};

/* spell_out — where 0 stands for no limit. */
static void spell_out(struct lib_choice *choice)
{
    if (choice->channel_cap_Bps <= 0) choice->channel_cap_Bps = INFINITY;
    if (choice->max_B <= 0) choice->max_B = INFINITY;
    if (choice->max_nodes == 0) choice->max_nodes = INT_MAX;
}

/* read_shares — the numbers of tuner_shares. */
static void read_shares(struct choice_place at, struct lib_choice *choice)
{
    struct lib_tuner *tuner = &choice->tuner;
    const struct json_node *node = json_get(at.row, "tuner_shares");
    if (!node || json_kind(node) != JSON_TEXT) return;
    const char *text = json_text(node);
    tuner->n_shares = 0;
    for (char *end; *text; text = end) {
        double share = strtod(text, &end);
        if (end != text && share > 0 && share <= 1 && tuner->n_shares < LIB_MAX_SHARES) {
            tuner->share[tuner->n_shares++] = share;
            continue;
        }
        diag_error(at.reader->diag, json_place(at.json, node, at.reader->perm),
                   "wanted at most %d numbers above 0 and up to 1, with a blank between",
                   LIB_MAX_SHARES);
        return;
    }
}

/* load_choice — one row of "choices": a lib_choice for each of its collectives. */
static void load_choice(struct choice_place at, struct library *library)
{
    const struct profile_reader *reader = at.reader;
    struct lib_choice choice = {0};
    field_load(profile_choice_fields, n_profile_choice_fields, choice_extra, at.json, at.row,
               &choice, "choice", NULL, reader->perm, reader->diag);
    if (json_kind(at.row) != JSON_OBJECT) return;
    spell_out(&choice);
    read_shares(at, &choice);
    const struct json_node *kinds = need(at, "collectives", JSON_LIST);
    const struct json_node *name = need(at, "algorithm", JSON_TEXT);
    if (!kinds || !name) return;
    for (int i = 0; i < json_size(kinds); i++) {
        if (!find_kind(at, json_at(kinds, i), &choice.kind)) continue;
        choice.algo = choice_algorithm(at, json_text(name), choice.kind);
        if (choice.algo) library->choices[library->n_choices++] = choice;
    }
}

static void load_choices(const struct profile_reader *reader, const struct json *json,
                         const struct json_node *object, struct library *library)
{
    const struct json_node *list = json_get(object, "choices");
    if (!list) return; /* the base's */
    if (json_kind(list) != JSON_LIST) {
        diag_error(reader->diag, json_place(json, list, reader->perm),
                   "is %s (wanted a list of choices)", json_kind_name(json_kind(list)));
        return;
    }
    int room = 0;
    for (int i = 0; i < json_size(list); i++) {
        const struct json_node *row = json_at(list, i);
        const struct json_node *kinds =
            json_kind(row) == JSON_OBJECT ? json_get(row, "collectives") : NULL;
        if (kinds && json_kind(kinds) == JSON_LIST) room += json_size(kinds);
    }
    library->choices = arena_new(reader->perm, struct lib_choice, room);
    library->n_choices = 0;
    for (int i = 0; i < json_size(list); i++) {
        load_choice((struct choice_place){reader, json, json_at(list, i)}, library);
    }
}

/* names_kind — does a row of "changes" mean this kind? One that lists none means all. */
static bool names_kind(struct choice_place at, enum coll_kind wanted)
{
    const struct json_node *kinds = json_get(at.row, "collectives");
    bool named = !kinds;
    for (int i = 0; kinds && i < json_size(kinds); i++) {
        enum coll_kind kind;
        named = named || (find_kind(at, json_at(kinds, i), &kind) && kind == wanted);
    }
    return named;
}

/* load_change — the keys of one row of "changes", into the choices that it names. */
static void load_change(struct choice_place at, struct library *library)
{
    const struct profile_reader *reader = at.reader;
    const struct form form = {profile_choice_fields, n_profile_choice_fields, choice_extra,
                              "change"};
    const struct json_node *name = need(at, "algorithm", JSON_TEXT);
    const struct json_node *protocol = json_get(at.row, "protocol");
    int n_changed = 0;
    for (int c = 0; name && c < library->n_choices; c++) {
        struct lib_choice *choice = &library->choices[c];
        bool meant = !strcmp(choice->algo->name, json_text(name)) && names_kind(at, choice->kind);
        if (protocol && json_kind(protocol) == JSON_TEXT)
            meant = meant && !strcmp(choice->protocol, json_text(protocol));
        if (!meant) continue;
        load_given(reader, form, at.json, at.row, choice);
        spell_out(choice);
        read_shares(at, choice);
        n_changed++;
    }
    if (!name || n_changed > 0) return;
    diag_error(reader->diag, json_place(at.json, at.row, reader->perm),
               "changes no choice of the base");
}

static void load_choice_changes(const struct profile_reader *reader, const struct json *json,
                                const struct json_node *object, struct library *library)
{
    const struct json_node *list = json_get(object, "changes");
    if (!list) return;
    if (json_kind(list) != JSON_LIST) {
        diag_error(reader->diag, json_place(json, list, reader->perm),
                   "is %s (wanted a list of changes)", json_kind_name(json_kind(list)));
        return;
    }
    for (int i = 0; i < json_size(list); i++) {
        struct choice_place at = {reader, json, json_at(list, i)};
        if (json_kind(at.row) == JSON_OBJECT) {
            load_change(at, library);
        } else {
            diag_error(reader->diag, json_place(json, at.row, reader->perm),
                       "is %s (wanted an object)", json_kind_name(json_kind(at.row)));
        }
    }
}

/* load_calibration — what the object says of its measurements; of its base's, when it says nothing. */
static void load_calibration(const struct profile_reader *reader, const struct profile_kind *kind,
                             struct profile_ref ref, void *out)
{
    const struct json_node *node = json_get(ref.node, "calibration");
    struct gpu_profile *gpu = kind == &profile_kinds[PROFILE_GPU] ? out : NULL;
    struct nic_profile *nic = kind == &profile_kinds[PROFILE_NIC] ? out : NULL;
    if (!node || (!gpu && !nic)) return;
    const struct measured *measured = calibration_read(ref.json, node, reader->perm, reader->diag);
    if (gpu)
        gpu->gpu.measured = measured;
    else
        nic->measured = measured;
}

/* keys beside the fields that only some kinds of profile have */
static const struct {
    const char *key;
    int kind, other; /* other: -1 = none */
} own_keys[] = {
    {"choices", PROFILE_LIBRARY, -1},          {"changes", PROFILE_LIBRARY, -1},
    {"algorithms", PROFILE_TUNER, -1},         {"architectures", PROFILE_TUNER, -1},
    {"calibration", PROFILE_GPU, PROFILE_NIC},
};

static void check_own_keys(const struct profile_reader *reader, const struct profile_kind *kind,
                           struct profile_ref ref)
{
    for (int i = 0; i < N_OF(own_keys); i++) {
        const struct json_node *node = json_get(ref.node, own_keys[i].key);
        const struct profile_kind *owner = &profile_kinds[own_keys[i].kind];
        int other = own_keys[i].other;
        if (!node || kind == owner || (other >= 0 && kind == &profile_kinds[other])) continue;
        diag_error(reader->diag, json_place(ref.json, node, reader->perm), "only a %s has \"%s\"",
                   owner->name, own_keys[i].key);
    }
}

/* load_graph — the file that a fabric's object names, relative to the object's. */
static void load_graph(const struct profile_reader *reader, struct profile_ref ref,
                       struct fabric_profile *out)
{
    const struct json_node *file = json_get(ref.node, "file");
    if (!file || json_kind(file) != JSON_TEXT || !json_text(file)[0]) return;
    const char *path = profile_path(json_file(ref.json), json_text(file), reader->perm);
    if (strcmp(out->spec.kind, "graph") == 0)
        out->spec.graph = graph_file_read(path, reader->perm, reader->diag);
    else
        diag_error(reader->diag, json_place(ref.json, file, reader->perm),
                   "a %s is not read from a file (wanted \"kind\": \"graph\")", out->spec.kind);
}

static void load_object(const struct profile_reader *reader, const struct profile_kind *kind,
                        struct profile_ref ref, const struct chain *chain, void *out)
{
    const struct json_node *base = json_get(ref.node, "base");
    if (!check_kind(reader, kind, ref.json, ref.node)) return;
    if (base) {
        load_ref(reader, kind, (struct profile_ref){ref.json, base, NULL}, chain, out);
        struct form form = {kind->fields, kind->n_fields, profile_extra, kind->name};
        load_given(reader, form, ref.json, ref.node, out);
    } else {
        field_load(kind->fields, kind->n_fields, profile_extra, ref.json, ref.node, out, kind->name,
                   reader->log, reader->perm, reader->diag);
    }
    load_calibration(reader, kind, ref, out);
    check_own_keys(reader, kind, ref);
    if (kind == &profile_kinds[PROFILE_FABRIC]) load_graph(reader, ref, out);
    if (kind == &profile_kinds[PROFILE_LIBRARY]) {
        struct library_profile *profile = out;
        load_choices(reader, ref.json, ref.node, &profile->library);
        load_choice_changes(reader, ref.json, ref.node, &profile->library);
    }
    if (kind == &profile_kinds[PROFILE_TUNER])
        tuner_read(ref.json, ref.node, out, reader->perm, reader->diag);
}

static bool met_before(const struct chain *chain, const struct stat *status)
{
    for (; chain; chain = chain->prev) {
        if (chain->device == status->st_dev && chain->inode == status->st_ino) return true;
    }
    return false;
}

static void apply_edits(const struct profile_edits *edits, const char *name, struct json *json,
                        struct diag *diag)
{
    for (int i = 0; edits && i < edits->n; i++) {
        const struct profile_edit *edit = &edits->edits[i];
        if (strcmp(edit->profile, name) != 0) continue;
        edits->read[i] = true;
        if (edit->value) json_set(json, edit->pointer, edit->value, diag);
    }
}

static void load_file(const struct profile_reader *reader, const struct profile_kind *kind,
                      struct profile_ref ref, const char *name, const struct chain *chain,
                      void *out)
{
    struct stat status;
    const char *file = resolve(reader, kind, ref, name, &status);
    if (!file) return;
    if (met_before(chain, &status)) {
        diag_error(reader->diag, place_of(reader, ref),
                   "base goes round in a circle: \"%s\" is its own base", name);
        return;
    }
    struct json *json = json_read_file(file, reader->perm, reader->diag);
    if (!json) return;
    apply_edits(reader->edits, name, json, reader->diag);
    const struct json_node *root = json_root(json);
    if (json_kind(root) == JSON_OBJECT) {
        struct chain link = {chain, status.st_dev, status.st_ino};
        load_object(reader, kind, (struct profile_ref){json, root, NULL}, &link, out);
    } else {
        diag_error(reader->diag, json_place(json, root, reader->perm), "is %s (wanted an object)",
                   json_kind_name(json_kind(root)));
    }
    json_close(json);
}

/* load_fabric_kind — a fabric of which only the kind is given. */
static void load_fabric_kind(const struct profile_reader *reader, struct profile_ref ref,
                             const char *name, struct fabric_profile *out)
{
    const struct profile_kind *kind = &profile_kinds[PROFILE_FABRIC];
    struct field_log *log = reader->log;
    field_load(kind->fields, kind->n_fields, profile_extra, ref.json, NULL, out, kind->name, log,
               reader->perm, reader->diag);
    out->spec.kind = name;
    for (int i = log && ref.node ? log->n_uses - kind->n_fields : 0;
         log && ref.node && i < log->n_uses; i++) {
        if (strcmp(log->uses[i].key, "kind") != 0) continue;
        log->uses[i].value = name;
        log->uses[i].from_default = false;
    }
}

static void load_ref(const struct profile_reader *reader, const struct profile_kind *kind,
                     struct profile_ref ref, const struct chain *chain, void *out)
{
    const char *text = ref.name;
    must(ref.node || ref.name);
    if (ref.node) text = json_kind(ref.node) == JSON_TEXT ? json_text(ref.node) : NULL;
    const struct fabric_kind *fabric = text ? fabric_find(text) : NULL;
    if (kind == &profile_kinds[PROFILE_FABRIC] && fabric) {
        load_fabric_kind(reader, ref, fabric->name, out);
    } else if (!ref.node) {
        load_file(reader, kind, ref, ref.name, chain, out);
    } else if (json_kind(ref.node) == JSON_TEXT) {
        load_file(reader, kind, ref, json_text(ref.node), chain, out);
    } else if (json_kind(ref.node) == JSON_OBJECT) {
        load_object(reader, kind, ref, chain, out);
    } else {
        diag_error(reader->diag, place_of(reader, ref),
                   "is %s (wanted the name of a %s, or an object)",
                   json_kind_name(json_kind(ref.node)), kind->name);
    }
}

/* name_of — what to call a profile that does not say its name. */
static const char *name_of(struct profile_ref ref, const char *stated)
{
    return stated && stated[0] ? stated : ref.node || !ref.name ? "custom" : ref.name;
}

void profile_read_gpu(const struct profile_reader *reader, struct profile_ref ref,
                      struct gpu_profile *out)
{
    *out = (struct gpu_profile){.node = ""};
    load_ref(reader, &profile_kinds[PROFILE_GPU], ref, NULL, out);
    out->gpu.name = name_of(ref, out->gpu.name);
    if (out->gpu.vector_flops <= 0) out->gpu.vector_flops = out->gpu.peak_flops[DTYPE_FP32];
    if (out->gpu.vector_flops <= 0 && diag_ok(reader->diag)) {
        diag_error(reader->diag, place_of(reader, ref),
                   "GPU \"%s\" has neither peak_vector nor peak_fp32", out->gpu.name);
    }
}

void profile_read_node(const struct profile_reader *reader, struct profile_ref ref,
                       struct node_profile *out)
{
    *out = (struct node_profile){.nic = "", .scaleup = "none"};
    load_ref(reader, &profile_kinds[PROFILE_NODE], ref, NULL, out);
    out->name = name_of(ref, out->name);
    for (int i = 0; scaleup_names[i]; i++) {
        if (!strcmp(out->scaleup, scaleup_names[i])) out->spec.scaleup = (enum scaleup_kind)i;
    }
    bool linked = out->spec.scaleup != SCALEUP_NONE;
    if (linked && out->spec.scaleup_Bps <= 0 && diag_ok(reader->diag)) {
        diag_error(reader->diag, place_of(reader, ref),
                   "node \"%s\" has a scaleup %s but no scaleup_bandwidth", out->name,
                   out->scaleup);
    }
}

void profile_read_nic(const struct profile_reader *reader, struct profile_ref ref,
                      struct nic_profile *out)
{
    *out = (struct nic_profile){0};
    load_ref(reader, &profile_kinds[PROFILE_NIC], ref, NULL, out);
    out->name = name_of(ref, out->name);
}

static double or_row(double tuner, double row)
{
    return tuner < 0 ? row : tuner;
}

/* fill_tuner — what the library is not said to see otherwise, it sees as it is. */
static void fill_tuner(struct lib_choice *row)
{
    struct lib_tuner *tuner = &row->tuner;
    row->has_tuner = tuner->base_latency_s >= 0 || tuner->scaleup_latency_s >= 0 ||
                     tuner->pcie_latency_s >= 0 || tuner->net_latency_s >= 0 ||
                     tuner->efficiency_scaleup >= 0 || tuner->efficiency_pcie >= 0 ||
                     tuner->efficiency_net >= 0;
    tuner->base_latency_s = or_row(tuner->base_latency_s, row->base_latency_s);
    tuner->scaleup_latency_s = or_row(tuner->scaleup_latency_s, row->scaleup_latency_s);
    tuner->pcie_latency_s = or_row(tuner->pcie_latency_s, row->pcie_latency_s);
    tuner->net_latency_s = or_row(tuner->net_latency_s, row->net_latency_s);
    tuner->efficiency_scaleup = or_row(tuner->efficiency_scaleup, row->efficiency_scaleup);
    tuner->efficiency_pcie = or_row(tuner->efficiency_pcie, row->efficiency_pcie);
    tuner->efficiency_net = or_row(tuner->efficiency_net, row->efficiency_net);
}

/* read_spread — the numbers of spread_faster and spread_slower, in and between servers. */
static bool read_spread(const char *text, double *spread)
{
    for (int size = 0; size < LIB_N_SIZES; size++) {
        char *end;
        spread[size] = strtod(text, &end);
        if (end == text || !(spread[size] >= 0 && spread[size] <= LARGEST_SPREAD)) return false;
        text = end;
    }
    return text[strspn(text, " ")] == '\0';
}

static bool read_spreads(struct library_profile *profile)
{
    bool fine = true;
    for (int reach = 0; reach < LIB_N_REACHES; reach++) {
        double faster[LIB_N_SIZES] = {0};
        double slower[LIB_N_SIZES] = {0};
        bool own = profile->faster[reach][0] != '\0';
        fine = read_spread(profile->faster[own ? reach : LIB_INSIDE], faster) && fine;
        own = profile->slower[reach][0] != '\0';
        fine = read_spread(profile->slower[own ? reach : LIB_INSIDE], slower) && fine;
        for (int size = 0; size < LIB_N_SIZES; size++)
            profile->library.spread[reach][size] = (struct sides){faster[size], slower[size]};
    }
    return fine;
}

void profile_read_library(const struct profile_reader *reader, struct profile_ref ref,
                          struct library_profile *out)
{
    *out = (struct library_profile){0};
    load_ref(reader, &profile_kinds[PROFILE_LIBRARY], ref, NULL, out);
    out->library.name = name_of(ref, out->library.name);
    if (diag_ok(reader->diag) && !read_spreads(out)) {
        diag_error(reader->diag, place_of(reader, ref),
                   "library \"%s\": a spread wants %d numbers from 0 to %g with a blank between",
                   out->library.name, LIB_N_SIZES, LARGEST_SPREAD);
    }
    for (int i = 0; i < out->library.n_choices; i++) {
        struct lib_choice *choice = &out->library.choices[i];
        choice->scaleup_wire_s = out->scaleup_wire_s;
        choice->pcie_wire_s = out->pcie_wire_s;
        choice->net_wire_s = out->net_wire_s;
        fill_tuner(choice);
    }
    if (out->library.n_choices == 0 && diag_ok(reader->diag)) {
        diag_error(reader->diag, place_of(reader, ref), "library \"%s\" has no choices",
                   out->library.name);
    }
}

void profile_read_tuner(const struct profile_reader *reader, struct profile_ref ref,
                        struct tuner_profile *out)
{
    *out = (struct tuner_profile){0};
    load_ref(reader, &profile_kinds[PROFILE_TUNER], ref, NULL, out);
    out->tuner.name = name_of(ref, out->tuner.name);
}

void profile_read_framework(const struct profile_reader *reader, struct profile_ref ref,
                            struct framework *out)
{
    *out = (struct framework){0};
    load_ref(reader, &profile_kinds[PROFILE_FRAMEWORK], ref, NULL, out);
    out->name = name_of(ref, out->name);
}

void profile_read_prices(const struct profile_reader *reader, struct profile_ref ref,
                         struct prices_profile *out)
{
    *out = (struct prices_profile){.name = ""};
    load_ref(reader, &profile_kinds[PROFILE_PRICES], ref, NULL, out);
    out->name = name_of(ref, out->name);
    out->prices.name = out->name;
}

static void check_fabric_kind(const struct profile_reader *reader, struct profile_ref ref,
                              struct fabric_profile *out)
{
    const struct fabric_kind *kind = fabric_find(out->spec.kind);
    if (kind) {
        out->spec.kind = kind->name;
        return;
    }
    const char *names[PROFILE_MAX_KNOWN];
    int n = 0;
    for (; n < n_fabric_kinds && n < PROFILE_MAX_KNOWN; n++) names[n] = fabric_kinds[n].name;
    profile_unknown(reader->diag, place_of(reader, ref), "fabric", out->spec.kind, names, n,
                    reader->perm);
}

void profile_read_fabric(const struct profile_reader *reader, struct profile_ref ref,
                         struct fabric_profile *out)
{
    *out = (struct fabric_profile){
        .spec.kind = "fat-tree", .dimensions = "", .file = "", .node = "", .nic = ""};
    load_ref(reader, &profile_kinds[PROFILE_FABRIC], ref, NULL, out);
    out->name = name_of(ref, out->name);
    out->spec.seed = (uint64_t)out->seed;
    check_fabric_kind(reader, ref, out);
    if (!*out->dimensions || grid_read_sides(out->dimensions, &out->spec)) return;
    const struct json_node *given = ref.node ? json_get(ref.node, "dimensions") : NULL;
    diag_error(reader->diag,
               given ? json_place(ref.json, given, reader->perm) : place_of(reader, ref),
               "\"%s\" is no shape (such as \"8x8x4\": 1 to %d sides of 1 to 65536)",
               out->dimensions, FABRIC_MAX_DIMENSIONS);
}
