#include "base/sink.h"

#include "base/must.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A link is followed, so that renaming replaces what it points to and not the link. */
static const char *resolve(const char *path, struct arena *perm)
{
    char resolved[PATH_MAX];
    return realpath(path, resolved) ? arena_text(perm, "%s", resolved) : path;
}

struct sink sink_open(const char *path, struct arena *perm)
{
    if (!path || strcmp(path, "-") == 0) return (struct sink){.out = stdout, .path = "-"};
    struct sink sink = {.path = resolve(path, perm)};
    struct stat status;
    bool in_place = stat(sink.path, &status) == 0 && !S_ISREG(status.st_mode);
    if (!in_place) sink.temp = arena_text(perm, "%s.%ld.tmp", sink.path, (long)getpid());
    const char *name = in_place ? sink.path : sink.temp;
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (in_place ? 0 : O_EXCL);
    int fd = open(name, flags, 0666);
    if (fd < 0) die("cannot write %s: %s", path, strerror(errno));
    sink.out = fdopen(fd, "w");
    if (!sink.out) die("cannot write %s: %s", path, strerror(errno));
    return sink;
}

void sink_try(const char *path, struct arena scratch)
{
    struct stat status;
    if (!path || strcmp(path, "-") == 0) return;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return;
    struct sink sink = sink_open(path, &scratch);
    fclose(sink.out);
    if (sink.temp) unlink(sink.temp);
}

bool sink_would_replace(const char *path, const char *file)
{
    struct stat a;
    struct stat b;
    return stat(path, &a) == 0 && stat(file, &b) == 0 && S_ISREG(a.st_mode) &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

void sink_close(struct sink *sink)
{
    bool whole = fflush(sink->out) == 0 && !ferror(sink->out);
    int reason = errno;
    if (sink->out == stdout) {
        if (!whole) die("cannot write to standard output: %s", strerror(reason));
        return;
    }
    if (fclose(sink->out) != 0 && whole) {
        whole = false;
        reason = errno;
    }
    if (whole && sink->temp && rename(sink->temp, sink->path) != 0) {
        whole = false;
        reason = errno;
    }
    if (whole) return;
    if (sink->temp) unlink(sink->temp);
    die("cannot write %s: %s", sink->path, strerror(reason));
}
