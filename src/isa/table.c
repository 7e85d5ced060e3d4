/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/table.h"

#include <string.h>

#include "isa/forms_table.h"
#include "isa/names_table.h"
#include "isa/tileops_table.h"

#include "base/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const tly_isa_form_row *tly_isa_form_at(uint32_t form) {
    return form < TLY_NUM_FORMS ? &tly_isa_forms[form] : NULL;
}

uint32_t tly_isa_num_forms(void) {
    return TLY_NUM_FORMS;
}

const char *tly_isa_group_name(uint32_t group) {
    return group < sizeof(tly_isa_groups) / sizeof(tly_isa_groups[0]) ? tly_isa_groups[group]
                                                                      : NULL;
}

const char *tly_isa_mnemonic_of(uint32_t form) {
    return form < TLY_NUM_FORMS ? tly_isa_mnemonics[tly_isa_forms[form].mnemonic] : NULL;
}

const tly_isa_field_row *tly_isa_field_at(const tly_isa_form_row *form, uint32_t index) {
    return index < form->num_fields ? &tly_isa_fields[form->first_field + index] : NULL;
}

const char *tly_isa_field_name(const tly_isa_form_row *form, uint32_t index) {
    const tly_isa_field_row *field = tly_isa_field_at(form, index);
    return field != NULL ? tly_isa_field_names[field->name] : NULL;
}

const tly_isa_piece *tly_isa_piece_at(const tly_isa_field_row *field, uint32_t index) {
    return index < field->num_pieces ? &tly_isa_pieces[field->first_piece + index] : NULL;
}

const tly_isa_rule *tly_isa_rules_of(const tly_isa_form_row *form) {
    return &tly_isa_rules[form->first_rule];
}

const uint8_t *tly_isa_syntax_of(uint32_t form) {
    return &tly_isa_syntax[tly_isa_forms[form].syntax];
}

uint32_t tly_isa_num_mnemonics(void) {
    return COUNT(tly_isa_mnemonics);
}

const char *tly_isa_mnemonic_at(uint32_t index) {
    return index < COUNT(tly_isa_mnemonics) ? tly_isa_mnemonics[index] : NULL;
}

uint32_t tly_isa_find_mnemonic(const char *name, size_t len, const uint16_t **out_forms,
                               size_t *out_used) {
    uint32_t found = 0, hash = 2166136261u;
    /* The hash grows from the left, so every part that ends at a dot is looked up on the way. */
    for (size_t used = 1; used <= len; used++) {
        hash = (hash ^ (unsigned char)tly_text_upper(name[used - 1])) * 16777619u;
        if (used == len || name[used] == '.') {
            uint32_t at = hash % TLY_ISA_HASH_SLOTS;
            for (; tly_isa_mnemonic_hash[at] != 0; at = (at + 1) % TLY_ISA_HASH_SLOTS) {
                uint32_t number = tly_isa_mnemonic_hash[at] - 1u;
                if (tly_text_equal(name, used, tly_isa_mnemonics[number])) {
                    *out_forms = &tly_isa_mnemonic_forms[tly_isa_mnemonic_first[number]];
                    *out_used = used;
                    found = tly_isa_mnemonic_first[number + 1] - tly_isa_mnemonic_first[number];
                    break;
                }
            }
        }
    }
    return found;
}

const tly_isa_reserved_row *tly_isa_reserved_find(uint64_t word, uint32_t bits) {
    for (size_t i = 0; i < COUNT(tly_isa_reserved); i++) {
        const tly_isa_reserved_row *row = &tly_isa_reserved[i];
        if (row->bits == bits && (word & row->mask) == row->match) {
            return row;
        }
    }
    return NULL;
}

static const struct name_table {
    const tly_isa_name *rows;
    uint32_t count;
} name_tables[] = {
    [TLY_NAMES_DTYPE] = {tly_isa_dtype_names, COUNT(tly_isa_dtype_names)},
    [TLY_NAMES_LAYOUT] = {tly_isa_layout_names, COUNT(tly_isa_layout_names)},
    [TLY_NAMES_PAD] = {tly_isa_pad_names, COUNT(tly_isa_pad_names)},
    [TLY_NAMES_SIZE] = {tly_isa_size_names, COUNT(tly_isa_size_names)},
    [TLY_NAMES_PE_MODE] = {tly_isa_pe_mode_names, COUNT(tly_isa_pe_mode_names)},
    [TLY_NAMES_FLOAT_TYPE] = {tly_isa_float_type_names, COUNT(tly_isa_float_type_names)},
    [TLY_NAMES_INTEGER_TYPE] = {tly_isa_integer_type_names, COUNT(tly_isa_integer_type_names)},
    [TLY_NAMES_TRANSFER] = {tly_isa_transfer_names, COUNT(tly_isa_transfer_names)},
    [TLY_NAMES_SYSTEM_REGISTER] = {tly_isa_system_register_names,
                                   COUNT(tly_isa_system_register_names)},
    [TLY_NAMES_CONTEXT_REGISTER] = {tly_isa_context_register_names,
                                    COUNT(tly_isa_context_register_names)},
};

const tly_isa_name *tly_isa_name_at(tly_isa_names table, uint32_t index) {
    return index < name_tables[table].count ? &name_tables[table].rows[index] : NULL;
}

const char *tly_isa_name_of(tly_isa_names table, uint32_t code) {
    const struct name_table *t = &name_tables[table];
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->rows[i].code == code) {
            return t->rows[i].name;
        }
    }
    return NULL;
}

int tly_isa_code_of(tly_isa_names table, const char *name, size_t len, uint32_t *out_code) {
    const struct name_table *t = &name_tables[table];
    for (uint32_t i = 0; i < t->count; i++) {
        if (tly_text_equal(name, len, t->rows[i].name)) {
            *out_code = t->rows[i].code;
            return 1;
        }
    }
    return 0;
}

const char *tly_isa_register_name(uint32_t index) {
    return index < COUNT(tly_isa_registers) ? tly_isa_registers[index] : NULL;
}

uint32_t tly_isa_register_code(char first, char second) {
    uint32_t a = (unsigned char)tly_text_lower(first), b = (unsigned char)tly_text_lower(second);
    uint32_t code = tly_isa_register_places[(a * TLY_ISA_REGISTER_FACTOR + b) % 128];
    const char *name = tly_isa_registers[code % 24];
    return code < 24 && (unsigned char)name[0] == a && (unsigned char)name[1] == b ? code : 24;
}

uint32_t tly_isa_dtype_bits(uint32_t code) {
    return code < 32 ? tly_isa_dtype_bits_of[code] : 0;
}

const tly_isa_identity *tly_isa_identity_of(tly_isa_release release) {
    return (uint32_t)release < COUNT(tly_isa_identities) ? &tly_isa_identities[release] : NULL;
}

const char *tly_isa_release_name(tly_isa_release release) {
    const tly_isa_identity *identity = tly_isa_identity_of(release);
    return identity != NULL ? identity->release : NULL;
}

uint32_t tly_isa_num_tileops(void) {
    return COUNT(tly_isa_tileops);
}

const tly_isa_tileop *tly_isa_tileop_at(uint32_t index) {
    return index < COUNT(tly_isa_tileops) ? &tly_isa_tileops[index] : NULL;
}

const tly_isa_tileop *tly_isa_tileop_find(uint32_t mode, uint32_t function) {
    uint8_t row = mode < 4 && function < 32 ? tly_isa_tepl[mode * 32 + function] : 0;
    return row != 0 ? &tly_isa_tileops[row - 1] : NULL;
}

tly_status tly_isa_form_info(uint32_t number, tly_isa_form *out_form) {
    const tly_isa_form_row *form = tly_isa_form_at(number);
    if (form == NULL || out_form == NULL || out_form->size != sizeof *out_form) {
        return TLY_INVALID_ARGUMENT;
    }
    memset(out_form, 0, sizeof *out_form);
    out_form->size = sizeof *out_form;
    out_form->mnemonic = tly_isa_mnemonics[form->mnemonic];
    out_form->group = tly_isa_groups[form->group];
    out_form->handler = tly_isa_handlers[form->handler];
    out_form->reference = form->reference;
    out_form->memory = form->memory;
    out_form->syntax = form->syntax_text;
    out_form->mask = form->mask;
    out_form->match = form->match;
    out_form->bits = form->bits;
    out_form->is_command = form->surface == TLY_ISA_COMMAND;
    out_form->releases = form->releases;
    out_form->num_fields = form->num_fields;
    for (uint32_t i = 0; i < form->num_fields; i++) {
        const tly_isa_field_row *field = tly_isa_field_at(form, i);
        const tly_isa_piece *last = tly_isa_piece_at(field, field->num_pieces - 1u);
        out_form->fields[i] = (tly_isa_field){tly_isa_field_names[field->name], field->width,
                                              last->value_lsb, field->is_signed, field->num_pieces};
    }
    return TLY_OK;
}
