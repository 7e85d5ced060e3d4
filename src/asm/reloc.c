/* SPDX-License-Identifier: Apache-2.0 */
#include "asm/reloc.h"

#include <string.h>

#include "base/error.h"

static const tly_reloc_row rows[] = {
    {0, 0, TLY_RELOC_NONE, 0, 0, 0, {{0, 0, 0}}, "R_PTO_NONE"},
    {1, 4, TLY_RELOC_HALFWORDS, 12, 1, 2, {{25, 7, 0}, {7, 5, 7}}, "R_PTO_B12_PCREL"},
    {2, 4, TLY_RELOC_HALFWORDS, 22, 1, 2, {{15, 17, 0}, {7, 5, 17}}, "R_PTO_J22_PCREL"},
    {3, 2, TLY_RELOC_HALFWORDS, 12, 1, 1, {{4, 12, 0}}, "R_PTO_CBSTART12_PCREL"},
    {4, 4, TLY_RELOC_HALFWORDS, 17, 1, 1, {{15, 17, 0}}, "R_PTO_B17_PCREL"},
    {5, 6, TLY_RELOC_BYTES, 30, 1, 2, {{31, 17, 1}, {4, 12, 18}}, "R_PTO_HL_BSTART30_PCREL"},
    {6, 2, TLY_RELOC_HALFWORDS, 5, 0, 1, {{6, 5, 0}}, "R_PTO_CSETRET5_PCREL"},
    {7, 4, TLY_RELOC_HALFWORDS, 20, 0, 1, {{12, 20, 0}}, "R_PTO_SETRET20_PCREL"},
    {8, 6, TLY_RELOC_HALFWORDS, 32, 1, 2, {{28, 20, 0}, {4, 12, 20}}, "R_PTO_HL_SETRET32_PCREL"},
    {9, 8, TLY_RELOC_DYNAMIC, 0, 0, 0, {{0, 0, 0}}, "R_PTO_RELATIVE"},
    {10, 8, TLY_RELOC_ABSOLUTE, 64, 0, 1, {{0, 64, 0}}, "R_PTO_64"},
    {11, 4, TLY_RELOC_ABSOLUTE, 32, 0, 1, {{0, 32, 0}}, "R_PTO_32"},
    {12, 8, TLY_RELOC_DYNAMIC, 0, 0, 0, {{0, 0, 0}}, "R_PTO_JUMP_SLOT"},
    {13, 8, TLY_RELOC_DYNAMIC, 0, 0, 0, {{0, 0, 0}}, "R_PTO_GLOB_DAT"},
    {14, 8, TLY_RELOC_DYNAMIC, 0, 0, 0, {{0, 0, 0}}, "R_PTO_COPY"},
    {15, 4, TLY_RELOC_PAGES, 20, 1, 1, {{12, 20, 0}}, "R_PTO_PCREL_HI20"},
    {16, 4, TLY_RELOC_HALFWORDS, 17, 1, 1, {{15, 17, 0}}, "R_PTO_B17_PLT"},
    {17, 4, TLY_RELOC_LOW12, 12, 0, 1, {{20, 12, 0}}, "R_PTO_LO12"},
    {18, 4, TLY_RELOC_WORDS, 17, 1, 1, {{15, 17, 0}}, "R_PTO_PCR17_LOAD"},
    {19, 4, TLY_RELOC_WORDS, 17, 1, 2, {{20, 12, 0}, {7, 5, 12}}, "R_PTO_PCR17_STORE"},
    {20, 6, TLY_RELOC_WORDS, 29, 1, 2, {{31, 17, 0}, {4, 12, 17}}, "R_PTO_HL_PCR29_LOAD"},
    {21,
     6,
     TLY_RELOC_WORDS,
     29,
     1,
     3,
     {{36, 12, 0}, {23, 5, 12}, {4, 12, 17}},
     "R_PTO_HL_PCR29_STORE"},
    {22, 4, TLY_RELOC_HALFWORDS, 25, 1, 1, {{7, 25, 0}}, "R_PTO_B25_PCREL"},
    {23, 4, TLY_RELOC_DYNAMIC, 0, 0, 0, {{0, 0, 0}}, "R_PTO_GOT_HI20"},
    {24, 4, TLY_RELOC_DYNAMIC, 0, 0, 0, {{0, 0, 0}}, "R_PTO_GOT_LO12"},
    {25, 4, TLY_RELOC_DISTANCE, 32, 1, 1, {{0, 32, 0}}, "R_PTO_32_PCREL"},
    {26, 8, TLY_RELOC_HALFWORDS, 42, 1, 2, {{7, 25, 0}, {47, 17, 25}}, "R_PTO_L_BSTART42_PCREL"},
    {28, 8, TLY_RELOC_DYNAMIC, 0, 0, 0, {{0, 0, 0}}, "R_PTO_TLS (28)"},
    {29, 8, TLY_RELOC_DYNAMIC, 0, 0, 0, {{0, 0, 0}}, "R_PTO_TLS (29)"},
    {30, 8, TLY_RELOC_DYNAMIC, 0, 0, 0, {{0, 0, 0}}, "R_PTO_TLS (30)"},
    {31, 8, TLY_RELOC_DYNAMIC, 0, 0, 0, {{0, 0, 0}}, "R_PTO_TLS (31)"},
    {32, 8, TLY_RELOC_DYNAMIC, 0, 0, 0, {{0, 0, 0}}, "R_PTO_IRELATIVE"},
};

const tly_reloc_row *tly_reloc_find(uint32_t type) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].type == type) {
            return &rows[i];
        }
    }
    return NULL;
}

/* How an operand's value is counted. */
static tly_reloc_value value_of(uint32_t kind) {
    switch (kind) {
    case TLY_KIND_BRANCH:
    case TLY_KIND_RET5:
    case TLY_KIND_RET5H:
    case TLY_KIND_RET20:
    case TLY_KIND_RET32:
        return TLY_RELOC_HALFWORDS;
    case TLY_KIND_BRANCH1:
        return TLY_RELOC_BYTES;
    case TLY_KIND_PCREL4:
        return TLY_RELOC_WORDS;
    case TLY_KIND_PAGE:
        return TLY_RELOC_PAGES;
    case TLY_KIND_DISP0:
        return TLY_RELOC_LOW12;
    default:
        return TLY_RELOC_NONE;
    }
}

const tly_reloc_row *tly_reloc_for(const tly_isa_form_row *form, uint32_t field, uint32_t kind,
                                   uint32_t *out_offset) {
    const tly_isa_field_row *f = tly_isa_field_at(form, field);
    tly_reloc_value value = value_of(kind);
    for (size_t i = 0; value != TLY_RELOC_NONE && i < sizeof rows / sizeof rows[0]; i++) {
        const tly_reloc_row *row = &rows[i];
        /* A field of a fused instruction may be patched as that of the halfword that holds it. */
        for (uint32_t offset = 0; offset + row->len <= form->bits / 8u; offset += 2) {
            uint32_t same = 0;
            if (row->value != (uint8_t)value || row->num_pieces != f->num_pieces ||
                (offset == 0 && row->len != form->bits / 8u && kind != TLY_KIND_BRANCH) ||
                (offset != 0 && kind != TLY_KIND_RET5H)) {
                continue;
            }
            for (uint32_t k = 0; k < row->num_pieces; k++) {
                const tly_isa_piece *a = &row->pieces[k];
                for (uint32_t m = 0; m < f->num_pieces; m++) {
                    const tly_isa_piece *b = tly_isa_piece_at(f, m);
                    same += a->insn_lsb + offset * 8 == b->insn_lsb && a->width == b->width &&
                            a->value_lsb == b->value_lsb;
                }
            }
            if (same == row->num_pieces) {
                *out_offset = offset;
                return row;
            }
        }
    }
    return NULL;
}

const tly_reloc_row *tly_reloc_for_data(uint32_t len, int relative) {
    return len == 8 && !relative ? tly_reloc_find(10)
           : len == 4            ? tly_reloc_find(relative ? 25 : 11)
                                 : NULL;
}

static uint64_t load(const uint8_t *bytes, uint32_t len) {
    uint64_t word = 0;
    for (uint32_t i = 0; i < len; i++) {
        word |= (uint64_t)bytes[i] << 8 * i;
    }
    return word;
}

tly_status tly_reloc_apply(const tly_reloc_row *row, uint8_t *bytes, uint64_t target,
                           uint64_t place, tly_error *error) {
    int64_t distance = (int64_t)(target - place), value = 0;
    uint64_t word = load(bytes, row->len);
    unsigned shift = 0;

    switch (row->value) {
    case TLY_RELOC_NONE:
        return TLY_OK;
    case TLY_RELOC_DYNAMIC:
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "reloc-dynamic",
                             "%s asks for dynamic linking; only static programs can be made",
                             row->name);
    case TLY_RELOC_HALFWORDS:
        shift = 1;
        value = distance;
        break;
    case TLY_RELOC_BYTES:
        value = distance;
        if ((value & 1) != 0) {
            shift = 1;
        }
        break;
    case TLY_RELOC_WORDS:
        shift = 2;
        value = (int64_t)(target - (place & ~UINT64_C(3)));
        break;
    case TLY_RELOC_PAGES:
        value = (int64_t)(target >> 12) - (int64_t)(place >> 12);
        break;
    case TLY_RELOC_LOW12:
        value = (int64_t)(target & 0xFFF);
        break;
    case TLY_RELOC_ABSOLUTE:
        value = (int64_t)target;
        break;
    default:
        value = distance;
        break;
    }
    if ((value & ((INT64_C(1) << shift) - 1)) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "reloc-align",
                             "%s: the target 0x%llx is not a multiple of %u bytes away", row->name,
                             (unsigned long long)target, 1u << shift);
    }
    value >>= shift;
    if (row->width < 64) {
        int64_t low = row->is_signed ? -(INT64_C(1) << (row->width - 1)) : 0;
        int64_t high = row->is_signed ? -low - 1 : (INT64_C(1) << row->width) - 1;
        if (value < low || value > high) {
            return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "reloc-range",
                                 "%s: the target 0x%llx is out of reach from 0x%llx", row->name,
                                 (unsigned long long)target, (unsigned long long)place);
        }
    }
    for (uint32_t i = 0; i < row->num_pieces; i++) {
        const tly_isa_piece *p = &row->pieces[i];
        uint64_t span = p->width < 64 ? (UINT64_C(1) << p->width) - 1 : UINT64_MAX;
        word = (word & ~(span << p->insn_lsb)) | ((uint64_t)value >> p->value_lsb & span)
                                                     << p->insn_lsb;
    }
    for (uint32_t i = 0; i < row->len; i++) {
        bytes[i] = (uint8_t)(word >> 8 * i);
    }
    return TLY_OK;
}
