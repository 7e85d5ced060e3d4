/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asm/object.h"
#include "base/error.h"

#define MAX_FILE_LEN ((size_t)1 << 30)

tly_status tly_file_read(const char *path, tly_file *out_file, tly_error *error) {
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    size_t capacity = 1 << 16;
    tly_status status = TLY_OK;
    *out_file = (tly_file){NULL, 0};
    if (fd < 0) {
        return tly_base_fail_errno(error, errno, "cannot open %.300s", path);
    }
    out_file->bytes = malloc(capacity + 1);
    while (status == TLY_OK) {
        ssize_t got;
        if (out_file->bytes == NULL) {
            status = tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
            break;
        }
        got = read(fd, out_file->bytes + out_file->len, capacity - out_file->len);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            status = tly_base_fail_errno(error, errno, "cannot read %.300s", path);
        } else if (got == 0) {
            break;
        } else {
            out_file->len += (size_t)got;
            if (out_file->len > MAX_FILE_LEN) {
                status = tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "file-size",
                                       "%.300s is larger than 1 GiB", path);
            } else if (out_file->len == capacity) {
                uint8_t *grown = realloc(out_file->bytes, capacity * 2 + 1);
                if (grown == NULL) {
                    free(out_file->bytes);
                }
                out_file->bytes = grown;
                capacity *= 2;
            }
        }
    }
    if (fd != STDIN_FILENO) {
        close(fd);
    }
    if (status != TLY_OK) {
        tly_file_free(out_file);
        return status;
    }
    out_file->bytes[out_file->len] = '\0';
    return TLY_OK;
}

void tly_file_free(tly_file *file) {
    free(file->bytes);
    *file = (tly_file){NULL, 0};
}

static int digit(uint8_t ch) {
    if (ch >= '0' && ch <= '9') {
        return ch - '0';
    }
    ch |= 32;
    return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

tly_status tly_hex_decode(uint8_t *text, size_t len, uint64_t *out_address, size_t *out_len,
                          tly_error *error) {
    size_t at = 0, used = 0;
    while (at < len) {
        uint8_t ch = text[at];
        if (ch == '#') {
            while (at < len && text[at] != '\n') {
                at++;
            }
        } else if (ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n') {
            at++;
        } else if (ch == '@') {
            uint64_t address = 0;
            size_t start = ++at;
            while (at < len && digit(text[at]) >= 0 && at - start < 16) {
                address = address << 4 | (uint64_t)digit(text[at++]);
            }
            if (at == start || (used != 0 && address != *out_address + used)) {
                return tly_base_fail(error, TLY_MALFORMED, start, "hex-address",
                                     "an address must be hexadecimal and go on where the bytes "
                                     "before it end");
            }
            if (used == 0) {
                *out_address = address;
            }
        } else if (at + 1 < len && digit(ch) >= 0 && digit(text[at + 1]) >= 0) {
            uint8_t byte = (uint8_t)(digit(ch) << 4 | digit(text[at + 1]));
            text[used++] = byte; /* never passes what is still to be read */
            at += 2;
        } else {
            return tly_base_fail(error, TLY_MALFORMED, at, "hex-digit",
                                 "expected two hexadecimal digits for a byte");
        }
    }
    *out_len = used;
    return TLY_OK;
}

tly_status tly_hex_encode(const uint8_t *bytes, size_t len, uint64_t address,
                          tly_status (*put)(void *user, const char *line, size_t line_len),
                          void *user) {
    char line[64];
    int line_len = snprintf(line, sizeof line, "@%llx\n", (unsigned long long)address);
    tly_status status = put(user, line, (size_t)line_len);
    for (size_t at = 0; at < len && status == TLY_OK; at += 16) {
        line_len = 0;
        for (size_t i = at; i < len && i < at + 16; i++) {
            line_len += snprintf(line + line_len, sizeof line - (size_t)line_len, "%s%02x",
                                 i == at ? "" : " ", bytes[i]);
        }
        line[line_len++] = '\n';
        status = put(user, line, (size_t)line_len);
    }
    return status;
}

/* Hex text begins with digits, blanks, comments and addresses only. */
static int looks_like_hex(const tly_file *file) {
    size_t digits = 0;
    for (size_t i = 0; i < file->len && i < 4096; i++) {
        uint8_t ch = file->bytes[i];
        if (ch == '#') {
            while (i < file->len && file->bytes[i] != '\n') {
                i++;
            }
        } else if (digit(ch) >= 0) {
            digits++;
        } else if (strchr(" \t\r\n@", ch) == NULL || ch == '\0') {
            return 0;
        }
    }
    return digits != 0;
}

tly_status tly_program_read(const tly_context *context, const char *path, const char *format,
                            uint64_t address, tly_program *out_program, tly_error *error) {
    tly_status status;
    *out_program = (tly_program){.address = address};
    status = tly_file_read(path, &out_program->file, error);
    if (status != TLY_OK) {
        return status;
    }
    if (strcmp(format, "auto") == 0) {
        format = out_program->file.len >= 4 && memcmp(out_program->file.bytes, "\177ELF", 4) == 0
                     ? "elf"
                 : looks_like_hex(&out_program->file) ? "hex"
                                                      : "flat";
    }
    if (strcmp(format, "elf") == 0) {
        status = tly_asm_read_elf(context, out_program->file.bytes, out_program->file.len,
                                  &out_program->object, error);
    } else {
        out_program->bytes = out_program->file.bytes;
        out_program->len = out_program->file.len;
        if (strcmp(format, "hex") == 0) {
            status = tly_hex_decode(out_program->bytes, out_program->len, &out_program->address,
                                    &out_program->len, error);
        }
    }
    if (status != TLY_OK) {
        tly_program_cleanup(out_program);
    }
    return status;
}

void tly_program_cleanup(tly_program *program) {
    tly_asm_object_free(program->object);
    tly_file_free(&program->file);
    *program = (tly_program){0};
}

tly_status tly_cli_address(const tly_cli *cli, uint32_t option, const char *name,
                           uint64_t otherwise, uint64_t *out_address, tly_error *error) {
    const char *text = tly_cli_value(cli, option, NULL);
    char *end;
    *out_address = otherwise;
    if (text == NULL) {
        return TLY_OK;
    }
    errno = 0;
    *out_address = strtoull(text, &end, 0);
    if (errno != 0 || *end != '\0' || text[0] < '0' || text[0] > '9') {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-value",
                             "--%s takes an address (decimal or 0x...), not \"%.100s\"", name,
                             text);
    }
    return TLY_OK;
}

int32_t tly_cli_release(const tly_cli *cli, uint32_t option, int32_t otherwise) {
    const char *text = tly_cli_value(cli, option, NULL);
    for (int32_t r = 0; text != NULL && r < TLY_ISA_NUM_RELEASES; r++) {
        if (strcmp(text, tly_isa_release_name((tly_isa_release)r)) == 0) {
            return r;
        }
    }
    return otherwise;
}

static uint64_t address_of(const tly_asm_object *object, uint32_t number) {
    const tly_obj_symbol *s = tly_object_symbol(object, number);
    return s->value +
           (s->section == TLY_IN_ABSOLUTE ? 0 : tly_object_section(object, s->section)->address);
}

static int by_address(const void *a, const void *b, void *user) {
    uint64_t x = address_of(user, *(const uint32_t *)a), y = address_of(user, *(const uint32_t *)b);
    return x < y ? -1 : x > y;
}

tly_status tly_symbols_init(tly_symbols *symbols, const tly_asm_object *object, tly_error *error) {
    *symbols = (tly_symbols){.object = object};
    if (object == NULL || object->num_symbols == 0) {
        return TLY_OK;
    }
    symbols->sorted = malloc(object->num_symbols * sizeof *symbols->sorted);
    if (symbols->sorted == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    for (uint32_t i = 1; i <= object->num_symbols; i++) {
        const tly_obj_symbol *s = tly_object_symbol(object, i);
        if (s->name_len != 0 && s->section != TLY_IN_NOTHING && s->section != TLY_IN_ABSOLUTE) {
            symbols->sorted[symbols->count++] = i;
        }
    }
    qsort_r(symbols->sorted, symbols->count, sizeof *symbols->sorted, by_address,
            (void *)(uintptr_t)object);
    return TLY_OK;
}

void tly_symbols_cleanup(tly_symbols *symbols) {
    free(symbols->sorted);
}

const char *tly_symbols_find(void *user, uint64_t address, uint64_t *out_offset) {
    const tly_symbols *symbols = user;
    uint32_t low = 0, high = symbols->count;
    while (low < high) { /* the last symbol at or before the address */
        uint32_t middle = low + (high - low) / 2;
        if (address_of(symbols->object, symbols->sorted[middle]) <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return NULL;
    }
    *out_offset = address - address_of(symbols->object, symbols->sorted[low - 1]);
    return tly_object_symbol(symbols->object, symbols->sorted[low - 1])->name;
}
