/* SPDX-License-Identifier: Apache-2.0 */
#include "asm/note.h"

#include <stdio.h>
#include <string.h>

#include "asm/elf.h"
#include "asm/object.h"
#include "base/bytes.h"
#include "base/error.h"
#include "isa/table.h"

size_t tly_note_write(tly_isa_release release, uint8_t out[TLY_NOTE_MAX_LEN]) {
    const tly_isa_identity *identity = tly_isa_identity_of(release);
    int len;
    memset(out, 0, TLY_NOTE_MAX_LEN);
    len = snprintf(
        (char *)out + 16, TLY_NOTE_MAX_LEN - 16,
        "{\"encoding_abi\":\"%s\",\"encoding_projection_sha256\":\"%s\",\"release\":\"%s\"}",
        identity->encoding_abi, identity->projection, identity->release);
    tly_base_store_u32(out, sizeof ELF_NOTE_OWNER);
    tly_base_store_u32(out + 4, (uint32_t)len);
    tly_base_store_u32(out + 8, ELF_NOTE_TYPE);
    memcpy(out + 12, ELF_NOTE_OWNER, sizeof ELF_NOTE_OWNER);
    out[16 + len] = 0;
    return (size_t)(16 + len + 3) & ~(size_t)3;
}

static tly_status fail(tly_error *error, const tly_cursor *c, const char *rule,
                       const char *message) {
    return tly_base_fail(error, TLY_MALFORMED, tly_cursor_offset(c), rule, "%s", message);
}

/* A JSON string without escapes: the texts of an identity have none. */
static int string(tly_cursor *c, const char **out_text, size_t *out_len) {
    const uint8_t *end;
    if (c->at == c->end || *c->at != '"') {
        return 0;
    }
    end = memchr(c->at + 1, '"', (size_t)(c->end - c->at - 1));
    if (end == NULL || memchr(c->at + 1, '\\', (size_t)(end - c->at - 1)) != NULL) {
        return 0;
    }
    *out_text = (const char *)c->at + 1;
    *out_len = (size_t)(end - c->at - 1);
    c->at = end + 1;
    return 1;
}

static int character(tly_cursor *c, char ch) {
    if (c->at == c->end || *c->at != (uint8_t)ch) {
        return 0;
    }
    c->at++;
    return 1;
}

tly_status tly_note_read(const uint8_t *bytes, size_t len, tly_note *out_note, tly_error *error) {
    static const char *const keys[] = {"encoding_abi", "encoding_projection_sha256", "release"};
    tly_cursor c = tly_cursor_make(bytes, len), body;
    uint32_t owner_len, body_len, type;
    const uint8_t *owner, *text;
    const char *values[3] = {NULL};
    size_t lens[3] = {0};
    uint32_t seen = 0;

    if (!tly_cursor_u32(&c, &owner_len) || !tly_cursor_u32(&c, &body_len) ||
        !tly_cursor_u32(&c, &type) ||
        !tly_cursor_take(&c, ((uint64_t)owner_len + 3) & ~3u, &owner) ||
        !tly_cursor_take(&c, body_len, &text)) {
        return fail(error, &c, "note-truncated", "the identity note ends too early");
    }
    if (owner_len != sizeof ELF_NOTE_OWNER || memcmp(owner, ELF_NOTE_OWNER, owner_len) != 0 ||
        type != ELF_NOTE_TYPE) {
        return fail(error, &c, "note-owner", "the identity note is not of owner PTO and type 1");
    }
    body = tly_cursor_make(text, body_len);
    if (!character(&body, '{')) {
        return fail(error, &body, "note-json", "the identity note is not a JSON object");
    }
    do {
        const char *key, *value;
        size_t key_len, value_len;
        uint32_t k = 0;
        if (!string(&body, &key, &key_len) || !character(&body, ':') ||
            !string(&body, &value, &value_len)) {
            return fail(error, &body, "note-json", "the identity note is not compact JSON");
        }
        while (k < 3 && (strlen(keys[k]) != key_len || memcmp(keys[k], key, key_len) != 0)) {
            k++;
        }
        if (k == 3 || k < seen) {
            return fail(error, &body, "note-json",
                        "the identity note has an unknown key, or keys out of order");
        }
        values[k] = value;
        lens[k] = value_len;
        seen = k + 1;
    } while (character(&body, ','));
    if (!character(&body, '}') || body.at != body.end || values[0] == NULL || values[1] == NULL ||
        values[2] == NULL) {
        return fail(error, &body, "note-json", "the identity note lacks a key, or goes on behind");
    }
    *out_note = (tly_note){values[2], values[0], values[1], lens[2], lens[0], lens[1]};
    return TLY_OK;
}

static int same(const char *text, size_t len, const char *other) {
    return strlen(other) == len && memcmp(text, other, len) == 0;
}

uint8_t tly_note_identity(const tly_note *note, int32_t *out_release) {
    for (int32_t r = 0; r < TLY_ISA_NUM_RELEASES; r++) {
        const tly_isa_identity *identity = tly_isa_identity_of((tly_isa_release)r);
        if (same(note->release, note->release_len, identity->release)) {
            *out_release = r;
            if (!same(note->encoding_abi, note->encoding_abi_len, identity->encoding_abi)) {
                return TLY_IDENTITY_ABI;
            }
            return same(note->projection, note->projection_len, identity->projection)
                       ? TLY_IDENTITY_GOOD
                       : TLY_IDENTITY_HASH;
        }
    }
    *out_release = -1;
    return TLY_IDENTITY_RELEASE;
}
