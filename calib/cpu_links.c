#include "calib/cpu.h"

#include "base/must.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void nothing(void *closure, int part, int n_parts)
{
    (void)closure;
    (void)part;
    (void)n_parts;
}

static void prepare_nothing(const struct calib_case *c)
{
    (void)c;
}

/* A hand-over to the threads and the wait for them: what a launch is to a GPU. */
static void run_launch(const struct calib_case *c, int n)
{
    (void)c;
    for (int i = 0; i < n; i++) {
        pool_post(cpu.pool, nothing, NULL, 1);
        pool_wait(cpu.pool);
    }
}

static void run_launch_stream(const struct calib_case *c, int n)
{
    for (int i = 0; i < n; i++) {
        for (int64_t l = 0; l < c->n; l++) pool_post(cpu.pool, nothing, NULL, 1);
        pool_wait(cpu.pool);
    }
}

/* One end of a connection and the thread at the other, which sends back what it gets. */
static struct {
    int here, there;
    size_t size_B;
    pthread_t echo;
} pair;

/* All of a buffer, in as many calls as the system takes; false when the other end has closed. */
static bool send_all(int fd, const char *at, size_t left)
{
    while (left > 0) {
        ssize_t n = send(fd, at, left, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        left -= (size_t)n;
    }
    return true;
}

static bool receive_all(int fd, char *at, size_t left)
{
    while (left > 0) {
        ssize_t n = recv(fd, at, left, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        left -= (size_t)n;
    }
    return true;
}

static void *echo(void *buffer)
{
    while (receive_all(pair.there, buffer, pair.size_B) &&
           send_all(pair.there, buffer, pair.size_B)) {
    }
    return NULL;
}

/* A connection to ourselves over the loopback device; small messages are sent at once. */
static void connect_pair(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pair.here = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listening < 0 || pair.here < 0 ||
        bind(listening, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listening, 1) != 0 ||
        getsockname(listening, (struct sockaddr *)&address, &length) != 0 ||
        connect(pair.here, (struct sockaddr *)&address, sizeof address) != 0) {
        die("cannot connect to the loopback address: %s", strerror(errno));
    }
    pair.there = accept(listening, NULL, NULL);
    if (pair.there < 0) die("cannot accept a connection: %s", strerror(errno));
    close(listening);
    int yes = 1;
    setsockopt(pair.here, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(pair.there, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static void prepare_socket(const struct calib_case *c)
{
    pair.size_B = (size_t)c->size_B;
    int64_t n = (int64_t)(c->size_B / sizeof(float)) + 1;
    cpu.x = cpu_random(n);
    cpu.y = cpu_buffer((double)n * sizeof(float));
    cpu.z = cpu_buffer((double)n * sizeof(float));
    connect_pair();
    if (pthread_create(&pair.echo, NULL, echo, cpu.z) != 0) die("cannot start a thread");
}

static void run_socket(const struct calib_case *c, int n)
{
    (void)c;
    for (int i = 0; i < n; i++) {
        if (!send_all(pair.here, cpu.x, pair.size_B) ||
            !receive_all(pair.here, cpu.y, pair.size_B)) {
            die("the loopback connection broke: %s", strerror(errno));
        }
    }
}

static double check_socket(const struct calib_case *c)
{
    return memcmp(cpu.x, cpu.y, (size_t)c->size_B) == 0 ? 0 : INFINITY;
}

static void release_socket(const struct calib_case *c)
{
    (void)c;
    shutdown(pair.here, SHUT_RDWR);
    pthread_join(pair.echo, NULL);
    close(pair.here);
    close(pair.there);
}

const struct cpu_benchmark cpu_links[] = {
    {"launch", "", true, prepare_nothing, run_launch, NULL, NULL, 1, NULL, NULL},
    {"launch_stream", "", true, prepare_nothing, run_launch_stream, NULL, NULL, 1, NULL, NULL},
    {"socket", "", true, prepare_socket, run_socket, check_socket, release_socket, 0.5, NULL, NULL},
};
const int n_cpu_links = sizeof cpu_links / sizeof cpu_links[0];
