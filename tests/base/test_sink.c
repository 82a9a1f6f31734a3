#include "base/sink.h"

#include "test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/dpsim-sink-XXXXXX";

static int make_dir(void **state)
{
    open_arena(state);
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    close_arena(state);
    return rmdir(dir);
}

static int n_files(void)
{
    int n = 0;
    DIR *stream = opendir(dir);
    for (const struct dirent *entry = readdir(stream); entry; entry = readdir(stream))
        n += entry->d_name[0] != '.';
    closedir(stream);
    return n;
}

static void put(const char *path, const char *text, struct arena *perm)
{
    struct sink sink = sink_open(path, perm);
    fputs(text, sink.out);
    sink_close(&sink);
}

/* the exit status of a child that does it, its words thrown away */
static int status_of_putting(const char *path, struct arena *perm)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(99);
        put(path, "text", perm);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool holds(const char *path, const char *text)
{
    char read[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(read, 1, sizeof read - 1, file);
    fclose(file);
    return n == strlen(text) && strcmp(read, text) == 0;
}

static void a_file_appears_whole_under_its_name_alone(void **state)
{
    const char *path = arena_text(*state, "%s/a", dir);
    struct sink sink = sink_open(path, *state);
    fputs("half", sink.out);
    fflush(sink.out);
    assert_int_equal(access(path, F_OK), -1);
    fputs(" and half", sink.out);
    sink_close(&sink);
    assert_true(holds(path, "half and half"));
    assert_int_equal(n_files(), 1);
    unlink(path);
}

static void an_old_file_is_replaced_and_a_link_to_it_kept(void **state)
{
    const char *path = arena_text(*state, "%s/a", dir);
    const char *link_path = arena_text(*state, "%s/link", dir);
    put(path, "old", *state);
    assert_int_equal(symlink(path, link_path), 0);
    put(link_path, "new", *state);
    assert_true(holds(path, "new"));
    struct stat status;
    assert_int_equal(lstat(link_path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    unlink(path);
    unlink(link_path);
}

static void a_full_disk_ends_with_status_2(void **state)
{
    assert_int_equal(status_of_putting("/dev/full", *state), 2);
}

static void a_missing_folder_ends_with_status_2_and_leaves_nothing(void **state)
{
    assert_int_equal(status_of_putting(arena_text(*state, "%s/no/a", dir), *state), 2);
    assert_int_equal(n_files(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_appears_whole_under_its_name_alone),
        cmocka_unit_test(an_old_file_is_replaced_and_a_link_to_it_kept),
        cmocka_unit_test(a_full_disk_ends_with_status_2),
        cmocka_unit_test(a_missing_folder_ends_with_status_2_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
