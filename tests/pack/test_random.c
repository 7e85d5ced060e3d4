/* SPDX-License-Identifier: Apache-2.0 */
/* Random pairs of nests against the model: random mixed-radix chains, shapes with tails, strides of
 * any sign, all widths from one bit to 16 bytes, unaligned buffers, streaming, units; on every
 * vector level of this machine.
 */
#include "pack_levels.h"

#include <math.h>

#define MAX_PLACES 6000

/* Digits of one axis: place values whose product covers the extent, sometimes far too much. */
static void add_axis(check_rng *rng, tly_nest *nest, uint32_t axis, int exact) {
    uint64_t extent = nest->shape[axis], step = 1;
    static const uint64_t sizes[] = {1, 2, 2, 3, 4, 4, 6, 8, 8, 16, 32};
    while (step < extent || check_below(rng, 6) == 0) {
        uint64_t count = sizes[check_below(rng, sizeof sizes / sizeof *sizes)];
        if (check_below(rng, 4) == 0 || (exact && step * count > extent)) {
            count = (extent + step - 1) / step;
        }
        if (exact && step >= extent && count > 1) {
            break;
        }
        if (count == 0) {
            count = 1;
        }
        nest->loops[nest->num_loops++] = (tly_loop){axis, 0, step, count, 0};
        step *= count;
    }
    if (extent == 0 && check_below(rng, 2) == 0) {
        nest->loops[nest->num_loops++] = (tly_loop){axis, 0, step, 0, 0};
    }
}

static uint64_t num_places(const tly_nest *nest) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < nest->num_loops; i++) {
        n *= nest->loops[i].count;
    }
    return n;
}

/* Strides from a random order of the loops; kind 0 dense, 1 with holes, 2 also backwards; a source
 * may also repeat elements. */
static void add_strides(check_rng *rng, tly_nest *nest, int kind, int alias) {
    int64_t stride = 1;
    for (uint32_t i = nest->num_loops; i > 1; i--) {
        uint32_t j = (uint32_t)check_below(rng, i);
        tly_loop swap = nest->loops[i - 1];
        nest->loops[i - 1] = nest->loops[j];
        nest->loops[j] = swap;
    }
    if (check_below(rng, 2) == 0 && nest->num_loops > 1) { /* often the usual order of steps */
        for (uint32_t i = 0; i + 1 < nest->num_loops; i++) {
            for (uint32_t j = 0; j + 1 < nest->num_loops - i; j++) {
                if (nest->loops[j].step < nest->loops[j + 1].step) {
                    tly_loop swap = nest->loops[j];
                    nest->loops[j] = nest->loops[j + 1];
                    nest->loops[j + 1] = swap;
                }
            }
        }
    }
    for (uint32_t i = nest->num_loops; i-- > 0;) {
        tly_loop *loop = &nest->loops[i];
        if (kind > 0 && check_below(rng, 4) == 0) {
            stride += (int64_t)check_below(rng, 4);
        }
        loop->stride = stride;
        stride *= loop->count > 0 ? (int64_t)loop->count : 1;
        if (kind > 1 && check_below(rng, 3) == 0) {
            loop->stride = -loop->stride;
        }
        if (alias && check_below(rng, 12) == 0) {
            loop->stride = 0;
        }
    }
}

typedef struct buffers {
    uint8_t *memory, *bytes; /* bytes: of offset 0 */
    size_t len;
} buffers;

/* Bytes from the one with the lowest bit to behind the one with the highest. */
static void byte_range(const tly_nest *nest, uint32_t bits, int64_t *out_low, int64_t *out_len) {
    int64_t low, high, unit = bits == 6 ? 24 : 8;
    assert_int_equal(tly_nest_extent(nest, &low, &high), TLY_OK);
    *out_low = (int64_t)floor((double)(low * (int64_t)bits) / (double)unit) * unit / 8;
    *out_len = (int64_t)ceil((double)(high * (int64_t)bits) / (double)unit) * unit / 8 - *out_low;
}

static buffers make_buffer(check_rng *rng, const tly_nest *nest, uint32_t bits, size_t skew) {
    int64_t low, len;
    buffers b;
    byte_range(nest, bits, &low, &len);
    b.len = (size_t)len + skew + 64;
    b.memory = malloc(b.len);
    fill_random(rng, b.memory, b.len);
    b.bytes = b.memory + skew - low;
    return b;
}

static void one_case(check_rng *rng, const level *levels, uint32_t num_levels, uint64_t *paths) {
    tly_nest dst = {0}, src = {0};
    static const uint32_t widths[] = {8, 16, 32, 64, 8, 16, 32, 64, 1, 2, 4, 6, 4, 128};
    uint32_t bits = widths[check_below(rng, sizeof widths / sizeof *widths)],
             rank = (uint32_t)check_below(rng, 4);
    uint64_t padding = check_below(rng, 2) || bits == 6 || bits == 128 ? 0 : check_random(rng);
    int kind = (int)check_below(rng, 6), src_kind = (int)check_below(rng, 3);
    buffers from, want, got;
    int64_t low, dst_len;
    tly_error err;
    dst.rank = src.rank = rank;
    do {
        for (uint32_t d = 0; d < rank; d++) {
            dst.shape[d] = check_below(rng, 30) == 0 ? 0 : check_below(rng, rank < 3 ? 70 : 20) + 1;
            src.shape[d] = dst.shape[d];
        }
        dst.num_loops = src.num_loops = 0;
        for (uint32_t d = 0; d < rank; d++) {
            add_axis(rng, &dst, d, check_below(rng, 2) == 0);
            add_axis(rng, &src, d, check_below(rng, 2) == 0);
        }
    } while (num_places(&dst) > MAX_PLACES || num_places(&src) > MAX_PLACES || dst.num_loops > 40 ||
             src.num_loops > 40);
    add_strides(rng, &dst, kind > 2 ? 0 : kind, 0);
    add_strides(rng, &src, src_kind, 1);
    if (check_below(rng, 2) == 0) { /* the common sources */
        assert_int_equal(check_below(rng, 2) ? tly_nest_row_major(&src, rank, dst.shape)
                                             : tly_nest_col_major(&src, rank, dst.shape),
                         TLY_OK);
    }
    CHECK_OK(tly_nest_check(&dst, 0, &err), &err);
    CHECK_OK(tly_nest_check(&src, 1, &err), &err);
    from = make_buffer(rng, &src, bits, check_below(rng, 65));
    want = make_buffer(rng, &dst, bits, check_below(rng, 2) ? 64 : check_below(rng, 65));
    got = want;
    got.memory = malloc(got.len);
    memcpy(got.memory, want.memory, got.len);
    got.bytes = got.memory + (want.bytes - want.memory);
    model_pack(&dst, &src, bits, padding, want.bytes, from.bytes);
    byte_range(&dst, bits, &low, &dst_len);
    for (uint32_t c = 0; c < num_levels; c++) {
        for (uint32_t streaming = 1; streaming <= 2; streaming++) {
            uint8_t *fresh = malloc(got.len);
            uint64_t units, step, len;
            tly_pack_plan *plan = level_plan(&levels[c], &dst, &src, bits, padding, streaming);
            paths[(unsigned char)tly_pack_path(plan)[0]]++;
            memcpy(fresh, got.memory, got.len);
            tly_pack_run(plan, fresh + (got.bytes - got.memory), from.bytes);
            assert_memory_equal(fresh, want.memory, got.len);
            memcpy(fresh, got.memory, got.len);
            units = tly_pack_num_units(plan);
            len = (uint64_t)dst_len;
            assert_int_equal(tly_pack_dst_len(plan), len);
            assert_int_equal(units, len == 0 ? 0 : (len - 1) / tly_pack_unit_len(plan) + 1);
            step = 1 + check_below(rng, 3);
            for (uint64_t u = 0; u < units; u += step) {
                tly_pack_run_units(plan, u, step < units - u ? step : units - u,
                                   fresh + (got.bytes - got.memory) + low +
                                       u * tly_pack_unit_len(plan),
                                   from.bytes);
            }
            assert_memory_equal(fresh, want.memory, got.len);
            free(fresh);
            tly_pack_plan_free(plan);
        }
    }
    free(from.memory);
    free(want.memory);
    free(got.memory);
}

static void random_nests(void **state) {
    static const char letters[] = "crztsb"; /* first letters of the paths */
    level levels[MAX_LEVELS];
    uint32_t num_levels = levels_new(levels);
    uint64_t paths[256] = {0};
    const uint64_t seed = check_seed(20240607), num_cases = check_rounds(3000);
    check_rng rng = {seed};
    print_message("# %llu cases, seed %llu\n", (unsigned long long)num_cases,
                  (unsigned long long)seed);
    for (uint64_t i = 0; i < num_cases; i++) {
        one_case(&rng, levels, num_levels, paths);
    }
    for (size_t i = 0; letters[i] != '\0'; i++) {
        assert_true(paths[(unsigned char)letters[i]] > 0);
    }
    levels_free(levels, num_levels);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_nests)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
