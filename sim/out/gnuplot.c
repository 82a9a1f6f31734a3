#include "out/gnuplot.h"

#include "base/must.h"
#include "base/sink.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct gnuplot gnuplot_open(int width, int height)
{
    FILE *script = tmpfile();
    if (script) {
        fprintf(script,
                "set terminal pngcairo size %d, %d font \"DejaVu Sans,10\" background \"white\"\n",
                width, height);
        return (struct gnuplot){script};
    }
    die("cannot make a temporary file: %s", strerror(errno));
}

void gnuplot_text(FILE *script, const char *text)
{
    fputc('\'', script);
    for (; *text; text++) {
        if (*text == '\'') fputc('\'', script);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, script);
    }
    fputc('\'', script);
}

/* run — gnuplot from one file to another; its exit status, or -1 when it could not be started. */
static int run(int script, int picture)
{
    char name[] = "gnuplot";
    char *const arguments[] = {name, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int status = 0;
    must(posix_spawn_file_actions_init(&actions) == 0);
    must(posix_spawn_file_actions_adddup2(&actions, script, STDIN_FILENO) == 0);
    must(posix_spawn_file_actions_adddup2(&actions, picture, STDOUT_FILENO) == 0);
    int failed = posix_spawnp(&child, name, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return -1;
    while (waitpid(child, &status, 0) < 0) must(errno == EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* is_whole — the file ends as every PNG does, with the chunk IEND. On a full disk gnuplot stops writing and
 * says nothing. Source: Portable Network Graphics, ISO/IEC 15948, 11.2.5 and annex D. */
static bool is_whole(const char *path)
{
    static const unsigned char IEND[] = {'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82};
    unsigned char last[sizeof IEND];
    FILE *in = fopen(path, "rb");
    if (!in) return false;
    bool whole = fseek(in, -(long)sizeof IEND, SEEK_END) == 0 &&
                 fread(last, 1, sizeof last, in) == sizeof last &&
                 memcmp(last, IEND, sizeof last) == 0;
    fclose(in);
    return whole;
}

void gnuplot_draw(struct gnuplot *plot, const char *path, struct arena *perm)
{
    bool whole = fflush(plot->script) == 0 && fseek(plot->script, 0, SEEK_SET) == 0;
    if (!whole) die("cannot write to a temporary file: %s", strerror(errno));
    struct sink sink = sink_open(path, perm);
    int status = run(fileno(plot->script), fileno(sink.out));
    fclose(plot->script);
    bool cut = status == 0 && sink.temp && !is_whole(sink.temp);
    if (status == 0 && !cut) {
        sink_close(&sink);
        return;
    }
    if (sink.temp) unlink(sink.temp);
    if (cut) die("cannot write %s: gnuplot wrote no whole picture (is the disk full?)", path);
    if (status < 0) die("cannot run gnuplot: is it installed (package gnuplot-nox)?");
    die("gnuplot failed with status %d", status);
}
