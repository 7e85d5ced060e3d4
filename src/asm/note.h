/* SPDX-License-Identifier: Apache-2.0 */
/* The identity note of an object: compact JSON with the keys encoding_abi,
 * encoding_projection_sha256 and release, in this order. */
#ifndef TLY_ASM_NOTE_H
#define TLY_ASM_NOTE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/isa.h>

enum { TLY_NOTE_MAX_LEN = 512 };

/* What a note says. Texts point into the note. */
typedef struct tly_note {
    const char *release, *encoding_abi, *projection;
    size_t release_len, encoding_abi_len, projection_len;
} tly_note;

/* Writes the note's section for a release; returns its length (a multiple of 4). */
size_t tly_note_write(tly_isa_release release, uint8_t out[TLY_NOTE_MAX_LEN]);

/* Reads a note section. Errors: MALFORMED (rule "note-..."). */
tly_status tly_note_read(const uint8_t *bytes, size_t len, tly_note *out_note, tly_error *error);

/* TLY_IDENTITY_GOOD and the release whose identity this is, or what is wrong with it
 * (asm/object.h); then `out_release` is the release that its name gives, -1 if that is unknown. */
uint8_t tly_note_identity(const tly_note *note, int32_t *out_release);

#endif
