#include "out/progress.h"

#include <stdio.h>
#include <unistd.h>

void progress_show(const char *thing, int done, int n)
{
    if (n < 2 || !isatty(STDERR_FILENO)) return;
    if (done < n)
        fprintf(stderr, "\rdpsim: %s %d of %d", thing, done + 1, n);
    else
        fprintf(stderr, "\r%40s\r", "");
    fflush(stderr);
}
