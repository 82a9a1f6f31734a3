#include "calib/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;
static struct sigaction before_int, before_term;

static void note(int number)
{
    came = number;
    /* another one of either kind is not waited for */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

void interrupt_catch(void)
{
    came = 0;
    /* what waits for a device or a socket goes on waiting for it */
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &before_int);
    sigaction(SIGTERM, &action, &before_term);
}

void interrupt_forget(void)
{
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);
}

int interrupt_signal(void)
{
    return came;
}
