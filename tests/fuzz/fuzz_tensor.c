/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor with its data, as in a stream: whatever the buffers say, checking, looking up, copying
 * into other layouts and dequantizing end with an answer or an error. The first byte chooses a
 * layout; copies hold what the source held. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/quantize.h>
#include <tilery/transcode.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_MEMBERS = 4, MAX_ELEMENTS = 2000, MAX_BYTES = 1 << 20 };

static void stop(const char *problem) {
    fprintf(stderr, "%s\n", problem);
    abort();
}

typedef struct input {
    const uint8_t *at, *end;
} input;

typedef struct loaded {
    tly_tensor tensor;
    tly_descriptor d;
    const void *buffers[TLY_MAX_BUFFERS];
    tly_tensor members[MAX_MEMBERS];
    struct loaded *kept[MAX_MEMBERS];
    void *work;
} loaded;

static void unload(loaded *l) {
    if (l != NULL) {
        for (uint32_t i = 0; i < MAX_MEMBERS; i++) {
            unload(l->kept[i]);
        }
        free(l->work);
        free(l);
    }
}

/* NULL where the bytes are no tensor. Buffers point into them, so that every over-read shows. */
static loaded *load(input *in, uint32_t depth) {
    loaded *l = calloc(1, sizeof *l);
    uint32_t len = 0;
    tly_error error;
    l->work = malloc(TLY_DESCRIPTOR_WORK_LEN);
    if (depth > 3 ||
        tly_descriptor_decode(in->at, (size_t)(in->end - in->at), l->work, TLY_DESCRIPTOR_WORK_LEN,
                              &l->d, &len, &error) != TLY_OK) {
        unload(l);
        return NULL;
    }
    in->at += len;
    l->tensor = (tly_tensor){.descriptor = &l->d, .buffers = l->buffers};
    for (uint32_t i = 0; i < l->d.num_buffers; i++) {
        if (l->d.buffers[i].byte_size > (uint64_t)(in->end - in->at)) {
            unload(l);
            return NULL;
        }
        l->buffers[i] = in->at;
        in->at += l->d.buffers[i].byte_size;
    }
    if (l->d.layout == TLY_LAYOUT_COMPOSITE) {
        if (l->d.composite.member_count > MAX_MEMBERS) {
            unload(l);
            return NULL;
        }
        l->tensor.members = l->members;
        l->tensor.num_members = l->d.composite.member_count;
        for (uint32_t i = 0; i < l->tensor.num_members; i++) {
            l->kept[i] = load(in, depth + 1);
            if (l->kept[i] == NULL) {
                unload(l);
                return NULL;
            }
            l->members[i] = l->kept[i]->tensor;
        }
    }
    return l;
}

static int next_index(const tly_descriptor *d, uint64_t *index) {
    uint32_t k = d->rank;
    while (k > 0 && ++index[k - 1] == d->shape[k - 1]) {
        index[--k] = 0;
    }
    return k != 0;
}

static void compare(const tly_context *context, const tly_tensor *a, const tly_tensor *b,
                    uint64_t count) {
    uint64_t index[TLY_MAX_RANK] = {0};
    tly_view *x, *y;
    tly_error error;
    if (tly_view_new(context, a, NULL, &x, &error) != TLY_OK) {
        stop("a source that was copied cannot be read");
    }
    if (tly_view_new(context, b, NULL, &y, &error) != TLY_OK) {
        stop(error.message);
    }
    for (uint64_t i = 0; i < count; i++) {
        tly_code p, q;
        if (tly_view_get(x, index, &p) != TLY_OK || tly_view_get(y, index, &q) != TLY_OK ||
            p.low != q.low || p.high != q.high) {
            stop("the copy differs");
        }
        next_index(a->descriptor, index);
    }
    tly_view_free(x);
    tly_view_free(y);
}

static void copy(const tly_context *context, const tly_tensor *t, uint8_t choice, uint64_t count) {
    uint64_t tile[TLY_MAX_RANK], last = 0;
    uint32_t order[TLY_MAX_RANK], bits[TLY_MAX_RANK];
    int64_t strides[TLY_MAX_RANK], stride = 1;
    tly_block_paged paged = {.page_size = 2, .num_seqs = 1};
    tly_descriptor layout = {.layout = (uint8_t)(1 + choice % 10),
                             .strides = strides,
                             .morton_bits = bits,
                             .mode_order = order,
                             .paged = &paged,
                             .hilbert_order = 1,
                             .num_levels = 1};
    tly_transcode_options options = {.size = sizeof options, .memory_limit = MAX_BYTES};
    tly_transcode *plan;
    tly_error error;
    layout.layout = choice % 11 == 10 ? TLY_LAYOUT_HILBERT : layout.layout;
    layout.levels[0] = (tly_tile_level){tile, NULL, NULL, 1, 2};
    for (uint32_t k = 0; k < t->descriptor->rank; k++) {
        tile[k] = 1 + (choice >> 4) % 3;
        order[k] = (k + 1) % t->descriptor->rank;
        bits[k] = 4;
        strides[k] = k % 2 ? -stride : stride;
        last = t->descriptor->shape[k] < 64 ? t->descriptor->shape[k] : 1;
        stride *= (int64_t)last + 1;
        stride = stride < 1 << 20 ? stride : 1;
    }
    if (tly_transcode_new(context, t, &layout, &options, &plan, &error) == TLY_OK) {
        const tly_descriptor *d = tly_transcode_descriptor(plan);
        uint64_t len = 0;
        if (tly_descriptor_data_len(d, &len) == TLY_OK && len < MAX_BYTES) {
            void *buffers[TLY_MAX_BUFFERS];
            tly_tensor made = {.descriptor = d, .buffers = (const void *const *)buffers};
            tly_status status;
            for (uint32_t i = 0; i < d->num_buffers; i++) {
                buffers[i] = malloc(d->buffers[i].byte_size + 1);
            }
            status = tly_transcode_run(plan, buffers, &error);
            if (status == TLY_OK && count > 0 && count <= MAX_ELEMENTS) {
                compare(context, t, &made, count);
            } else if (status != TLY_OK && status != TLY_LIMIT) {
                stop(error.message);
            }
            for (uint32_t i = 0; i < d->num_buffers; i++) {
                free(buffers[i]);
            }
        }
        tly_transcode_free(plan);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data + 1, data + size};
    tly_context *context;
    tly_error error;
    uint64_t count = 0;
    loaded *l;
    if (size < 1 || tly_context_new(NULL, &context, &error) != TLY_OK) {
        return 0;
    }
    l = load(&in, 0);
    if (l != NULL) {
        uint64_t number = UINT64_MAX;
        if (tly_descriptor_num_elements(&l->d, &count) == TLY_OK) {
            number = count;
        }
        (void)tly_tensor_check_data(context, &l->tensor, &error);
        if (number <= MAX_BYTES) { /* the others would only take long */
            copy(context, &l->tensor, data[0], number);
            if (number <= MAX_ELEMENTS) {
                uint8_t *out = malloc(number * 4 + 1);
                (void)tly_dequantize(context, &l->tensor, TLY_F32, out, NULL, &error);
                free(out);
            }
        }
        unload(l);
    }
    tly_context_free(context);
    return 0;
}
