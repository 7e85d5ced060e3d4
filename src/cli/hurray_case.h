/* SPDX-License-Identifier: Apache-2.0 */
/* tilery check hurray: one recorded case of the tensor format and its protocol. */
#ifndef TLY_CLI_HURRAY_CASE_H
#define TLY_CLI_HURRAY_CASE_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <tilery/transcode.h>

/* A case that runs. Integers of 19 digits and more are strings (tly_lines_quote). */
typedef struct tly_hurray_case {
    const tly_context *context;
    const json_t *recorded;
    const char *folder; /* of the file of cases: files that it names are below */
    const json_t *rows; /* bytes by identifier, of a table beside the cases; may be NULL */
    char why[400];      /* why it failed */
} tly_hurray_case;

/* Notes why a case failed; returns 0, so that a check can end with it. */
int tly_hurray_fail(tly_hurray_case *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Each runs a case: 1 if it comes out as recorded, 0 otherwise with `why`. */
int tly_hurray_descriptor(tly_hurray_case *c); /* hex, descriptor, addresses */
int tly_hurray_refusal(tly_hurray_case *c);    /* mode, hex, rule: to be refused */
int tly_hurray_verdict(tly_hurray_case *c);    /* hex, spec_verdict */
int tly_hurray_contents(tly_hurray_case *c);   /* hex: descriptor and data, to be refused */
int tly_hurray_stream(tly_hurray_case *c);     /* file, items, lookup */
int tly_hurray_file(tly_hurray_case *c);       /* file, index, kv, tensors */
int tly_hurray_quant(tly_hurray_case *c);      /* descriptor_hex, buffers, dequantized_f32 */
int tly_hurray_type(tly_hurray_case *c);       /* kind, type, ... */
int tly_hurray_message(tly_hurray_case *c);    /* hex, fields */
int tly_hurray_decision(tly_hurray_case *c);   /* kind, ... */
int tly_hurray_malformed(tly_hurray_case *c);  /* steps, expect, error_code */
int tly_hurray_session(tly_hurray_case *c);    /* steps, store */

/* ---- Tools ---- */

/* A descriptor as the recordings write it; `own_len`: its bytes, or 0 where they are not known. The
 * caller drops it. */
json_t *tly_hurray_describe(const tly_descriptor *d, uint32_t own_len);

/* Is all that `wanted` says so in `got`? What `got` says besides does not count, nor a null. If
 * not, `path` says where. */
int tly_hurray_agrees(const json_t *wanted, const json_t *got, char *path, size_t capacity);

/* Numbers and bytes as the recordings write them. */
json_t *tly_hurray_u64(uint64_t value);
json_t *tly_hurray_hex(const uint8_t *bytes, uint64_t len);

/* Bytes of hexadecimal text; the caller frees them. NULL: not hexadecimal, or no memory. */
uint8_t *tly_hurray_unhex(const char *hex, size_t *out_len);

/* An integer, also one that is a string; 0 where there is none. */
uint64_t tly_hurray_number(const json_t *value);
const char *tly_hurray_text(const json_t *object, const char *key);

/* Bytes of the file that the case names; the caller frees them. */
uint8_t *tly_hurray_read_file(tly_hurray_case *c, const char *name, size_t *out_len);

/* Does a container, a stream or a descriptor with data, keep every rule? "" or the rule that was
 * broken; `out_error` says more. `mode` is "desc", "file", "stream" or "stream-x". */
const char *tly_hurray_judge(const tly_context *context, const char *mode, const uint8_t *bytes,
                             size_t len, tly_error *out_error);

#endif
