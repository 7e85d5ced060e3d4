/* SPDX-License-Identifier: Apache-2.0 */
/* npz: a zip archive whose members are npy files. What counts is the directory at the end; every
 * member's own header must agree with it, and no two members may share a byte. */
#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "store/import/npy.h"
#include "store/import/window.h"

#define END_LEN     22 /* bytes of the fixed part of each record */
#define END64_LEN   56
#define LOCATOR_LEN 20
#define CENTRAL_LEN 46
#define LOCAL_LEN   30
#define MAX_COMMENT 65535
#define MAX_NAME    65535
#define FLAG_SECRET 0x2041u /* encrypted, in one way or another */
#define EXTRA_64    1       /* extra field with sizes of 64 bits */
#define FULL_16     0xFFFFu
#define FULL_32     0xFFFFFFFFu

/* From one byte of the file to another: what a member takes. */
typedef struct range {
    uint64_t start;
    uint64_t end;
} range;

typedef struct npz {
    tly_import *import;
    const tly_import_file *file;
    tly_error *error;
    uint64_t directory_at; /* and where members end */
    uint64_t directory_len;
    uint64_t num_members;
    range *ranges;
    size_t num_ranges, cap_ranges;
    char *name; /* MAX_NAME + 1 bytes */
} npz;

/* One record of the directory. */
typedef struct record {
    tly_import_member member;
    uint64_t at;       /* of the record */
    uint64_t local_at; /* of the member's own header */
    uint32_t flags;
    uint16_t method;
    uint16_t name_len;
} record;

static tly_status wrong(const npz *z, uint64_t at, const char *what) {
    return tly_base_fail(z->error, TLY_MALFORMED, at, "zip-directory", "%s", what);
}

/* A record of the end in 64 bits, where the plain one is too small. */
static tly_status read_end64(npz *z, uint64_t end_at) {
    uint8_t b[END64_LEN];
    uint64_t at;
    tly_status status;
    if (end_at < LOCATOR_LEN) {
        return wrong(z, end_at, "the archive has no record of its end in 64 bits");
    }
    status = tly_import_file_read(z->file, end_at - LOCATOR_LEN, b, LOCATOR_LEN, z->error);
    if (status != TLY_OK) {
        return status;
    }
    at = tly_base_load_u64(b + 8);
    if (memcmp(b, "PK\6\7", 4) != 0 || tly_base_load_u32(b + 4) != 0 || at > end_at - LOCATOR_LEN ||
        end_at - LOCATOR_LEN - at < END64_LEN) {
        return wrong(z, end_at - LOCATOR_LEN, "the archive has no record of its end in 64 bits");
    }
    status = tly_import_file_read(z->file, at, b, END64_LEN, z->error);
    if (status != TLY_OK) {
        return status;
    }
    if (memcmp(b, "PK\6\6", 4) != 0) {
        return wrong(z, at, "the archive has no record of its end in 64 bits");
    }
    z->num_members = tly_base_load_u64(b + 32);
    z->directory_len = tly_base_load_u64(b + 40);
    z->directory_at = tly_base_load_u64(b + 48);
    return TLY_OK;
}

/* Finds the record at the end, which a comment may follow. */
static tly_status read_end(npz *z) {
    const uint64_t len = z->file->len;
    const uint64_t tail_len = len < END_LEN + MAX_COMMENT ? len : END_LEN + MAX_COMMENT;
    uint8_t *tail = tly_base_alloc(z->import->context, (size_t)tail_len, 1);
    uint64_t at = tail_len - END_LEN;
    uint8_t end[END_LEN];
    tly_status status;
    if (tail == NULL) {
        return tly_base_fail(z->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for the end of an archive");
    }
    status = tly_import_file_read(z->file, len - tail_len, tail, tail_len, z->error);
    while (status == TLY_OK && (memcmp(tail + at, "PK\5\6", 4) != 0 ||
                                tly_base_load_u16(tail + at + 20) != tail_len - at - END_LEN)) {
        if (at == 0) {
            status = tly_base_fail(z->error, TLY_TRUNCATED, len, "zip-end",
                                   "the archive has no directory: it is cut short, or no archive");
            break;
        }
        at--;
    }
    if (status == TLY_OK) {
        memcpy(end, tail + at, sizeof end);
    }
    tly_base_free(z->import->context, tail, (size_t)tail_len, 1);
    if (status != TLY_OK) {
        return status;
    }
    at += len - tail_len;
    z->num_members = tly_base_load_u16(end + 10);
    z->directory_len = tly_base_load_u32(end + 12);
    z->directory_at = tly_base_load_u32(end + 16);
    if (tly_base_load_u16(end + 4) != 0 || tly_base_load_u16(end + 6) != 0) {
        return wrong(z, at, "the archive is in several parts");
    }
    if (z->num_members == FULL_16 || z->directory_len == FULL_32 || z->directory_at == FULL_32) {
        status = read_end64(z, at);
    }
    if (status == TLY_OK && (z->directory_at > at || z->directory_len > at - z->directory_at ||
                             z->num_members > z->directory_len / CENTRAL_LEN)) {
        status = wrong(z, at, "the directory does not lie in front of its end");
    }
    return status;
}

/* Sizes and place in 64 bits, where the record says that they stand in its extra field. */
static tly_status read_extra(const npz *z, record *r, uint64_t at, uint32_t len) {
    uint64_t *wanted[] = {&r->member.len, &r->member.packed_len, &r->local_at};
    while (len >= 4) {
        uint8_t head[4], bytes[24];
        uint32_t field_len, have = 0, used = 0;
        tly_status status = tly_import_file_read(z->file, at, head, sizeof head, z->error);
        if (status != TLY_OK) {
            return status;
        }
        field_len = tly_base_load_u16(head + 2);
        if (field_len > len - 4) {
            break;
        }
        if (tly_base_load_u16(head) == EXTRA_64) {
            have = field_len < sizeof bytes ? field_len : sizeof bytes;
            status = tly_import_file_read(z->file, at + 4, bytes, have, z->error);
            for (size_t i = 0; i < 3 && status == TLY_OK; i++) {
                if (*wanted[i] == FULL_32 && used + 8 <= have) {
                    *wanted[i] = tly_base_load_u64(bytes + used);
                    used += 8;
                }
            }
            return status;
        }
        at += 4 + field_len;
        len -= 4 + field_len;
    }
    return TLY_OK;
}

/* The record at `*at` of the directory, which ends at `end`; steps behind it. */
static tly_status read_record(npz *z, uint64_t *at, uint64_t end, record *r) {
    uint8_t b[CENTRAL_LEN];
    uint64_t len;
    uint32_t extra_len;
    tly_status status;
    if (end - *at < CENTRAL_LEN) {
        return wrong(z, *at, "the directory ends inside a record");
    }
    status = tly_import_file_read(z->file, *at, b, sizeof b, z->error);
    if (status != TLY_OK) {
        return status;
    }
    memset(r, 0, sizeof *r);
    r->at = *at;
    r->flags = tly_base_load_u16(b + 8);
    r->method = tly_base_load_u16(b + 10);
    r->member.method = r->method;
    r->member.crc32 = tly_base_load_u32(b + 16);
    r->member.packed_len = tly_base_load_u32(b + 20);
    r->member.len = tly_base_load_u32(b + 24);
    r->name_len = tly_base_load_u16(b + 28);
    r->local_at = tly_base_load_u32(b + 42);
    extra_len = tly_base_load_u16(b + 30);
    len = CENTRAL_LEN + (uint64_t)r->name_len + extra_len + tly_base_load_u16(b + 32);
    if (memcmp(b, "PK\1\2", 4) != 0 || len > end - *at || tly_base_load_u16(b + 34) != 0) {
        return wrong(z, *at, "a record of the directory is damaged");
    }
    status = tly_import_file_read(z->file, *at + CENTRAL_LEN, z->name, r->name_len, z->error);
    z->name[r->name_len] = '\0';
    if (status == TLY_OK) {
        status = read_extra(z, r, *at + CENTRAL_LEN + r->name_len, extra_len);
    }
    *at += len;
    return status;
}

/* The member's own header says the same, and its bytes lie in front of the directory. */
static tly_status find_bytes(npz *z, record *r) {
    uint8_t b[LOCAL_LEN];
    uint64_t end;
    void *array = z->ranges;
    char *own_name;
    int same;
    tly_status status;
    if (r->local_at > z->directory_at || z->directory_at - r->local_at < LOCAL_LEN) {
        return wrong(z, r->at, "a member lies behind the directory");
    }
    status = tly_import_file_read(z->file, r->local_at, b, sizeof b, z->error);
    if (status != TLY_OK) {
        return status;
    }
    r->member.packed_at =
        r->local_at + LOCAL_LEN + tly_base_load_u16(b + 26) + tly_base_load_u16(b + 28);
    if (memcmp(b, "PK\3\4", 4) != 0 || tly_base_load_u16(b + 26) != r->name_len ||
        tly_base_load_u16(b + 8) != r->method ||
        tly_base_add_u64(r->member.packed_at, r->member.packed_len, &end) ||
        end > z->directory_at) {
        return wrong(z, r->local_at, "a member's header does not agree with the directory");
    }
    own_name = tly_base_alloc(z->import->context, (size_t)r->name_len + 1, 1);
    if (own_name == NULL) {
        return tly_base_fail(z->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a name");
    }
    status =
        tly_import_file_read(z->file, r->local_at + LOCAL_LEN, own_name, r->name_len, z->error);
    same = status == TLY_OK && memcmp(own_name, z->name, r->name_len) == 0;
    tly_base_free(z->import->context, own_name, (size_t)r->name_len + 1, 1);
    if (status == TLY_OK && !same) {
        status = wrong(z, r->local_at, "a member's header does not agree with the directory");
    }
    if (status == TLY_OK) {
        status = tly_import_reserve(z->import, &array, z->num_ranges, &z->cap_ranges,
                                    sizeof *z->ranges, z->error);
        z->ranges = array;
    }
    if (status == TLY_OK) {
        z->ranges[z->num_ranges++] = (range){r->local_at, end};
    }
    return status;
}

/* An error about the inside of a member, said of the file. */
static tly_status in_member(const npz *z, const record *r, tly_status status) {
    tly_error *error = z->error;
    if (error != NULL && status != TLY_OK && status != TLY_OUT_OF_MEMORY) {
        tly_error inner = *error;
        char shown[80];
        uint64_t at = r->member.packed_at;
        if (r->method == 0 && inner.offset != TLY_NO_OFFSET && inner.offset < r->member.len) {
            at += inner.offset;
        }
        (void)tly_base_fail(error, inner.status, at, inner.rule, "%s: %s",
                            tly_base_printable(shown, sizeof shown, z->name, r->name_len),
                            inner.message);
    }
    return status;
}

static tly_status take_array(npz *z, const record *r, const char *name) {
    tly_import_member *member = tly_arena_alloc(&z->import->arena, sizeof *member, 8);
    tly_import_pull pull;
    tly_status status;
    if (member == NULL) {
        return tly_base_fail(z->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a member");
    }
    *member = r->member;
    status = tly_import_pull_init(&pull, z->import->context, z->file, member, 0, z->error);
    if (status == TLY_OK) {
        status = tly_import_npy_array(z->import, &pull, member->len, name, member, z->error);
        status = in_member(z, r, status);
    }
    tly_import_pull_cleanup(&pull);
    return status;
}

static tly_status take_member(npz *z, record *r) {
    const char *reason = NULL, *name;
    size_t len = r->name_len;
    tly_status status = find_bytes(z, r);
    if (status != TLY_OK || (len != 0 && z->name[len - 1] == '/' && r->member.len == 0)) {
        return status; /* a folder holds nothing */
    }
    if ((r->flags & FLAG_SECRET) != 0) {
        reason = "it is encrypted";
    } else if (len <= 4 || memcmp(z->name + len - 4, ".npy", 4) != 0) {
        reason = "it is no array: its name does not end in .npy";
    } else if (r->method != 0 && r->method != 8) {
        reason = "it is packed by a method other than deflate";
    } else if (r->method == 0 && r->member.packed_len != r->member.len) {
        return wrong(z, r->at, "a member that is stored as it is has two sizes");
    }
    len -= reason == NULL ? 4 : 0;
    status = tly_import_name(z->import, z->name, len, r->at + CENTRAL_LEN, &name, z->error);
    if (status != TLY_OK) {
        return status;
    }
    return reason != NULL
               ? tly_import_refuse(z->import, name, r->at, "zip-member", reason, z->error)
               : take_array(z, r, name);
}

static int by_start(const void *user, uint32_t a, uint32_t b) {
    const range *ranges = user;
    if (ranges[a].start != ranges[b].start) {
        return ranges[a].start < ranges[b].start ? -1 : 1;
    }
    return (a > b) - (a < b);
}

/* Members that share bytes make a small archive unpack to a huge one. */
static tly_status check_overlap(const npz *z) {
    const size_t len = z->num_ranges * sizeof(uint32_t);
    uint32_t *order = tly_base_alloc(z->import->context, len, sizeof *order);
    tly_status status = TLY_OK;
    if (order == NULL && len != 0) {
        return tly_base_fail(z->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory to order the members");
    }
    for (size_t i = 0; i < z->num_ranges; i++) {
        order[i] = (uint32_t)i;
    }
    tly_import_sort(order, z->num_ranges, by_start, z->ranges);
    for (size_t i = 1; i < z->num_ranges && status == TLY_OK; i++) {
        if (z->ranges[order[i]].start < z->ranges[order[i - 1]].end) {
            status = tly_base_fail(z->error, TLY_MALFORMED, z->ranges[order[i]].start,
                                   "zip-overlap", "two members of the archive share bytes");
        }
    }
    tly_base_free(z->import->context, order, len, sizeof *order);
    return status;
}

static tly_status read_directory(npz *z) {
    uint64_t at = z->directory_at;
    const uint64_t end = at + z->directory_len;
    tly_status status = TLY_OK;
    for (uint64_t i = 0; i < z->num_members && status == TLY_OK; i++) {
        record r;
        status = read_record(z, &at, end, &r);
        if (status == TLY_OK) {
            status = take_member(z, &r);
        }
    }
    if (status == TLY_OK && at != end) {
        status = wrong(z, at, "the directory is longer than its records");
    }
    return status == TLY_OK ? check_overlap(z) : status;
}

tly_status tly_import_read_npz(tly_import *import, tly_error *error) {
    npz z = {.import = import, .file = &import->files[0], .error = error};
    tly_status status;
    if (!tly_inflate_available()) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "format",
                             "npz files need zlib, and this build has none");
    }
    if (z.file->len < END_LEN) {
        return tly_base_fail(error, TLY_TRUNCATED, z.file->len, "zip-end",
                             "%llu bytes are too few for an archive",
                             (unsigned long long)z.file->len);
    }
    z.name = tly_base_alloc(import->context, MAX_NAME + 1, 1);
    if (z.name == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a name");
    }
    status = read_end(&z);
    status = status == TLY_OK ? read_directory(&z) : status;
    tly_base_free(import->context, z.name, MAX_NAME + 1, 1);
    tly_base_free(import->context, z.ranges, z.cap_ranges * sizeof *z.ranges, 16);
    return status;
}
