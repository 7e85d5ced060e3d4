/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_FAMILY_H
#define TILERY_FAMILY_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/export.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* Families of private layouts that somebody else brings: layouts that no panel profile can
 * describe, because they are no loop nest or because they say more than one. A shared library
 * offers a family, servers and clients load it, and it is negotiated, packed, cached and checked
 * like everything else (docs/spec/family.md). This header is all that such a library needs; it does
 * not link libtilery. */

#define TLY_FAMILY_ABI 1

/* The function that a library exports: family number `index`, NULL past the last. The families live
 * as long as the library. */
#define TLY_FAMILY_SYMBOL "tly_family_at"

/* A tensor, and what is wanted of it. Plain memory, valid during the call. */
typedef struct tly_family_tensor {
    size_t size;             /* sizeof(tly_family_tensor) of the caller */
    const uint8_t *metadata; /* of the layout entry, as the client sent it */
    uint32_t metadata_len;   /* bytes, at most 65535 */
    uint32_t rank;
    const uint64_t *shape; /* rank entries */
    uint8_t dtype;         /* tly_dtype */
    uint8_t reserved[3];
    uint32_t
        element_bits; /* elements of less than 8 bits stand from the least significant bit on */
    const void *data; /* pack: the elements in row-major order; plan: NULL */
} tly_family_tensor;

/* One family. Static storage of the library. Every function returns a status of
 * tilery/status_codes.h (0: done) and may be called from any thread, several at a time; none keeps
 * a pointer. `why` gets a sentence when it fails, NUL-terminated, of at most `why_capacity` bytes.
 */
typedef struct tly_family {
    uint32_t abi;       /* TLY_FAMILY_ABI */
    uint32_t tag;       /* layout tag, 0xF1 .. 0xFE; 0xF0 is for panel profiles */
    uint64_t layout_id; /* extension_layout_id of descriptors; tells families of one tag apart */
    const char *name;   /* lower case letters, digits, hyphens */

    /* Metadata for what a user asks for ("name" or "name:ARGUMENTS"; then "" or "ARGUMENTS").
     * `out` has room for `capacity` bytes. */
    int32_t (*write)(const char *arguments, uint8_t *out, uint32_t capacity, uint32_t *out_len,
                     char *why, size_t why_capacity);

    /* Is this metadata of the family, and how many bytes does such a tensor take, on what alignment
     * (a power of two)? Called for everything that clients send: trust nothing. */
    int32_t (*plan)(const tly_family_tensor *tensor, uint64_t *out_len, uint32_t *out_alignment,
                    char *why, size_t why_capacity);

    /* Writes exactly those bytes. Runs after a plan that went well. */
    int32_t (*pack)(const tly_family_tensor *tensor, void *out, uint64_t len, char *why,
                    size_t why_capacity);
} tly_family;

typedef const tly_family *(*tly_family_fn)(uint32_t index);

/* Families in use. Filled first, then immutable: thread-safe. */
typedef struct tly_families tly_families;

TLY_API tly_status tly_families_new(const tly_context *context, tly_families **out_families,
                                    tly_error *error);
TLY_API void tly_families_free(tly_families *families); /* the libraries stay loaded */

/* Adds all families of a shared library; `path` is the path of its file. It runs with all rights of
 * this process. Errors: MODULE (cannot be loaded, or offers none), UNSUPPORTED (another ABI),
 * INVALID_ARGUMENT (a field), EXISTS (name, or tag and layout_id, are taken), OUT_OF_MEMORY. */
TLY_API tly_status tly_families_load(tly_families *families, const char *path, tly_error *error);

/* Adds one that is part of this program. Errors: as above. */
TLY_API tly_status tly_families_add(tly_families *families, const tly_family *family,
                                    tly_error *error);

/* Family number `index`, NULL past the last. */
TLY_API const tly_family *tly_families_at(const tly_families *families, uint32_t index);

/* By name; NULL if there is none. `len` bytes of `name` count. */
TLY_API const tly_family *tly_families_find(const tly_families *families, const char *name,
                                            size_t len);

TLY_END_DECLS

#endif
