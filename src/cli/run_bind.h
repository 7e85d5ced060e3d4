/* SPDX-License-Identifier: Apache-2.0 */
/* What ties a program to tensors: --tensor and --tile before the run, --out and --out-tile after
 * it. */
#ifndef TLY_CLI_RUN_BIND_H
#define TLY_CLI_RUN_BIND_H

#include <tilery/store.h>

#include "cli/cli.h"
#include "cli/run_load.h"

enum { TLY_BIND_MAX = TLY_CLI_MAX_REPEATS };

/* One result that will be written. */
typedef struct tly_bind_out {
    const char *option; /* as it was given, for messages */
    char key[512];
    tly_store_writer *writer; /* shared by all that go to the same file */
    uint32_t tile;
    uint64_t address; /* when `tile` is TLY_BIND_MEMORY */
    tly_descriptor descriptor;
    tly_buffer_info buffer;
    uint64_t shape[TLY_MAX_RANK];
} tly_bind_out;

enum { TLY_BIND_MEMORY = UINT32_MAX };

typedef struct tly_bindings {
    tly_bind_out outs[TLY_BIND_MAX];
    uint32_t num_outs;
    struct {
        char path[1024];
        tly_store_writer *writer;
    } files[TLY_BIND_MAX];
    uint32_t num_files;
    uint64_t filled_tiles; /* bit i: local tile i came by --tile */
    const char *from;      /* place of all inputs; NULL: each says its own */
    int stored_nk;         /* what becomes a panel is stored N x K */
} tly_bindings;

/* Brings every tensor that --tensor and --tile name into memory and tiles, in the order of the
 * command line, and opens the containers that --out and --out-tile name: a place that cannot be
 * written is told before the run. `bindings` starts zeroed. Errors: INVALID_ARGUMENT (usage-bind:
 * what cannot be read; the tensor is too large for its place), NOT_FOUND, those of fetching,
 * reading and transcoding. */
tly_status tly_bind_inputs(tly_bindings *bindings, const tly_cli *cli, const tly_context *context,
                           tly_pto_machine *machine, const tly_loaded *loaded, tly_error *error);

/* Gives back every local tile of one element's machine but those of --tile, which element 0 has. */
void tly_bind_give_back(const tly_bindings *bindings, tly_pto_machine *machine);

/* Writes the results; containers appear whole or not at all. Errors: those of
 * tly_store_writer_*, NOT_FOUND (a tile that is not allocated). */
tly_status tly_bind_outputs(const tly_bindings *bindings, const tly_pto_machine *machine,
                            tly_error *error);
void tly_bindings_cleanup(tly_bindings *bindings);

#endif
