#include "calib/pool.h"

#include "base/must.h"

#include <pthread.h>
#include <stdbool.h>

struct worker {
    struct pool *pool;
    pthread_t thread;
    int part;
    int64_t n_done; /* posts; written under the lock */
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t posted, done;
    struct worker *workers;
    int n_workers;
    pool_work *work;
    void *closure;
    int64_t n_posted;
    bool closes;
};

/* Posts [from, to) of this worker's part, then the news that they are done. */
static void do_posts(struct worker *worker, int64_t n)
{
    struct pool *pool = worker->pool;
    for (int64_t i = 0; i < n; i++) pool->work(pool->closure, worker->part, pool->n_workers);
    pthread_mutex_lock(&pool->lock);
    worker->n_done += n;
    pthread_cond_signal(&pool->done);
}

static void *serve(void *closure)
{
    struct worker *worker = closure;
    struct pool *pool = worker->pool;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        int64_t n = pool->n_posted - worker->n_done;
        if (n > 0) {
            pthread_mutex_unlock(&pool->lock);
            do_posts(worker, n); /* comes back with the lock */
        } else if (pool->closes) {
            break;
        } else {
            pthread_cond_wait(&pool->posted, &pool->lock);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

struct pool *pool_open(int n_threads, struct arena *perm)
{
    must(n_threads > 0);
    struct pool *pool = arena_new(perm, struct pool, 1);
    pool->workers = arena_new(perm, struct worker, n_threads);
    must(pthread_mutex_init(&pool->lock, NULL) == 0);
    must(pthread_cond_init(&pool->posted, NULL) == 0 && pthread_cond_init(&pool->done, NULL) == 0);
    for (int w = 0; w < n_threads; w++) {
        struct worker *worker = &pool->workers[w];
        *worker = (struct worker){.pool = pool, .part = w};
        if (pthread_create(&worker->thread, NULL, serve, worker) != 0) die("cannot start a thread");
    }
    pool->n_workers = n_threads;
    return pool;
}

void pool_close(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->closes = true;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->lock);
    for (int w = 0; w < pool->n_workers; w++) pthread_join(pool->workers[w].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->posted);
    pthread_mutex_destroy(&pool->lock);
}

void pool_post(struct pool *pool, pool_work *work, void *closure, int n)
{
    pthread_mutex_lock(&pool->lock);
    pool->work = work;
    pool->closure = closure;
    pool->n_posted += n;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->lock);
}

static bool all_done(const struct pool *pool)
{
    int w = 0;
    while (w < pool->n_workers && pool->workers[w].n_done == pool->n_posted) w++;
    return w == pool->n_workers;
}

void pool_wait(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (!all_done(pool)) pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
