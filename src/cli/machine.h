/* SPDX-License-Identifier: Apache-2.0 */
/* The machine that figures were taken on. */
#ifndef TLY_CLI_MACHINE_H
#define TLY_CLI_MACHINE_H

#include <stdint.h>

#include <tilery/context.h>

#include "cli/json.h"

/* Plain memory. */
typedef struct tly_machine {
    char cpu[96];   /* "AMD EPYC 7763" */
    uint32_t cores; /* processors that this process may use */
    uint32_t reserved;
    char kernel[80];      /* "6.1.0-18-amd64" */
    const char *compiler; /* "gcc 12.2.0" */
    const char *simd;     /* level of the context */
    uint64_t memory;      /* bytes of physical memory */
} tly_machine;

void tly_machine_init(tly_machine *machine, const tly_context *context);

/* {"cpu", "cores", "kernel", "compiler", "simd", "memory", "version"} */
void tly_machine_json(const tly_machine *machine, tly_json *json, const char *key);

#endif
