/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_bind.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "cli/bring.h"
#include "cli/options_table.h"
#include "cli/run_tiles.h"
#include "cli/text.h"
#include "host/dump.h"
#include "host/fill.h"
#include "pto/machine.h"

enum { WHERE_LEN = 256 };

static tly_status usage(tly_error *error, const char *expected, const char *text) {
    return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-bind",
                         "%s, not \"%.200s\"", expected, text);
}

/* "WHERE=rest". NULL without. */
static const char *cut_where(const char *text, char *out_where) {
    const char *equals = strchr(text, '=');
    size_t len = equals != NULL ? (size_t)(equals - text) : 0;
    if (len == 0 || len >= WHERE_LEN) {
        return NULL;
    }
    memcpy(out_where, text, len);
    out_where[len] = '\0';
    return equals + 1;
}

static tly_status check_room(const tly_pto_machine *m, const char *where, uint64_t address,
                             uint64_t size, uint64_t len, tly_error *error) {
    if (address > m->memory.size || len > m->memory.size - address) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "bind-memory",
                             "%" PRIu64 " bytes at %s (0x%" PRIx64 ") do not lie in memory", len,
                             where, address);
    }
    if (size != 0 && len > size) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "bind-room",
                             "%s has room for %" PRIu64 " bytes, and the tensor has %" PRIu64,
                             where, size, len);
    }
    return TLY_OK;
}

static tly_status bind_tensor(const tly_bindings *b, const char *text, const tly_context *context,
                              tly_pto_machine *m, const tly_loaded *loaded, tly_error *error) {
    char where[WHERE_LEN];
    tly_bring_from from;
    tly_brought brought;
    uint64_t address = 0, size = 0;
    const char *rest = cut_where(text, where);
    if (rest == NULL) {
        return usage(error, "--tensor takes SYMBOL=ADDRESS:KEY[:LAYOUT]", text);
    }
    tly_status status = tly_loaded_address(loaded, where, &address, &size, error);
    if (status == TLY_OK) {
        status = tly_bring_parse(b->from, rest, &from, error);
    }
    from.stored_nk = b->stored_nk;
    if (status == TLY_OK) {
        status = tly_bring(context, &from, "row-major", &brought, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    status = check_room(m, where, address, size, brought.len, error);
    if (status == TLY_OK) {
        status = tly_pto_memory_write(m, address, brought.bytes, brought.len, error);
    }
    tly_brought_cleanup(&brought);
    return status;
}

/* "u#1", or several tiles as "u#1,u#2". Returns how many there are, 0 for what are no tiles or
 * names one twice. */
static uint32_t read_tiles(const char *where, uint32_t *out_tiles) {
    char text[WHERE_LEN], *rest = text;
    uint64_t seen = 0;
    uint32_t num = 0;
    snprintf(text, sizeof text, "%s", where);
    while (rest != NULL) {
        char *one = strsep(&rest, ",");
        if (!tly_run_tile_parse(one, &out_tiles[num]) || (seen >> out_tiles[num] & 1) != 0) {
            return 0;
        }
        seen |= UINT64_C(1) << out_tiles[num++];
    }
    return num;
}

static tly_status bind_tile(tly_bindings *b, const char *text, const tly_context *context,
                            tly_pto_machine *m, tly_error *error) {
    char where[WHERE_LEN];
    tly_bring_from from;
    tly_brought brought;
    uint32_t tiles[TLY_PTO_NUM_TILES], num = 0;
    const char *rest = cut_where(text, where);
    if (rest != NULL) {
        num = read_tiles(where, tiles);
    }
    if (num == 0) {
        return usage(error,
                     "--tile takes TILE=ADDRESS:KEY[:LAYOUT] with t#1 to n#16 as TILE, or several "
                     "as t#1,t#2",
                     text);
    }
    tly_status status = tly_bring_parse(b->from, rest, &from, error);
    from.stored_nk = b->stored_nk;
    if (status == TLY_OK) {
        status = tly_bring(context, &from, "cube_n8", &brought, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    status = tly_host_fill_tiles(m, tiles, num, brought.descriptor, brought.bytes, error);
    if (status != TLY_OK && num == 1 && error != NULL && strcmp(error->rule, "tile-parts") == 0) {
        const tly_error inner = *error;
        status = tly_base_fail(error, status, TLY_NO_OFFSET, inner.rule,
                               "%s: name several, as t#1,t#2", inner.message);
    }
    for (uint32_t i = 0; i < num; i++) {
        b->filled_tiles |= UINT64_C(1) << tiles[i];
    }
    tly_brought_cleanup(&brought);
    return status;
}

/* ------------------------------------------------------------------------------------------ */

/* The writer of a file, opened when it is named first. */
static tly_status writer_of(tly_bindings *b, const tly_context *context, const char *path,
                            tly_store_writer **out_writer, tly_error *error) {
    for (uint32_t i = 0; i < b->num_files; i++) {
        if (strcmp(b->files[i].path, path) == 0) {
            *out_writer = b->files[i].writer;
            return TLY_OK;
        }
    }
    tly_status status =
        tly_store_writer_new(context, path, NULL, &b->files[b->num_files].writer, error);
    if (status == TLY_OK) {
        snprintf(b->files[b->num_files].path, sizeof b->files[0].path, "%s", path);
        *out_writer = b->files[b->num_files++].writer;
    }
    return status;
}

/* "KEY" or "KEY:TYPE:SHAPE"; the key may have colons. */
static tly_status read_key(tly_bind_out *out, const char *text, tly_dtype *out_dtype,
                           uint32_t *out_rank, tly_error *error) {
    size_t len = strlen(text);
    const char *shape = strrchr(text, ':');
    *out_rank =
        shape != NULL ? tly_text_extents(shape + 1, 0, UINT64_MAX, out->shape, TLY_MAX_RANK) : 0;
    *out_dtype = 0;
    if (*out_rank != 0) {
        const char *type = shape - 1;
        char name[32];
        while (type > text && *type != ':') {
            type--;
        }
        if (*type == ':' && (size_t)(shape - type) <= sizeof name) {
            snprintf(name, sizeof name, "%.*s", (int)(shape - type - 1), type + 1);
            *out_dtype = tly_dtype_by_name(name);
        }
        if (*out_dtype == 0) {
            return usage(error, "a shape has an element type in front of it, KEY:TYPE:SHAPE", text);
        }
        len = (size_t)(type - text);
    }
    if (len == 0 || len >= sizeof out->key) {
        return usage(error, "an output has a key of 1 to 511 bytes", text);
    }
    memcpy(out->key, text, len);
    return TLY_OK;
}

/* "FILE:KEY..."; what comes behind the file. NULL without. */
static const char *cut_file(const char *text, char *out_path, size_t capacity) {
    const char *colon = strchr(text, ':');
    size_t len = colon != NULL ? (size_t)(colon - text) : 0;
    if (len == 0 || len >= capacity) {
        return NULL;
    }
    memcpy(out_path, text, len);
    out_path[len] = '\0';
    return colon + 1;
}

static tly_status bind_out(tly_bindings *b, const char *text, int is_tile,
                           const tly_context *context, const tly_pto_machine *m,
                           const tly_loaded *loaded, tly_error *error) {
    tly_bind_out *out = &b->outs[b->num_outs];
    char where[WHERE_LEN], path[sizeof b->files[0].path];
    uint64_t size = 0;
    tly_dtype dtype = 0;
    uint32_t rank = 0;
    tly_status status = TLY_OK;
    const char *rest = cut_where(text, where);
    const char *key = rest != NULL ? cut_file(rest, path, sizeof path) : NULL;
    out->option = text;
    out->tile = TLY_BIND_MEMORY;
    if (key == NULL || (is_tile && !tly_run_tile_parse(where, &out->tile))) {
        return usage(error,
                     is_tile ? "--out-tile takes TILE=FILE:KEY with t#1 to n#16 as TILE"
                             : "--out takes SYMBOL=FILE:KEY[:TYPE:SHAPE]",
                     text);
    }
    if (is_tile) {
        snprintf(out->key, sizeof out->key, "%.511s", key);
    } else {
        status = tly_loaded_address(loaded, where, &out->address, &size, error);
        if (status == TLY_OK) {
            status = read_key(out, key, &dtype, &rank, error);
        }
        if (status == TLY_OK && dtype == 0) {
            if (size == 0) {
                return usage(error, "a place without a size needs SYMBOL=FILE:KEY:TYPE:SHAPE",
                             text);
            }
            dtype = TLY_U8;
            rank = 1;
            out->shape[0] = size;
        }
        if (status == TLY_OK) {
            status = tly_descriptor_init_row_major(&out->descriptor, &out->buffer, dtype, rank,
                                                   out->shape);
            if (status != TLY_OK) {
                return usage(error, "the output's type and shape make no tensor", text);
            }
            status = check_room(m, where, out->address, size, out->buffer.byte_size, error);
        }
    }
    if (status == TLY_OK) {
        status = writer_of(b, context, path, &out->writer, error);
    }
    b->num_outs += status == TLY_OK;
    return status;
}

tly_status tly_bind_inputs(tly_bindings *b, const tly_cli *cli, const tly_context *context,
                           tly_pto_machine *m, const tly_loaded *loaded, tly_error *error) {
    tly_status status = TLY_OK;
    b->from = tly_cli_value(cli, TLY_CLI_RUN_FROM, NULL);
    b->stored_nk = strcmp(tly_cli_value(cli, TLY_CLI_RUN_STORED, "kn"), "nk") == 0;
    for (uint32_t i = 0; i < cli->num_repeats && status == TLY_OK; i++) {
        uint32_t option = cli->repeats[i].option;
        if (option == TLY_CLI_RUN_OUT || option == TLY_CLI_RUN_OUT_TILE) {
            status = bind_out(b, cli->repeats[i].value, option == TLY_CLI_RUN_OUT_TILE, context, m,
                              loaded, error);
        }
    }
    for (uint32_t i = 0; i < cli->num_repeats && status == TLY_OK; i++) {
        uint32_t option = cli->repeats[i].option;
        if (option == TLY_CLI_RUN_TENSOR) {
            status = bind_tensor(b, cli->repeats[i].value, context, m, loaded, error);
        } else if (option == TLY_CLI_RUN_TILE) {
            status = bind_tile(b, cli->repeats[i].value, context, m, error);
        }
    }
    return status;
}

tly_status tly_bind_outputs(const tly_bindings *b, const tly_pto_machine *m, tly_error *error) {
    tly_status status = TLY_OK;
    for (uint32_t i = 0; i < b->num_outs && status == TLY_OK; i++) {
        const tly_bind_out *out = &b->outs[i];
        const void *bytes = m->memory.bytes + out->address;
        status = out->tile != TLY_BIND_MEMORY
                     ? tly_host_add_tile(m, out->tile, out->writer, out->key, error)
                     : tly_store_writer_add(out->writer, out->key, strlen(out->key),
                                            &out->descriptor, &bytes, error);
    }
    for (uint32_t i = 0; i < b->num_files && status == TLY_OK; i++) {
        status = tly_store_writer_commit(b->files[i].writer, error);
    }
    return status;
}

void tly_bind_give_back(const tly_bindings *b, tly_pto_machine *m) {
    const uint64_t kept = m->element == 0 ? b->filled_tiles : 0;
    for (uint32_t tile = 0; tile < TLY_PTO_NUM_TILES; tile++) {
        if ((kept >> tile & 1) == 0 && m->core.tiles[tile].allocated) {
            tly_pto_tile_release(m, tile, NULL);
        }
    }
}

void tly_bindings_cleanup(tly_bindings *b) {
    for (uint32_t i = 0; i < b->num_files; i++) {
        tly_store_writer_free(b->files[i].writer);
    }
    b->num_files = 0;
}
