/* In-switch reduction, inside nodes (NVLS) and between them (SHARP). Inside: a switch that sums what the GPUs send, and multiplies what they get.
 * Each member owns a block: it reads the block's sum, and writes the sum back to all at once.
 *
 *   n = 3, block 0, owned by r0     r0 --+                     +--> r0
 *                                   r1 --+-- sum --> r0 --------+--> r1
 *                                   r2 --+      (1 copy)        +--> r2
 *
 * The data moves as in `direct`; what is spared is on the cables, since of a block's n - 1 copies on
 * their way to its owner (or from it) only one crosses the owner's cable, and the owner's own copy
 * crosses its cable too. Of a buffer S each cable carries, in its busier direction,
 *
 *   all_reduce       S + S / n     instead of 2 (n - 1) / n S
 *   reduce_scatter   S             instead of   (n - 1) / n S
 *   all_gather       S             instead of   (n - 1) / n S
 *
 * with n the members of a node.
 *
 * Between nodes switches form a tree that sums on the way up and multiplies on the way down: a node
 * sends each byte of an all-reduce once and gets it once, however many nodes there are. The sends are
 * those of collnet.c, 2 (N - 1) / N S by each node. An all-gather by such switches brings each node its
 * own share back as well, S instead of (N - 1) / N S: runs of 2 and of 32 nodes take the same time.
 * Source: Graham et al., Scalable hierarchical aggregation protocol (SHArP), COMHPC 2016.
 *
 * Source of the former: Klenk et al., An in-network architecture for accelerating shared-memory multiprocessor
 * collectives, ISCA 2020; NVIDIA/nccl, algorithm NVLS. */
#include "collectives/algos.h"
#include "collectives/shape.h"

bool nvls_fits(const struct coll_req *req)
{
    return req->n_ranks == req->ranks_per_node;
}

double nvls_wire_frac(const struct coll_req *req)
{
    double n = req->ranks_per_node;
    return req->kind == COLL_ALLREDUCE ? (n + 1) / (2 * (n - 1)) : n / (n - 1);
}

double collnet_wire_frac(const struct coll_req *req)
{
    double nodes = shape_nodes(req);
    return req->kind == COLL_ALLREDUCE ? nodes / (2 * (nodes - 1)) : nodes / (nodes - 1);
}
