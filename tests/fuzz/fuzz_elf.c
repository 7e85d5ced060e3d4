/* SPDX-License-Identifier: Apache-2.0 */
/* Files through the ELF reader, the linker, the writer and the flat image. */
#include <stdlib.h>

#include <tilery/asm.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tly_context *context;
    tly_asm_object *object, *program;
    tly_asm_link_options options = {.size = sizeof options, .ignore_identity = 1};
    tly_error error;
    uint8_t *bytes;
    size_t len;
    uint64_t address;
    if (tly_context_new(NULL, &context, NULL) != TLY_OK) {
        return 0;
    }
    if (tly_asm_read_elf(context, data, size, &object, &error) == TLY_OK) {
        if (tly_asm_write_elf(object, &bytes, &len, &error) == TLY_OK) {
            tly_asm_bytes_free(context, bytes, len);
        }
        if (tly_asm_link(context, &object, 1, &options, &program, &error) == TLY_OK) {
            if (tly_asm_write_flat(program, 1 << 20, &bytes, &len, &address, &error) == TLY_OK) {
                tly_asm_bytes_free(context, bytes, len);
            }
            tly_asm_object_free(program);
        }
        tly_asm_object_free(object);
    }
    tly_context_free(context);
    return 0;
}
