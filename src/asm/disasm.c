/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include <tilery/asm.h>

#include "asm/bundle.h"
#include "asm/operand.h"
#include "base/bytes.h"
#include "base/error.h"
#include "isa/table.h"

/* The roles of the scalars of an operation, in the order in which B.IOR gives them. */
static void explain_scalars(const tly_isa_tileop *op, const tly_isa_insn *insn, char *out,
                            size_t capacity) {
    size_t used = 0;
    uint32_t register_index = 0;
    out[0] = '\0';
    for (const char *at = op->operands; at != NULL && register_index < 3;) {
        const char *end = strchr(at, ',');
        const char *equals = strchr(at, '=');
        size_t role_len;
        if (strncmp(at, "address", 7) == 0 || strncmp(at, "scalar", 6) == 0) {
            static const char *const fields[] = {"RegSrc0", "RegSrc1", "RegSrc2"};
            uint32_t code =
                (uint32_t)tly_asm_field(insn, tly_isa_form_at(insn->form), fields[register_index]);
            role_len = (size_t)((end != NULL ? end : at + strlen(at)) - (equals + 1));
            used +=
                (size_t)snprintf(out + used, capacity - used, "%s%.*s = %s", used != 0 ? ", " : "",
                                 (int)role_len, equals + 1, tly_isa_register_name(code));
            if (used >= capacity) {
                return;
            }
            register_index++;
        }
        at = end != NULL ? end + 2 : NULL;
    }
}

static void ignore(void *user, const char *rule, const char *message) {
    (void)user, (void)rule, (void)message;
}

/* Bytes that are no instruction, as directives. */
static void data_text(const uint8_t *bytes, uint32_t len, char *out, size_t capacity) {
    size_t used = (size_t)snprintf(out, capacity, len == 1 ? ".byte 0x%02x" : ".half 0x%04x",
                                   len == 1 ? bytes[0] : tly_base_load_u16(bytes));
    for (uint32_t i = 2; i + 1 < len; i += 2) {
        used +=
            (size_t)snprintf(out + used, capacity - used, ", 0x%04x", tly_base_load_u16(bytes + i));
    }
}

tly_status tly_asm_disassemble(const void *bytes, size_t len, uint64_t address,
                               tly_isa_release release, const tly_asm_symbols *symbols,
                               tly_asm_line_fn line, void *user, tly_error *error) {
    const uint8_t *at = bytes;
    tly_bundle bundle = {0};
    size_t left = len;

    if ((uint32_t)release >= TLY_ISA_NUM_RELEASES || (bytes == NULL && len != 0) || line == NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "asm-argument",
                             "no such release, or nothing to read");
    }
    while (left != 0) {
        char text[TLY_ASM_MAX_TEXT + 200], comment[sizeof((tly_error *)0)->message];
        tly_isa_insn insn;
        tly_error refused;
        tly_asm_line out = {.address = address, .text = text, .comment = comment, .rule = ""};
        tly_status status;
        comment[0] = '\0'; /* neither it nor the error is cleared: this runs for every word */
        status = tly_isa_decode_bytes(at, left, release, &insn, &refused);
        if (status == TLY_OK) {
            tly_asm_format(&insn, address, symbols, text, sizeof text, NULL);
            if (insn.form == TLY_FORM_B_IOR && bundle.open && bundle.op != NULL) {
                explain_scalars(bundle.op, &insn, comment, sizeof comment);
            }
            tly_bundle_step(&bundle, &insn, 0, ignore, NULL);
            out.insn = &insn;
            out.word = insn.word;
            out.len = insn.len;
        } else {
            out.len = left == 1 ? 1
                                : tly_isa_length(tly_base_load_u16(at),
                                                 left >= 4 ? tly_base_load_u16(at + 2) : 0);
            if (out.len > left) {
                out.len = left == 1 ? 1 : 2;
            }
            for (uint32_t i = 0; i < out.len; i++) {
                out.word |= (uint64_t)at[i] << 8 * i;
            }
            data_text(at, out.len, text, sizeof text);
            snprintf(comment, sizeof comment, "%s", refused.message);
            out.rule = refused.rule;
        }
        status = line(user, &out);
        if (status != TLY_OK) {
            return status;
        }
        at += out.len;
        left -= out.len;
        address += out.len;
    }
    return TLY_OK;
}

void tly_asm_diagnose(const void *bytes, size_t len, uint64_t address,
                      tly_asm_diagnosis *diagnosis) {
    const uint8_t *at = bytes;
    for (size_t offset = 0; offset < len;) {
        uint32_t word_len =
            len - offset < 2
                ? 1
                : tly_isa_length(tly_base_load_u16(at + offset),
                                 len - offset >= 4 ? tly_base_load_u16(at + offset + 2) : 0);
        diagnosis->num_words++;
        for (uint32_t r = 0; r < TLY_ISA_NUM_RELEASES; r++) {
            tly_isa_insn insn;
            tly_error refusal;
            if ((diagnosis->legal >> r & 1) != 0 &&
                tly_isa_decode_bytes(at + offset, len - offset, (tly_isa_release)r, &insn,
                                     &refusal) != TLY_OK) {
                diagnosis->legal &= ~(1u << r);
                diagnosis->refused[r].address = address + offset;
                diagnosis->refused[r].len =
                    word_len <= len - offset ? word_len : (uint32_t)(len - offset);
                for (uint32_t i = 0; i < diagnosis->refused[r].len; i++) {
                    diagnosis->refused[r].word |= (uint64_t)at[offset + i] << 8 * i;
                }
                diagnosis->refused[r].error = refusal;
            }
        }
        offset += word_len < len - offset ? word_len : len - offset;
    }
}
