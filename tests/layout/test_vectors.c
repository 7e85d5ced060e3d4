/* SPDX-License-Identifier: Apache-2.0 */
/* Element offsets of the public vectors: tests/vectors/layout_addresses.tsv, one layout a line. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/nest.h>

/* Reads "1,2,3" or "-" (none) into `out`; returns how many. */
static uint32_t read_list(const char *text, int64_t *out) {
    uint32_t n = 0;
    while (*text != '\0' && *text != '-') {
        char *end;
        out[n++] = strtoll(text, &end, 10);
        assert_ptr_not_equal(end, text);
        text = *end == ',' ? end + 1 : end;
    }
    return n;
}

/* A list of strides may begin with a minus sign; only "-" alone means that there are none. */
static uint32_t read_strides(char *text, int64_t *out) {
    uint32_t n = 0;
    if (strcmp(text, "-") == 0) {
        return 0;
    }
    for (char *save, *item = strtok_r(text, ",", &save); item != NULL;
         item = strtok_r(NULL, ",", &save)) {
        out[n++] = strtoll(item, NULL, 10);
    }
    return n;
}

typedef struct level_store {
    int64_t tile[64], outer[64], inner[64];
} level_store;

static void build(tly_nest *nest, char **field, uint32_t num_fields, const char *id) {
    static level_store store[TLY_TILE_MAX_LEVELS];
    tly_tile_level levels[TLY_TILE_MAX_LEVELS];
    int64_t shape[64], list[64];
    uint32_t bits[64];
    uint32_t rank = read_list(field[2], shape);
    const uint64_t *dims = (const uint64_t *)shape;
    tly_status status = TLY_INTERNAL;
    if (strcmp(field[1], "row_major") == 0) {
        status = tly_nest_row_major(nest, rank, dims);
    } else if (strcmp(field[1], "col_major") == 0) {
        status = tly_nest_col_major(nest, rank, dims);
    } else if (strcmp(field[1], "strided") == 0) {
        assert_int_equal(read_strides(field[3], list), rank);
        status = tly_nest_strided(nest, rank, dims, list);
    } else if (strcmp(field[1], "morton") == 0) {
        assert_int_equal(read_list(field[3], list), rank);
        for (uint32_t d = 0; d < rank; d++) {
            bits[d] = (uint32_t)list[d];
        }
        status = tly_nest_morton(nest, rank, dims, bits);
    } else if (strcmp(field[1], "tiled") == 0) {
        uint32_t n = 0;
        for (uint32_t f = 3; f + 4 < num_fields; f += 5, n++) {
            assert_true(n < TLY_TILE_MAX_LEVELS);
            read_list(field[f], store[n].tile);
            levels[n] = (tly_tile_level){
                (const uint64_t *)store[n].tile,
                read_strides(field[f + 3], store[n].outer) == rank ? store[n].outer : NULL,
                read_strides(field[f + 4], store[n].inner) == rank ? store[n].inner : NULL,
                (uint8_t)atoi(field[f + 1]), (uint8_t)atoi(field[f + 2])};
        }
        status = tly_nest_tiled(nest, rank, dims, levels, n);
    }
    if (status != TLY_OK) {
        fail_msg("%s (%s): %s", id, field[1], tly_status_name(status));
    }
}

static void addresses(void **state) {
    char path[4096];
    const char *root = getenv("TILERY_ROOT");
    char *line = NULL;
    size_t capacity = 0, num_layouts = 0, num_addresses = 0;
    FILE *file;
    snprintf(path, sizeof path, "%s/tests/vectors/layout_addresses.tsv", root ? root : ".");
    file = fopen(path, "r");
    if (file == NULL) {
        fail_msg("%s: %s", path, strerror(errno));
    }
    while (getline(&line, &capacity, file) > 0) {
        char *field[64], *save, *mark = strstr(line, "\t=\t");
        uint32_t n = 0;
        tly_nest nest;
        tly_error err;
        if (line[0] == '#') {
            continue;
        }
        assert_non_null(mark);
        *mark = '\0';
        for (char *item = strtok_r(line, "\t", &save); item != NULL && n < 64;
             item = strtok_r(NULL, "\t", &save)) {
            field[n++] = item;
        }
        build(&nest, field, n, field[0]);
        CHECK_OK(tly_nest_check(&nest, 1, &err), &err);
        for (char *item = strtok_r(mark + 3, " \n", &save); item != NULL;
             item = strtok_r(NULL, " \n", &save)) {
            int64_t index[64], offset, low, high, want;
            char *colon = strchr(item, ':');
            want = strtoll(colon + 1, NULL, 10);
            *colon = '\0';
            assert_int_equal(read_list(item, index), nest.rank);
            assert_int_equal(tly_nest_offset(&nest, (const uint64_t *)index, &offset), TLY_OK);
            if (offset != want) {
                fail_msg("%s: index %s: offset %lld, wanted %lld", field[0], item,
                         (long long)offset, (long long)want);
            }
            assert_int_equal(tly_nest_extent(&nest, &low, &high), TLY_OK);
            assert_true(low <= offset && offset < high);
            num_addresses++;
        }
        num_layouts++;
    }
    free(line);
    fclose(file);
    assert_true(num_layouts > 500);
    assert_true(num_addresses > 10000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(addresses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
