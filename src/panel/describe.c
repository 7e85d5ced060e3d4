/* SPDX-License-Identifier: Apache-2.0 */
/* A profile for people. */
#include <stdarg.h>
#include <stdio.h>

#include <tilery/panel.h>

struct line {
    char *text;
    size_t capacity;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void put(struct line *line, const char *format, ...) {
    va_list args;
    int wrote;
    if (line->used >= line->capacity) {
        return;
    }
    va_start(args, format);
    wrote = vsnprintf(line->text + line->used, line->capacity - line->used, format, args);
    va_end(args);
    line->used += wrote > 0 ? (size_t)wrote : 0;
}

const char *tly_panel_describe(const tly_panel_profile *profile, char *out, size_t capacity) {
    struct line line = {out, capacity, 0};
    const tly_dtype_info *info = tly_dtype_find(profile->dtype);
    char mn = profile->role == TLY_PANEL_A ? 'M' : 'N';

    put(&line, "%c %s ", profile->role == TLY_PANEL_A ? 'A' : 'B', info != NULL ? info->name : "?");
    for (uint32_t i = 0; i < profile->num_loops && i < TLY_PANEL_MAX_LOOPS; i++) {
        const tly_panel_loop *loop = &profile->loops[i];
        char axis = loop->axis == TLY_PANEL_K ? 'K' : mn;
        if (loop->rounded == 0) {
            put(&line, "[%c:%u", axis, loop->count);
        } else if (loop->round == 1) {
            put(&line, "[%c", axis);
        } else {
            put(&line, "[%c:up(%c,%u)", axis, axis, loop->round);
        }
        if (loop->rounded != 0 && loop->over != 1) {
            put(&line, "/%u", loop->over);
        }
        if (loop->step != 1) {
            put(&line, " step %u", loop->step);
        }
        put(&line, "]");
    }
    if (profile->rank == 2) {
        put(&line, " from %c x %c", profile->k_axis == 0 ? 'K' : mn,
            profile->k_axis == 0 ? mn : 'K');
    } else {
        put(&line, " from rank %u, K axis %u, %c axis %u", profile->rank, profile->k_axis, mn,
            profile->mn_axis);
    }
    return out;
}
