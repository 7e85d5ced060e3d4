/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target as a test: every file of its corpus, every truncation of the smaller ones, and
 * a fixed number of mutations from a fixed seed. The target is right when it returns; its own
 * checks abort. Each input lies at the end of a page that is followed by one which may not be
 * touched. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_FILES = 4096, MAX_LEN = 1 << 20, TRUNCATE_UP_TO = 1024, NUM_MUTATIONS = 3000 };

typedef struct input {
    uint8_t *data;
    size_t len;
    char name[256];
} input;

typedef struct arena {
    uint8_t *end; /* first byte that may not be touched */
} arena;

static void fail(const char *what, const char *name) {
    printf("Bail out! %s: %s\n", what, name);
    exit(1);
}

static arena arena_new(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *base =
        mmap(NULL, MAX_LEN + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(base + MAX_LEN, page, PROT_NONE) != 0) {
        fail("no memory for inputs", "mmap");
    }
    return (arena){base + MAX_LEN};
}

static void run(const arena *a, const uint8_t *data, size_t len) {
    uint8_t *place = a->end - len;
    if (len != 0) {
        memcpy(place, data, len);
    }
    (void)LLVMFuzzerTestOneInput(place, len);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const input *)a)->name, ((const input *)b)->name);
}

static size_t load(const char *folder, input *inputs) {
    size_t count = 0;
    DIR *dir = opendir(folder);
    struct dirent *entry;
    if (dir == NULL) {
        fail("cannot open the corpus", folder);
    }
    while ((entry = readdir(dir)) != NULL && count < MAX_FILES) {
        char path[4096];
        FILE *file;
        input *in = &inputs[count];
        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(in->name, sizeof in->name, "%s", entry->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        file = fopen(path, "rb");
        in->data = malloc(MAX_LEN);
        if (file == NULL || in->data == NULL) {
            fail("cannot read", path);
        }
        in->len = fread(in->data, 1, MAX_LEN, file);
        in->data = realloc(in->data, in->len != 0 ? in->len : 1);
        fclose(file);
        count++;
    }
    closedir(dir);
    qsort(inputs, count, sizeof *inputs, by_name);
    return count;
}

static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Changes 1 to 8 places: a bit, a byte, an interesting byte, a cut or a doubled stretch. */
static size_t mutate(uint8_t *data, size_t len, uint64_t *state) {
    static const uint8_t interesting[] = {0x00, 0x01, 0x7F, 0x80, 0xFF, 0xFE, 0x40, 0xF0};
    size_t times = 1 + next_random(state) % 8;
    while (times-- != 0 && len != 0) {
        size_t at = next_random(state) % len;
        switch (next_random(state) % 6) {
        case 0:
            data[at] ^= (uint8_t)(1u << (next_random(state) % 8));
            break;
        case 1:
            data[at] = (uint8_t)next_random(state);
            break;
        case 2:
        case 3:
            data[at] = interesting[next_random(state) % sizeof interesting];
            break;
        case 4:
            memmove(data + at, data + at + 1, len - at - 1);
            len--;
            break;
        default: {
            size_t stretch = 1 + next_random(state) % (len - at < 16 ? len - at : 16);
            if (len + stretch <= MAX_LEN) {
                memmove(data + at + stretch, data + at, len - at);
                len += stretch;
            }
        }
        }
    }
    return len;
}

int main(int argc, char **argv) {
    input *inputs = calloc(MAX_FILES, sizeof *inputs);
    uint8_t *work = malloc(MAX_LEN);
    uint64_t state = 2026;
    size_t count, cut = 0;
    arena a = arena_new();
    if (argc != 2 || inputs == NULL || work == NULL) {
        fail("usage", "replay_NAME CORPUS_FOLDER");
    }
    count = load(argv[1], inputs);
    if (count == 0) {
        fail("the corpus is empty", argv[1]);
    }
    printf("1..3\n");
    fflush(stdout);
    for (size_t i = 0; i < count; i++) {
        run(&a, inputs[i].data, inputs[i].len);
    }
    printf("ok 1 - %zu files of the corpus\n", count);
    fflush(stdout);
    for (size_t i = 0; i < count; i++) {
        for (size_t len = 0; len < inputs[i].len && len < TRUNCATE_UP_TO; len++, cut++) {
            run(&a, inputs[i].data, len);
        }
    }
    printf("ok 2 - %zu truncations\n", cut);
    fflush(stdout);
    for (size_t i = 0; i < NUM_MUTATIONS; i++) {
        const input *in = &inputs[next_random(&state) % count];
        memcpy(work, in->data, in->len);
        run(&a, work, mutate(work, in->len, &state));
    }
    printf("ok 3 - %d mutations, seed 2026\n", NUM_MUTATIONS);
    for (size_t i = 0; i < count; i++) {
        free(inputs[i].data);
    }
    free(inputs);
    free(work);
    return 0;
}
