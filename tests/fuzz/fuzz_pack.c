/* SPDX-License-Identifier: Apache-2.0 */
/* Any two nests: either a plan is refused, or what it packs is what running the loops one place
 * after the other gives, whole and unit by unit. */
#include <stdlib.h>
#include <string.h>

#include <tilery/pack.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 1 << 16, MAX_PLACES = 1 << 13 };

typedef struct bytes {
    const uint8_t *at, *end;
} bytes;

static uint8_t take(bytes *in) {
    return in->at < in->end ? *in->at++ : 0;
}

/* Small numbers, and those near the powers of two. */
static uint64_t take_number(bytes *in) {
    uint8_t v = take(in);
    return v < 128 ? v : (UINT64_C(1) << (v & 63)) - (v >> 6 & 1);
}

static void take_nest(bytes *in, tly_nest *nest) {
    nest->num_loops = take(in) % 9;
    for (uint32_t i = 0; i < nest->num_loops; i++) {
        tly_loop *loop = &nest->loops[i];
        uint8_t kind = take(in);
        int64_t stride;
        loop->axis = kind & 3;
        loop->step = take_number(in);
        loop->count = take_number(in);
        stride = (int64_t)take_number(in);
        loop->stride = kind & 4 ? (int64_t)(0 - (uint64_t)stride) : stride;
    }
}

static uint64_t num_places(const tly_nest *nest) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < nest->num_loops; i++) {
        if (__builtin_mul_overflow(n, nest->loops[i].count, &n)) {
            return UINT64_MAX;
        }
    }
    return n;
}

static void place(const tly_nest *dst, const tly_nest *src, uint32_t len, uint32_t depth,
                  uint64_t *index, uint8_t *to, const uint8_t *from) {
    const tly_loop *loop = &dst->loops[depth];
    if (depth == dst->num_loops) {
        int64_t offset;
        if (tly_nest_offset(src, index, &offset) == TLY_OK) {
            memcpy(to, from + offset * (int64_t)len, len);
        } else {
            memset(to, 0, len); /* outside the shape */
        }
        return;
    }
    for (uint64_t i = 0; i < loop->count; i++) {
        index[loop->axis] += i * loop->step;
        place(dst, src, len, depth + 1, index, to + (int64_t)i * loop->stride * (int64_t)len, from);
        index[loop->axis] -= i * loop->step;
    }
}

static void expect(int right) {
    if (!right) {
        abort();
    }
}

static void run(const tly_pack_plan *plan, const tly_nest *dst, const tly_nest *src, uint32_t len) {
    uint64_t index[TLY_NEST_MAX_RANK] = {0}, unit_len = tly_pack_unit_len(plan);
    int64_t low, high, src_low, src_high;
    uint8_t *from, *want, *got;
    size_t from_len, to_len;
    expect(tly_nest_extent(dst, &low, &high) == TLY_OK);
    expect(tly_nest_extent(src, &src_low, &src_high) == TLY_OK);
    if (high - low > MAX_BYTES / len || src_high - src_low > MAX_BYTES / len ||
        num_places(dst) > MAX_PLACES) {
        return;
    }
    from_len = (size_t)(src_high - src_low) * len;
    to_len = (size_t)(high - low) * len;
    expect(tly_pack_dst_len(plan) == to_len);
    from = malloc(from_len + 1);
    want = calloc(1, to_len + 1);
    got = calloc(1, to_len + 1);
    for (size_t i = 0; i < from_len; i++) {
        from[i] = (uint8_t)(i * 167 + (i >> 8) + 1);
    }
    if (num_places(dst) > 0) {
        place(dst, src, len, 0, index, want - low * (int64_t)len, from - src_low * (int64_t)len);
    }
    tly_pack_run(plan, got - low * (int64_t)len, from - src_low * (int64_t)len);
    expect(memcmp(got, want, to_len) == 0);
    memset(got, 0, to_len);
    for (uint64_t u = 0; u < tly_pack_num_units(plan); u++) {
        tly_pack_run_units(plan, u, 1, got + u * unit_len, from - src_low * (int64_t)len);
    }
    expect(memcmp(got, want, to_len) == 0);
    free(from);
    free(want);
    free(got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes in = {data, data + size};
    tly_pack_options options = {sizeof options, 0, 0, 0};
    tly_nest dst, src;
    tly_context *context;
    tly_pack_plan *plan;
    tly_error error;
    uint8_t head = take(&in);
    uint32_t len = 1u << (head & 3);
    memset(&dst, 0, sizeof dst);
    dst.rank = head >> 2 & 3;
    options.streaming = head >> 4 & 3;
    for (uint32_t d = 0; d < dst.rank; d++) {
        dst.shape[d] = take_number(&in);
    }
    src = dst;
    take_nest(&in, &dst);
    take_nest(&in, &src);
    if (tly_context_new(NULL, &context, NULL) != TLY_OK) {
        abort();
    }
    if (tly_pack_plan_new(context, &dst, &src, len * 8, &options, &plan, &error) == TLY_OK) {
        run(plan, &dst, &src, len);
        tly_pack_plan_free(plan);
    } else {
        expect(plan == NULL && error.message[0] != '\0' && error.rule[0] != '\0');
    }
    tly_context_free(context);
    return 0;
}
