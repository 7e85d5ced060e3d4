/* SPDX-License-Identifier: Apache-2.0 */
/* tilery asm and tilery ld: text and objects become objects and programs. */
#include <stdlib.h>
#include <string.h>

#include "asm/object.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "cli/handlers.h"
#include "cli/options_table.h"
#include "cli/output.h"
#include "cli/program.h"
#include "cli/text.h"

/* Listing: offset, bytes, line number, text. */
static void list(void *user, const char *section, uint64_t offset, const uint8_t *bytes,
                 size_t num_bytes, uint32_t line, const char *text, size_t text_len) {
    FILE *out = user;
    char safe[400];
    fprintf(out, "%-10.10s %06llx ", section, (unsigned long long)offset);
    for (size_t i = 0; i < 8; i++) {
        if (i < num_bytes) {
            fprintf(out, "%02x", bytes[i]);
        } else {
            fprintf(out, "  ");
        }
    }
    fprintf(out, "%s %5u  %s\n", num_bytes > 8 ? "+" : " ", line,
            tly_text_safe(safe, sizeof safe, text, text_len));
    for (size_t at = 8; at < num_bytes && at < 4096; at += 8) {
        fprintf(out, "%-10s %06llx ", "", (unsigned long long)(offset + at));
        for (size_t i = at; i < num_bytes && i < at + 8; i++) {
            fprintf(out, "%02x", bytes[i]);
        }
        fputc('\n', out);
    }
}

static tly_status put_line(void *user, const char *line, size_t line_len) {
    return tly_output_write(user, line, line_len, NULL);
}

/* Writes an object or a program in a format; all or nothing. */
static tly_status write_out(const tly_asm_object *object, const tly_context *context,
                            const char *path, const char *format, tly_error *error) {
    tly_output output;
    uint8_t *bytes = NULL;
    size_t len = 0;
    uint64_t address = 0;
    tly_status status = tly_output_init(&output, context, path, error);
    if (status != TLY_OK) {
        return status;
    }
    if (strcmp(format, "elf") == 0) {
        status = tly_asm_write_elf(object, &bytes, &len, error);
    } else {
        status = tly_asm_write_flat(object, UINT64_C(1) << 30, &bytes, &len, &address, error);
    }
    if (status == TLY_OK && strcmp(format, "hex") == 0) {
        status = tly_hex_encode(bytes, len, address, put_line, &output);
    } else if (status == TLY_OK) {
        status = tly_output_write(&output, bytes, len, error);
    }
    tly_asm_bytes_free(context, bytes, len);
    if (status == TLY_OK) {
        status = tly_output_commit(&output, error);
    }
    tly_output_cleanup(&output);
    return status;
}

static tly_status link_and_write(tly_asm_object *const *objects, size_t count,
                                 const tly_context *context, const tly_asm_link_options *options,
                                 const char *path, const char *format, tly_error *error) {
    tly_asm_object *program;
    tly_status status = tly_asm_link(context, objects, count, options, &program, error);
    if (status == TLY_OK) {
        status = write_out(program, context, path, format, error);
        tly_asm_object_free(program);
    }
    return status;
}

static tly_status need_output(const tly_cli *cli, uint32_t option, const char **out_path,
                              tly_error *error) {
    *out_path = tly_cli_value(cli, option, NULL);
    return *out_path != NULL
               ? TLY_OK
               : tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-missing",
                               "where to? -o FILE is needed (- is standard output)");
}

tly_status tly_cli_run_asm(tly_cli *cli, tly_error *error) {
    const tly_context *context;
    const char *path, *format = tly_cli_value(cli, TLY_CLI_ASM_FORMAT, "elf");
    const char *listing = tly_cli_value(cli, TLY_CLI_ASM_LISTING, NULL);
    int object_only = tly_cli_given(cli, TLY_CLI_ASM_OBJECT);
    uint32_t num_shown = 0;
    FILE *listing_out = NULL;
    tly_asm_object *object = NULL;
    tly_file file = {NULL, 0};
    tly_asm_options options = {
        .size = sizeof options,
        .release = tly_cli_release(cli, TLY_CLI_ASM_ISA, TLY_ISA_0_58_3),
        .warnings_as_errors = (uint32_t)tly_cli_given(cli, TLY_CLI_ASM_WERROR),
        .no_bundle_checks = (uint32_t)tly_cli_given(cli, TLY_CLI_ASM_NO_BUNDLE_CHECKS),
        .has_text_address = !object_only,
        .diagnostic = tly_cli_show_diagnostic,
        .diagnostic_user = &num_shown,
    };
    tly_asm_link_options link = {.size = sizeof link,
                                 .has_text_address = 1,
                                 .entry = tly_cli_value(cli, TLY_CLI_ASM_ENTRY, NULL)};
    tly_status status = tly_cli_context(cli, &context, error);
    if (status == TLY_OK) {
        status = need_output(cli, TLY_CLI_ASM_OUTPUT, &path, error);
    }
    if (status == TLY_OK) {
        status = tly_cli_address(cli, TLY_CLI_ASM_ADDRESS, "address", 0x10000,
                                 &options.text_address, error);
    }
    if (status == TLY_OK && object_only && strcmp(format, "elf") != 0) {
        status = tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-conflict",
                               "an object (-c) is always ELF");
    }
    if (status == TLY_OK) {
        status = tly_file_read(cli->args[0], &file, error);
    }
    if (status == TLY_OK && listing != NULL) {
        listing_out = strcmp(listing, "-") == 0 ? cli->out : fopen(listing, "we");
        if (listing_out == NULL) {
            status =
                tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "cannot write %.200s", listing);
        }
        options.listing = list;
        options.listing_user = listing_out;
    }
    if (status == TLY_OK) {
        status = tly_asm_assemble(context, cli->args[0], (const char *)file.bytes, file.len,
                                  &options, &object, error);
        if (status == TLY_MALFORMED) {
            status = tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "asm-failed",
                                   "%.200s was not assembled: see above", cli->args[0]);
        }
    }
    link.text_address = options.text_address;
    if (status == TLY_OK && object_only) {
        status = write_out(object, context, path, "elf", error);
    } else if (status == TLY_OK) {
        status = link_and_write(&object, 1, context, &link, path, format, error);
    }
    if (listing_out != NULL && listing_out != cli->out && fclose(listing_out) != 0 &&
        status == TLY_OK) {
        status = tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "cannot write %.200s", listing);
    }
    tly_asm_object_free(object);
    tly_file_free(&file);
    return status;
}

tly_status tly_cli_run_ld(tly_cli *cli, tly_error *error) {
    const tly_context *context;
    const char *path;
    tly_asm_object **objects;
    uint32_t count = 0;
    tly_asm_link_options link = {
        .size = sizeof link,
        .has_text_address = 1,
        .entry = tly_cli_value(cli, TLY_CLI_LD_ENTRY, NULL),
        .ignore_identity = tly_cli_given(cli, TLY_CLI_LD_IGNORE_IDENTITY),
    };
    tly_status status = tly_cli_context(cli, &context, error);
    if (status == TLY_OK) {
        status = need_output(cli, TLY_CLI_LD_OUTPUT, &path, error);
    }
    if (status == TLY_OK) {
        status =
            tly_cli_address(cli, TLY_CLI_LD_ADDRESS, "address", 0x10000, &link.text_address, error);
    }
    objects = calloc(cli->num_args, sizeof *objects);
    if (status == TLY_OK && objects == NULL) {
        status = tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    for (; status == TLY_OK && count < cli->num_args; count++) {
        tly_file file;
        tly_error inner;
        status = tly_file_read(cli->args[count], &file, error);
        if (status != TLY_OK) {
            break;
        }
        status = tly_asm_read_elf(context, file.bytes, file.len, &objects[count], &inner);
        tly_file_free(&file);
        if (status != TLY_OK) {
            status = tly_base_fail(error, status, inner.offset, inner.rule, "%.150s: %.280s",
                                   cli->args[count], inner.message);
            break;
        }
    }
    if (status == TLY_OK) {
        status = link_and_write(objects, count, context, &link, path,
                                tly_cli_value(cli, TLY_CLI_LD_FORMAT, "elf"), error);
    }
    for (uint32_t i = 0; objects != NULL && i < count; i++) {
        tly_asm_object_free(objects[i]);
    }
    free(objects);
    return status;
}
