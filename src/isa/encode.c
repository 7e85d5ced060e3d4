/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/decode.h"

#include "base/error.h"

static tly_status refuse(uint32_t number, const tly_isa_form_row *form, uint32_t index,
                         int64_t value, const char *why, tly_error *error) {
    return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "isa-field",
                         "%s: %s = %lld %s", tly_isa_mnemonic_of(number),
                         tly_isa_field_name(form, index), (long long)value, why);
}

tly_status tly_isa_encode(uint32_t number, const int64_t *fields, uint64_t *out_word,
                          tly_error *error) {
    const tly_isa_form_row *form = tly_isa_form_at(number);
    const tly_isa_rule *rules;
    uint64_t word;

    if (form == NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "isa-argument",
                             "there is no form %u", number);
    }
    word = form->match;
    for (uint32_t i = 0; i < form->num_fields; i++) {
        const tly_isa_field_row *field = tly_isa_field_at(form, i);
        uint64_t stored = 0;
        int64_t low = field->is_signed ? -(INT64_C(1) << (field->width - 1)) : 0;
        int64_t high = (INT64_C(1) << (field->width - field->is_signed)) - 1;
        if (fields[i] < low || fields[i] > high) {
            return refuse(number, form, i, fields[i], "does not fit in its field", error);
        }
        for (uint32_t k = 0; k < field->num_pieces; k++) {
            const tly_isa_piece *piece = tly_isa_piece_at(field, k);
            uint64_t span = (UINT64_C(1) << piece->width) - 1;
            word |= ((uint64_t)fields[i] >> piece->value_lsb & span) << piece->insn_lsb;
            stored |= span << piece->value_lsb;
        }
        if (((uint64_t)fields[i] & ~stored & ((UINT64_C(1) << field->width) - 1)) != 0) {
            return refuse(number, form, i, fields[i], "has low bits that are not stored", error);
        }
    }
    rules = tly_isa_rules_of(form);
    for (uint32_t i = 0; i < form->num_rules; i++) {
        if ((rules[i].allowed >> fields[rules[i].field] & 1) == 0) {
            return refuse(number, form, rules[i].field, fields[rules[i].field],
                          "is not admitted by this form", error);
        }
    }
    *out_word = word;
    return TLY_OK;
}
