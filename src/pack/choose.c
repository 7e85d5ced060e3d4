/* SPDX-License-Identifier: Apache-2.0 */
/* The paths, in the order in which they are tried. The loops come in ascending order of their
 * stride in the destination, so that the first ones are its innermost.
 *
 *   rows       the innermost loop is contiguous on both sides: runs (one run: a copy)
 *   zip        the destination alternates between 2 or 4 rows of the source
 *   transpose  the destination is contiguous along one loop, the source along another
 *   table      a dense tile of the destination with no such regularity: Morton and the like
 *   strided    everything else
 *   bits       elements of fewer than 8 bits that do not come byte by byte (form.c)
 *
 * A run of 2, 4 or 8 bytes at the bottom is one wider element for the paths below it: from N x K,
 * the pairs of a bf16 panel are 32-bit elements being transposed. */
#include "pack/choose.h"

#include <stdlib.h>

#define CHUNK_LEN                                                                                  \
    4096             /* bytes of the destination that are finished before the walk goes elsewhere */
#define ROWS_TILE  8 /* rows of the source that are read side by side */
#define SIDE_LEN   1024 /* bytes of a row of the source that a transposed tile takes */
#define COLUMN_LEN 1024 /* and bytes of a column of the destination */
#define SHORT_TILE 8    /* a table this small is not worth its look-ups */

const char *pack_path_name(pack_path path) {
    static const char *const names[] = {"copy",  "rows",    "zip", "transpose",
                                        "table", "strided", "bits"};
    return names[path];
}

/* The whole widths of a wide loop lie on one side of every border but that of the shape. */
static int can_widen(const pack_form *form, const pack_loop *loop, uint32_t size) {
    uint64_t len = loop->count * size;
    if (loop->irregular || loop->dst_stride != size || loop->src_stride != size ||
        loop->count > 8 || (len != 2 && len != 4 && len != 8)) {
        return 0;
    }
    return loop->axis == PACK_FREE || form->axes[loop->axis].exist == UINT64_MAX ||
           form->axes[loop->axis].exist % (loop->step * loop->count) == 0;
}

static uint32_t find_contiguous_source(const pack_form *form, uint32_t width, uint32_t from) {
    for (uint32_t i = from; i < form->num_loops; i++) {
        if (!form->loops[i].irregular && form->loops[i].src_stride == width) {
            return i;
        }
    }
    return PACK_NONE;
}

/* Turns of a loop that are not padding. */
static uint64_t useful_turns(const pack_form *form, const pack_loop *loop) {
    uint64_t n;
    if (loop->axis == PACK_FREE) {
        return loop->count;
    }
    n = form->axes[loop->axis].valid / loop->step;
    return n < loop->count ? n : loop->count;
}

static void choose_path(const pack_form *form, uint32_t size, pack_choice *out) {
    const pack_loop *loops = form->loops;
    uint32_t single = form->num_loops - 1, first = 0;
    out->wide = PACK_NONE;
    out->width = size;
    out->p = out->q = single;
    out->num_tile = 0;
    out->table_len = 1;
    if (single > 0 && can_widen(form, &loops[0], size)) {
        out->wide = 0;
        out->width = (uint32_t)loops[0].count * size;
        first = 1;
    }
    if (first == single) {
        out->path = PACK_PATH_COPY; /* at most one element or one width */
        return;
    }
    if (!loops[first].irregular && loops[first].dst_stride == out->width) {
        uint32_t p;
        out->q = first;
        if (loops[first].src_stride == out->width) {
            out->p = first + 1 < single && !loops[first + 1].irregular ? first + 1 : single;
            out->path = first + 1 == single ? PACK_PATH_COPY : PACK_PATH_ROWS;
            return;
        }
        p = find_contiguous_source(form, out->width, first + 1);
        if (p < single) {
            uint64_t side = 16 / out->width;
            uint64_t along = loops[first].count;
            out->p = p;
            if ((along == 2 || along == 4) &&
                loops[p].dst_stride == (int64_t)(along * out->width) && loops[p].count >= side) {
                out->path = PACK_PATH_ZIP;
                return;
            }
            uint64_t rows = useful_turns(form, &loops[first]);
            uint64_t columns = useful_turns(form, &loops[p]);
            if ((rows >= side && columns * 2 >= side) ||
                (rows * 2 >= side && columns >= side && side >= 4)) {
                out->path = PACK_PATH_TRANSPOSE;
                return;
            }
        }
    }
    for (uint32_t i = first; i < single && out->num_tile < PACK_MAX_TILE - 1; i++) {
        if (loops[i].irregular || loops[i].count > PACK_MAX_TABLE / out->table_len ||
            loops[i].dst_stride != (int64_t)(out->table_len * out->width)) {
            break;
        }
        out->tile[out->num_tile++] = i;
        out->table_len *= loops[i].count;
    }
    if (out->table_len >= SHORT_TILE) {
        out->path = PACK_PATH_TABLE;
        out->p = out->q = single;
        return;
    }
    out->path = PACK_PATH_STRIDED;
    out->num_tile = 0;
    out->q = out->p = single;
    if (!loops[first].irregular) {
        out->q = first;
        out->p = first + 1 < single && !loops[first + 1].irregular ? first + 1 : single;
    }
}

typedef struct keyed_step {
    uint64_t key;
    pack_step step;
} keyed_step;

static uint64_t magnitude(int64_t value) {
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

/* How far one turn moves on the side where it moves less: near moves belong inside. */
static keyed_step make_step(const pack_loop *loop, uint32_t index, uint64_t block) {
    uint64_t dst = magnitude(loop->dst_stride), src = magnitude(loop->src_stride);
    uint64_t near = loop->irregular || dst < src ? dst : src;
    keyed_step made = {0, {index, 0, block}};
    if (__builtin_mul_overflow(near, block, &made.key)) {
        made.key = UINT64_MAX;
    }
    return made;
}

static int by_key(const void *a, const void *b) {
    uint64_t x = ((const keyed_step *)a)->key, y = ((const keyed_step *)b)->key;
    return (x > y) - (x < y);
}

static uint64_t at_most(uint64_t count, uint64_t limit) {
    return count < limit ? count : limit > 0 ? limit : 1;
}

static void choose_steps(const pack_form *form, pack_choice *out) {
    keyed_step made[PACK_MAX_LOOPS + 2];
    uint8_t used[PACK_MAX_LOOPS + 1] = {0};
    const pack_loop *p = &form->loops[out->p], *q = &form->loops[out->q];
    uint64_t tile_p = p->count, tile_q = q->count, chunk = 0, block = 0;
    uint32_t n = 0, inner = PACK_NONE;
    if (out->wide != PACK_NONE) {
        used[out->wide] = 1;
    }
    used[form->num_loops - 1] = 1;
    used[out->p] = used[out->q] = 1;
    for (uint32_t i = 0; i < out->num_tile; i++) {
        used[out->tile[i]] = 1;
    }
    switch (out->path) {
    case PACK_PATH_ROWS:
    case PACK_PATH_STRIDED:
        tile_p = at_most(p->count, ROWS_TILE);
        break;
    case PACK_PATH_TRANSPOSE:
        tile_p = at_most(p->count, SIDE_LEN / out->width);
        tile_q = at_most(q->count, COLUMN_LEN / out->width);
        break;
    case PACK_PATH_ZIP: /* a few zips that follow each other in the destination */
        chunk = p->count * q->count * out->width;
        block = ROWS_TILE / q->count;
        break;
    default:
        break;
    }
    if (tile_p < p->count) {
        made[n++] = make_step(p, out->p, tile_p);
    }
    if (tile_q < q->count) {
        made[n++] = make_step(q, out->q, tile_q);
    }
    for (uint32_t i = 0; i < form->num_loops; i++) {
        const pack_loop *loop = &form->loops[i];
        if (used[i]) {
            continue;
        }
        if (block >= 4 && loop->dst_stride == (int64_t)chunk && !loop->irregular) {
            inner = i;
            if (block < loop->count) {
                made[n++] = make_step(loop, i, block);
            }
        } else {
            made[n++] = make_step(loop, i, 1);
        }
    }
    qsort(made, n, sizeof *made, by_key);
    out->num_steps = 0;
    while (n-- > 0) {
        out->steps[out->num_steps++] = made[n].step;
    }
    if (inner != PACK_NONE) {
        out->steps[out->num_steps++] = (pack_step){inner, 0, 1};
    }
}

void pack_choose(pack_form *form, pack_choice *out) {
    form->loops[form->num_loops++] = (pack_loop){1, 1, 0, 0, PACK_FREE, 0};
    if (form->in_bits) {
        *out = (pack_choice){.path = PACK_PATH_BITS, .width = 1, .wide = PACK_NONE};
        out->p = out->q = form->num_loops - 1;
        return;
    }
    choose_path(form, form->size, out);
    choose_steps(form, out);
}
