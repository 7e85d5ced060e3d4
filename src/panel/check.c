/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that a profile must keep, all in one place: the decoder fills a profile and asks here.
 * See docs/spec/panel-profile.md, "Which templates are exact". */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "panel/template.h"
#include "panel/wire.h"

uint32_t tly_panel_element_len(tly_dtype dtype) {
    uint32_t bits = tly_dtype_bits(dtype);
    return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? bits / 8 : 0;
}

static uint64_t loop_at(uint32_t loop, uint32_t field) {
    return TLY_PANEL_AT_LOOPS + (uint64_t)loop * TLY_PANEL_LOOP_LEN + field;
}

static const char *axis_name(const tly_panel_profile *profile, uint32_t axis) {
    if (axis == TLY_PANEL_K) {
        return "K";
    }
    return profile->role == TLY_PANEL_A ? "M" : "N";
}

static tly_status check_head(const tly_panel_profile *p, tly_error *error) {
    size_t name_len;

    if (p->role != TLY_PANEL_A && p->role != TLY_PANEL_B) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_PANEL_AT_ROLE, "panel-role",
                             "operand role is %u; it is 1 (A) or 2 (B)", p->role);
    }
    if (tly_panel_element_len(p->dtype) == 0) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_PANEL_AT_DTYPE, "panel-dtype",
                             "element type 0x%02X is not one of 8, 16, 32 or 64 bits that this "
                             "build knows",
                             p->dtype);
    }
    if (p->rank < TLY_PANEL_MIN_RANK || p->rank > TLY_PANEL_MAX_RANK) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_PANEL_AT_RANK, "panel-rank",
                             "the stored tensor's rank is %u; it is %d to %d", p->rank,
                             TLY_PANEL_MIN_RANK, TLY_PANEL_MAX_RANK);
    }
    if (p->k_axis >= p->rank) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_PANEL_AT_K_AXIS, "panel-axes",
                             "K is axis %u of a tensor of rank %u", p->k_axis, p->rank);
    }
    if (p->mn_axis >= p->rank || p->mn_axis == p->k_axis) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_PANEL_AT_MN_AXIS, "panel-axes",
                             "%s is axis %u of a tensor of rank %u whose K is axis %u",
                             axis_name(p, TLY_PANEL_MN), p->mn_axis, p->rank, p->k_axis);
    }
    if (p->reserved != 0) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_PANEL_AT_RESERVED, "panel-reserved",
                             "a reserved field is not 0");
    }
    if (p->has_probe > 1 || (p->has_probe == 0 && p->probe_hash != 0)) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_PANEL_AT_PROBE_HASH, "panel-probe",
                             "there is a probe hash, but the flag for it is not set");
    }
    if (!tly_base_is_power_of_two(p->alignment) || p->alignment > TLY_PANEL_MAX_ALIGNMENT) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_PANEL_AT_ALIGNMENT, "panel-alignment",
                             "alignment is %u; it is a power of two, at most %d", p->alignment,
                             TLY_PANEL_MAX_ALIGNMENT);
    }
    name_len = strnlen(p->kernel, sizeof p->kernel);
    if (name_len == sizeof p->kernel) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_PANEL_AT_KERNEL_LEN, "panel-kernel-length",
                             "the kernel's name is longer than %d characters",
                             TLY_PANEL_NAME_LEN - 1);
    }
    for (size_t i = 0; i < name_len; i++) {
        unsigned char c = (unsigned char)p->kernel[i];
        if (c < 0x20 || c > 0x7E) {
            return tly_base_fail(
                error, TLY_MALFORMED, loop_at(p->num_loops, 0) + i, "panel-kernel-name",
                "byte %zu of the kernel's name is 0x%02X; names are printable ASCII", i, c);
        }
    }
    return TLY_OK;
}

/* One loop by itself. */
static tly_status check_loop(const tly_panel_profile *p, uint32_t i, tly_error *error) {
    const tly_panel_loop *loop = &p->loops[i];

    if (loop->axis != TLY_PANEL_K && loop->axis != TLY_PANEL_MN) {
        return tly_base_fail(error, TLY_MALFORMED, loop_at(i, TLY_PANEL_LOOP_AXIS),
                             "panel-loop-axis", "loop %u runs over axis %u; it is 0 (K) or 1", i,
                             loop->axis);
    }
    if (loop->rounded > 1) {
        return tly_base_fail(error, TLY_MALFORMED, loop_at(i, TLY_PANEL_LOOP_KIND),
                             "panel-loop-kind", "loop %u is of kind %u; it is 0 or 1", i,
                             loop->rounded);
    }
    if (loop->reserved != 0) {
        return tly_base_fail(error, TLY_MALFORMED, loop_at(i, TLY_PANEL_LOOP_RESERVED),
                             "panel-reserved", "a reserved field of loop %u is not 0", i);
    }
    if (loop->step == 0) {
        return tly_base_fail(error, TLY_MALFORMED, loop_at(i, TLY_PANEL_LOOP_STEP),
                             "panel-loop-step", "the step of loop %u is 0", i);
    }
    if (loop->rounded == 0) {
        if (loop->count < 2) {
            return tly_base_fail(
                error, TLY_MALFORMED, loop_at(i, TLY_PANEL_LOOP_COUNT), "panel-loop-count",
                "loop %u turns %u times; a constant loop turns at least twice", i, loop->count);
        }
        if (loop->round != 0 || loop->over != 0) {
            return tly_base_fail(error, TLY_MALFORMED, loop_at(i, TLY_PANEL_LOOP_OVER),
                                 "panel-reserved", "loop %u is constant and has a divisor", i);
        }
        return TLY_OK;
    }
    if (loop->count != 0) {
        return tly_base_fail(error, TLY_MALFORMED, loop_at(i, TLY_PANEL_LOOP_COUNT),
                             "panel-reserved", "loop %u is rounded and has a constant count", i);
    }
    if (loop->over != loop->step) {
        return tly_base_fail(
            error, TLY_MALFORMED, loop_at(i, TLY_PANEL_LOOP_OVER), "panel-loop-over",
            "loop %u divides the rounded extent by %u, but steps by %u; only equal "
            "numbers reach each index once",
            i, loop->over, loop->step);
    }
    if (loop->round == 0 || loop->round % loop->over != 0) {
        return tly_base_fail(error, TLY_MALFORMED, loop_at(i, TLY_PANEL_LOOP_COUNT),
                             "panel-loop-round",
                             "loop %u rounds to %u, which is no multiple of its step %u", i,
                             loop->round, loop->step);
    }
    return TLY_OK;
}

/* The loops of one axis, from the smallest step up, must form a mixed-radix number: each step is
 * the product of the counts below it. Only the last of them may depend on the extent. Then, and
 * only then, the sums are 0, 1, 2, ... each once, whatever the extent. */
static tly_status check_chain(const tly_panel_profile *p, uint32_t axis, tly_error *error) {
    uint64_t reach = 1; /* product of the counts so far */
    uint32_t seen = 0;  /* bit per loop */
    int open = 1;       /* no rounded loop so far */

    for (;;) {
        uint32_t next = p->num_loops;
        const tly_panel_loop *loop;
        for (uint32_t i = 0; i < p->num_loops; i++) {
            if (p->loops[i].axis == axis && (seen >> i & 1) == 0 &&
                (next == p->num_loops || p->loops[i].step < p->loops[next].step)) {
                next = i;
            }
        }
        if (next == p->num_loops) {
            break;
        }
        loop = &p->loops[next];
        if (!open) {
            return tly_base_fail(
                error, TLY_MALFORMED, loop_at(next, TLY_PANEL_LOOP_STEP), "panel-loop-chain",
                "loop %u steps as far as the rounded loop over %s or further; they "
                "would meet",
                next, axis_name(p, axis));
        }
        if (loop->step != reach) {
            return tly_base_fail(error, TLY_MALFORMED, loop_at(next, TLY_PANEL_LOOP_STEP),
                                 "panel-loop-chain",
                                 "loop %u over %s steps by %u, but the loops with smaller steps "
                                 "reach %llu: some index would be %s",
                                 next, axis_name(p, axis), loop->step, (unsigned long long)reach,
                                 loop->step > reach ? "left out" : "visited twice");
        }
        reach = loop->rounded != 0 ? loop->round : reach * loop->count;
        if (reach > TLY_PANEL_MAX_GRANULE) {
            return tly_base_fail(
                error, TLY_LIMIT, loop_at(next, TLY_PANEL_LOOP_COUNT), "panel-granule",
                "%s is padded to a multiple of %llu; the limit is %d", axis_name(p, axis),
                (unsigned long long)reach, TLY_PANEL_MAX_GRANULE);
        }
        open = loop->rounded == 0;
        seen |= UINT32_C(1) << next;
    }
    if (seen == 0) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_PANEL_AT_NUM_LOOPS, "panel-loop-missing",
                             "no loop runs over %s", axis_name(p, axis));
    }
    return TLY_OK;
}

/* Can loop `inner`, right after loop `outer`, be said by making `outer` turn more often? */
static int can_join(const tly_panel_loop *outer, const tly_panel_loop *inner) {
    return outer->axis == inner->axis && inner->rounded == 0 &&
           outer->step == (uint64_t)inner->step * inner->count;
}

tly_status tly_panel_check(const tly_panel_profile *profile, tly_error *error) {
    tly_panel_reach k;
    tly_panel_reach mn;
    tly_status status;

    if (profile == NULL || profile->size != sizeof *profile) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                             "no profile, or its size is not %zu", sizeof *profile);
    }
    if (profile->num_loops < 2 || profile->num_loops > TLY_PANEL_MAX_LOOPS) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_PANEL_AT_NUM_LOOPS, "panel-loops",
                             "%u loops; there are 2 to %d", profile->num_loops,
                             TLY_PANEL_MAX_LOOPS);
    }
    status = check_head(profile, error);
    for (uint32_t i = 0; status == TLY_OK && i < profile->num_loops; i++) {
        status = check_loop(profile, i, error);
    }
    if (status == TLY_OK) {
        status = check_chain(profile, TLY_PANEL_K, error);
    }
    if (status == TLY_OK) {
        status = check_chain(profile, TLY_PANEL_MN, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    for (uint32_t i = 1; i < profile->num_loops; i++) {
        if (can_join(&profile->loops[i - 1], &profile->loops[i])) {
            return tly_base_fail(error, TLY_MALFORMED, loop_at(i, TLY_PANEL_LOOP_STEP),
                                 "panel-loop-split",
                                 "loops %u and %u say what one loop can say; only that form is "
                                 "allowed",
                                 i - 1, i);
        }
    }
    tly_panel_axis_reach(profile, TLY_PANEL_K, &k);
    tly_panel_axis_reach(profile, TLY_PANEL_MN, &mn);
    if ((uint64_t)k.granule * mn.granule * tly_panel_element_len(profile->dtype) >
        TLY_PANEL_MAX_CELL) {
        return tly_base_fail(error, TLY_LIMIT, TLY_PANEL_AT_LOOPS, "panel-cell",
                             "the smallest panel is %u x %u elements; the limit is %d bytes",
                             k.granule, mn.granule, TLY_PANEL_MAX_CELL);
    }
    return TLY_OK;
}

void tly_panel_axis_reach(const tly_panel_profile *profile, tly_panel_axis axis,
                          tly_panel_reach *out_reach) {
    out_reach->granule = 1;
    out_reach->bounded = 1;
    for (uint32_t i = 0; i < profile->num_loops; i++) {
        const tly_panel_loop *loop = &profile->loops[i];
        if (loop->axis != axis) {
            continue;
        }
        if (loop->rounded != 0) {
            out_reach->granule = loop->round;
            out_reach->bounded = 0;
            return;
        }
        out_reach->granule *= loop->count;
    }
}

void tly_panel_normalize(tly_panel_profile *profile) {
    uint32_t kept = 0;
    uint32_t num =
        profile->num_loops < TLY_PANEL_MAX_LOOPS ? profile->num_loops : TLY_PANEL_MAX_LOOPS;

    for (uint32_t i = 0; i < num; i++) {
        tly_panel_loop loop = profile->loops[i];
        if (loop.rounded == 0 && loop.count == 1) {
            continue;
        }
        if (kept != 0 && can_join(&profile->loops[kept - 1], &loop)) {
            tly_panel_loop *outer = &profile->loops[kept - 1];
            uint64_t count = (uint64_t)outer->count * loop.count;
            if (outer->rounded != 0 && outer->over == outer->step) {
                outer->step = loop.step;
                outer->over = loop.step;
                continue;
            }
            if (outer->rounded == 0 && count <= UINT32_MAX) {
                outer->step = loop.step;
                outer->count = (uint32_t)count;
                continue;
            }
        }
        profile->loops[kept++] = loop;
    }
    memset(&profile->loops[kept], 0, (TLY_PANEL_MAX_LOOPS - kept) * sizeof profile->loops[0]);
    profile->num_loops = (uint8_t)kept;
}

int tly_panel_same_layout(const tly_panel_profile *a, const tly_panel_profile *b) {
    if (a->role != b->role || a->dtype != b->dtype || a->rank != b->rank ||
        a->k_axis != b->k_axis || a->mn_axis != b->mn_axis || a->num_loops != b->num_loops) {
        return 0;
    }
    for (uint32_t i = 0; i < a->num_loops; i++) {
        const tly_panel_loop *x = &a->loops[i];
        const tly_panel_loop *y = &b->loops[i];
        if (x->axis != y->axis || x->rounded != y->rounded || x->step != y->step ||
            x->count != y->count || x->round != y->round || x->over != y->over) {
            return 0;
        }
    }
    return 1;
}
