/* SPDX-License-Identifier: Apache-2.0 */
/* Texts through the assembler; what it makes goes through the disassembler and comes back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/asm.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct text {
    char *bytes;
    size_t len, capacity;
} text;

static tly_status collect(void *user, const tly_asm_line *line) {
    text *t = user;
    size_t len = strlen(line->text);
    if (t->len + len + 1 > t->capacity) {
        return TLY_LIMIT;
    }
    memcpy(t->bytes + t->len, line->text, len);
    t->bytes[t->len + len] = '\n';
    t->len += len + 1;
    return TLY_OK;
}

/* Bytes of any kind disassemble to text that assembles back to them. */
static void around(const tly_context *context, const uint8_t *data, size_t size) {
    static char lines[1 << 16];
    text t = {lines, 0, sizeof lines};
    uint8_t back[4096];
    size_t len;
    tly_error error;
    if (size > sizeof back / 4 || tly_asm_disassemble(data, size, 0x10000, TLY_ISA_0_58_3, NULL,
                                                      collect, &t, &error) != TLY_OK) {
        return;
    }
    if (tly_asm_assemble_flat(context, lines, t.len, 0x10000, TLY_ISA_0_58_3, back, sizeof back,
                              &len, &error) != TLY_OK ||
        len != size || memcmp(back, data, size) != 0) {
        fprintf(stderr, "%.*s\n%s\n", (int)t.len, lines, error.message);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tly_context *context;
    tly_asm_object *object;
    tly_error error;
    if (size > 1 << 16 || tly_context_new(NULL, &context, NULL) != TLY_OK) {
        return 0;
    }
    if (tly_asm_assemble(context, "fuzz", (const char *)data, size, NULL, &object, &error) ==
        TLY_OK) {
        uint8_t *bytes;
        size_t len;
        tly_asm_object *back;
        if (tly_asm_write_elf(object, &bytes, &len, &error) == TLY_OK) {
            if (tly_asm_read_elf(context, bytes, len, &back, &error) != TLY_OK) {
                fprintf(stderr, "%s\n", error.message);
                abort(); /* what was written reads back */
            }
            tly_asm_object_free(back);
            tly_asm_bytes_free(context, bytes, len);
        }
        tly_asm_object_free(object);
    }
    around(context, data, size);
    tly_context_free(context);
    return 0;
}
