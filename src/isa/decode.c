/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder: two look-ups by the bits that tell forms apart end in one form or in a short list,
 * the narrowest form first. The first form whose pattern fits owns the word; its field rules then
 * accept or refuse it. */
#include "isa/decode.h"

#include "base/bytes.h"
#include "base/error.h"

#include "isa/decode_table.h"

uint32_t tly_isa_length(uint16_t first, uint16_t second) {
    switch (first & 0xF) {
    case 0xE:
        return 6;
    case 0xF:
        return 8;
    case 0x2: /* a compressed block start, unless a compressed SETRET makes it the fused call */
        return (second & 0xF83F) == 0x5016 ? 4 : 2;
    default:
        return (first & 1) != 0 ? 4 : 2;
    }
}

int64_t tly_isa_extract(uint64_t word, const tly_isa_field_row *field) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < field->num_pieces; i++) {
        const tly_isa_piece *piece = tly_isa_piece_at(field, i);
        value |= (word >> piece->insn_lsb & ((UINT64_C(1) << piece->width) - 1))
                 << piece->value_lsb;
    }
    if (field->is_signed) {
        uint64_t sign = UINT64_C(1) << (field->width - 1);
        return (int64_t)((value ^ sign) - sign);
    }
    return (int64_t)value;
}

static inline uint32_t look_up(uint64_t word, const tly_isa_runs *node) {
    return node->first + (uint32_t)(word >> node->shift_a & node->mask_a) +
           ((uint32_t)(word >> node->shift_b & node->mask_b) << node->width_a);
}

/* Two look-ups lead to a form or to a list of forms. Every word takes the same steps, so that a mix
 * of words leaves nothing to mispredict. */
static inline uint32_t child_of(uint64_t word, uint32_t len) {
    uint32_t node = tly_isa_buckets[look_up(word, &tly_isa_root_runs[len])] / TLY_ISA_SCALE;
    return tly_isa_children[look_up(word, &tly_isa_node_runs[node])] / TLY_ISA_SCALE;
}

/* The form that owns a word in any of the releases, by its pattern alone; -1 if there is none. */
static int32_t find(uint64_t word, uint32_t len, uint32_t releases) {
    uint32_t child = child_of(word, len);
    uint16_t single = (uint16_t)child;
    const uint16_t *forms = &single;
    uint32_t count = 1;
    if (child >= tly_isa_num_forms()) {
        const tly_isa_leaf *leaf = &tly_isa_leaves[child - tly_isa_num_forms()];
        forms = &tly_isa_leaf_forms[leaf->first];
        count = leaf->count;
    }
    for (uint32_t i = 0; i < count; i++) {
        const tly_isa_form_row *form = tly_isa_form_at(forms[i]);
        if ((word & form->mask) == form->match && (form->releases & releases) != 0) {
            return forms[i];
        }
    }
    return -1;
}

static tly_status refuse_field(uint64_t word, const tly_isa_form_row *form, uint32_t number,
                               const tly_isa_rule *rule, tly_error *error) {
    uint64_t value = word >> rule->insn_lsb & ((UINT64_C(1) << rule->width) - 1);
    return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "isa-field",
                         "0x%0*llX: %s does not admit %s = %llu", form->bits / 4,
                         (unsigned long long)word, tly_isa_mnemonic_of(number),
                         tly_isa_field_name(form, rule->field), (unsigned long long)value);
}

/* Which rule of its form a word breaks, or NULL. */
static const tly_isa_rule *broken_rule(uint64_t word, const tly_isa_form_row *form) {
    const tly_isa_rule *rules = tly_isa_rules_of(form);
    for (uint32_t i = 0; i < form->num_rules; i++) {
        uint64_t value = word >> rules[i].insn_lsb & ((UINT64_C(1) << rules[i].width) - 1);
        if ((rules[i].allowed >> value & 1) == 0) {
            return &rules[i];
        }
    }
    return NULL;
}

static tly_status refuse(uint64_t word, uint32_t len, tly_isa_release release, tly_error *error) {
    const tly_isa_reserved_row *reserved = tly_isa_reserved_find(word, len * 8);
    int32_t found = find(word, len, 0xFF);
    const tly_isa_form_row *other = found >= 0 ? tly_isa_form_at((uint32_t)found) : NULL;
    if (other != NULL && broken_rule(word, other) != NULL) {
        other = NULL;
    }
    if (release == TLY_ISA_0_58_3 && reserved != NULL) {
        const char *last = NULL;
        for (int32_t r = TLY_ISA_0_58_2; other != NULL && last == NULL && r >= 0; r--) {
            last =
                (other->releases >> r & 1) != 0 ? tly_isa_release_name((tly_isa_release)r) : NULL;
        }
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "isa-reserved",
                             "0x%0*llX: %s is reserved for %s in 0.58.3%s%s", (int)len * 2,
                             (unsigned long long)word, reserved->name, reserved->reason,
                             last != NULL ? "; last accepted by " : "", last != NULL ? last : "");
    }
    if (other != NULL) {
        uint32_t first = (uint32_t)__builtin_ctz(other->releases);
        uint32_t last = 31u - (uint32_t)__builtin_clz(other->releases);
        return tly_base_fail(
            error, TLY_MALFORMED, TLY_NO_OFFSET, "isa-retired",
            last < (uint32_t)release ? "0x%0*llX: %s was retired after %s; this is %s"
                                     : "0x%0*llX: %s came with %s; this is %s",
            (int)len * 2, (unsigned long long)word, tly_isa_mnemonic_of((uint32_t)found),
            tly_isa_release_name((tly_isa_release)(last < (uint32_t)release ? last : first)),
            tly_isa_release_name(release));
    }
    return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "isa-unknown",
                         "0x%0*llX is no instruction of %s", (int)len * 2, (unsigned long long)word,
                         tly_isa_release_name(release));
}

static void take_fields(uint64_t word, uint32_t len, uint32_t number, tly_isa_insn *out_insn) {
    const tly_isa_form_row *form = tly_isa_form_at(number);
    *out_insn = (tly_isa_insn){word, (uint16_t)number, (uint8_t)len, form->num_fields, 0, {0}};
    for (uint32_t i = 0; i < form->num_fields; i++) {
        out_insn->fields[i] = tly_isa_extract(word, tly_isa_field_at(form, i));
    }
}

/* A word that the quick way does not settle: refused, or with many fields or rules. */
tly_status tly_isa_decode_slowly(uint64_t word, uint32_t len, tly_isa_release release,
                                 tly_isa_insn *out_insn, tly_error *error) {
    const tly_isa_form_row *form;
    const tly_isa_rule *broken;
    int32_t found;
    if (((len - 2) & ~6u) != 0 || (uint32_t)release >= TLY_ISA_NUM_RELEASES ||
        word >> (len * 8 - 1) >> 1 != 0) { /* lengths are 2, 4, 6 and 8 */
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "isa-argument",
                             "a word of %u bytes cannot be decoded", len);
    }
    found = find(word, len, 1u << release);
    if (found < 0) {
        return refuse(word, len, release, error);
    }
    form = tly_isa_form_at((uint32_t)found);
    broken = broken_rule(word, form);
    if (broken != NULL) {
        return refuse_field(word, form, (uint32_t)found, broken, error);
    }
    take_fields(word, len, (uint32_t)found, out_insn);
    return TLY_OK;
}

bool tly_isa_decode_pattern(uint64_t word, uint32_t len, tly_isa_release release,
                            tly_isa_insn *out_insn) {
    int32_t found = find(word, len, 1u << release);
    if (found < 0) {
        return false;
    }
    take_fields(word, len, (uint32_t)found, out_insn);
    return true;
}

/* Whether the word is the form of its row, one of the release, and keeps its field rules. */
static int fits(uint64_t word, const tly_isa_quick *quick, uint32_t release) {
    uint64_t good =
        (uint64_t)((word & quick->mask) == quick->match) & (uint64_t)quick->releases >> release;
    for (int i = 0; i < TLY_ISA_NUM_CHECKS; i++) {
        good &= quick->allowed[i] >> (word >> quick->check_shifts[i] & quick->check_masks[i]);
    }
    return (good & 1) != 0;
}

tly_status tly_isa_decode_portable(uint64_t word, uint32_t len, tly_isa_release release,
                                   tly_isa_insn *out_insn, tly_error *error) {
    uint32_t child = child_of(word, len);
    const tly_isa_quick *quick = &tly_isa_quicks[child];
    const tly_isa_special *special = &tly_isa_specials[child];
    uint64_t value = 0;
    if (!fits(word, quick, (uint32_t)release)) {
        return tly_isa_decode_slowly(word, len, release, out_insn, error);
    }
    tly_isa_put_head(word, quick, out_insn);
    for (int i = 0; i < TLY_ISA_NUM_SLOTS; i++) {
        out_insn->fields[i] = (int64_t)(word >> quick->field_shifts[i] & quick->field_masks[i]);
    }
    for (int i = TLY_ISA_NUM_SLOTS; i < TLY_ISA_MAX_FIELDS; i++) {
        out_insn->fields[i] = 0;
    }
    for (int i = 0; i < TLY_ISA_NUM_PIECES; i++) {
        uint32_t turn = special->turns[i];
        value |= (word >> turn | word << (-turn & 63)) & special->masks[i];
    }
    out_insn->fields[quick->special] = (int64_t)(value << special->extend) >> special->extend;
    return TLY_OK;
}

/* PEXT runs in microcode, slower than what it replaces, on AMD's family 17h. */
int tly_isa_has_avx2(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
           !__builtin_cpu_is("amdfam17h");
#else
    return 0;
#endif
}

tly_status tly_isa_decode(uint64_t word, uint32_t len, tly_isa_release release,
                          tly_isa_insn *out_insn, tly_error *error) {
    if (len > TLY_ISA_MAX_LEN || (uint32_t)release >= TLY_ISA_NUM_RELEASES) {
        return tly_isa_decode_slowly(word, len, release, out_insn, error);
    }
#if defined(__x86_64__)
    if (tly_isa_has_avx2()) {
        return tly_isa_decode_avx2(word, len, release, out_insn, error);
    }
#endif
    return tly_isa_decode_portable(word, len, release, out_insn, error);
}

tly_status tly_isa_decode_bytes(const void *bytes, size_t available, tly_isa_release release,
                                tly_isa_insn *out_insn, tly_error *error) {
    const uint8_t *at = bytes;
    uint64_t word = 0;
    uint32_t len = 2;
    if (available >= 2) {
        len = tly_isa_length(tly_base_load_u16(at), available >= 4 ? tly_base_load_u16(at + 2) : 0);
    }
    if (available < len) {
        return tly_base_fail(error, TLY_TRUNCATED, available, "isa-truncated",
                             "an instruction of %u bytes begins where only %zu are left", len,
                             available);
    }
    for (uint32_t i = 0; i < len; i += 2) {
        word |= (uint64_t)tly_base_load_u16(at + i) << 8 * i;
    }
    return tly_isa_decode(word, len, release, out_insn, error);
}
