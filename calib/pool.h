/* Threads that wait for work. A post is done by every one of them, each its own part; posts are done in
 * order. What a hand-over costs is also what the benchmark "launch" measures on a CPU. */
#ifndef CALIB_POOL_H
#define CALIB_POOL_H

#include "base/arena.h"

struct pool;

/* a part of a job: part in 0 .. n_parts - 1 */
typedef void pool_work(void *closure, int part, int n_parts);

struct pool *pool_open(int n_threads, struct arena *perm);
void pool_close(struct pool *pool);

/* pool_post — n times the same work, after what was posted before with pool_wait between; pool_wait
 * returns when all is done. */
void pool_post(struct pool *pool, pool_work *work, void *closure, int n);
void pool_wait(struct pool *pool);

#endif
