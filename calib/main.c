/* dpsim-calib: measures a machine for dpsim. */
#include "calib/program.h"

#include <signal.h>

static const struct calib_backend *const backends[] = {
#ifdef CALIB_CUDA
    &calib_cuda,
#endif
    &calib_cpu,
    &calib_fake,
    NULL,
};

/* address space, committed when touched */
static const size_t RESERVE_B = (size_t)1 << 30;

int main(int argc, char **argv)
{
    /* a file that grows past its limit is then an error of writing, and its temporary goes */
    signal(SIGXFSZ, SIG_IGN);
    struct arena *perm = arena_open(RESERVE_B);
    int status = calib_program(backends, argc, argv, perm);
    arena_close(perm);
    return status;
}
