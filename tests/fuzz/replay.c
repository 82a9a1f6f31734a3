/* Runs a fuzz target over its saved corpus without libFuzzer, so that gcc's sanitizers see in every
 * `make test` what the fuzzer once found. fuzz_NAME replays tests/fuzz/corpus/NAME, or the files
 * that it is given. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX_B = 1 << 20 };

static uint8_t input[INPUT_MAX_B];

static int replay(const char *file)
{
    FILE *in = fopen(file, "rb");
    if (!in) {
        perror(file);
        return 1;
    }
    size_t size = fread(input, 1, sizeof input, in);
    fclose(in);
    printf("%s\n", file); /* the last one shown is the one that crashed */
    fflush(stdout);
    LLVMFuzzerTestOneInput(input, size);
    return 0;
}

static int replay_corpus(const char *name, int *n_failed)
{
    char dir[256];
    snprintf(dir, sizeof dir, "tests/fuzz/corpus/%s", name);
    struct dirent **entries = NULL;
    int n_entries = scandir(dir, &entries, NULL, alphasort);
    int n = 0;
    for (int i = 0; i < n_entries; i++) {
        char file[1024];
        snprintf(file, sizeof file, "%s/%s", dir, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') {
            *n_failed += replay(file);
            n++;
        }
        free(entries[i]);
    }
    free(entries);
    return n;
}

int main(int argc, char **argv)
{
    int n_failed = 0;
    int n = argc - 1;
    for (int i = 1; i < argc; i++) n_failed += replay(argv[i]);
    if (argc == 1) {
        const char *name = strstr(argv[0], "fuzz_");
        n = name ? replay_corpus(name + strlen("fuzz_"), &n_failed) : 0;
        if (n == 0) n_failed++; /* a corpus that cannot be found proves nothing */
    }
    printf("%d passed, %d failed\n", n > n_failed ? n - n_failed : 0, n_failed);
    return n_failed > 0;
}
