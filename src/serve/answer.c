/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "net/handover.h"
#include "net/range.h"
#include "serve/compose.h"
#include "serve/uploads.h"

/* How long a tensor that is elsewhere waits for room in the cache of blocks. */
#define ROOM_MS 30000

/* One request being decided. */
typedef struct decision {
    tly_answer *answer;
    tly_answer_limits *limits;
    const tly_descriptor *stored;
    const tly_nest *native; /* nest of the stored layout; NULL: it has none */
    const tly_catalogue_entry *entry;
    uint32_t num_profiles;
    uint32_t num_transcodings; /* that were tried */
    int allow_transcode;
    int has_source;
    uint32_t min_alignment;
    /* what the entry chosen last would give */
    tly_descriptor made;
    tly_buffer_info made_buffer;
    tly_buffer_info made_buffers[TLY_MAX_BUFFERS]; /* of a transcoding */
    int64_t strides[TLY_MAX_RANK];
    uint32_t morton_bits[TLY_MAX_RANK];
    tly_nest nest;
    tly_wire_layout named; /* the stored panel goes out under this entry's profile; tag 0: none */
    uint32_t named_alignment;
    tly_error error;
} decision;

static void say(decision *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds to the reason, which is cut where it gets too long. */
static void say(decision *d, const char *format, ...) {
    size_t used = strlen(d->answer->reason);
    va_list args;
    va_start(args, format);
    vsnprintf(d->answer->reason + used, sizeof d->answer->reason - used, format, args);
    va_end(args);
}

static int32_t skip(decision *d, uint32_t index, const char *why) {
    say(d, "entry %u skipped: %s; ", index, why);
    return TLY_WIRE_SKIP;
}

/* ---- producing a layout ---- */

#define NATIVE_VARIANT 0xFF /* no layout has this tag */

/* Names what will be packed, or (NATIVE_VARIANT) copied as it is; `profile`
 * is NULL for a core layout. */
static void name_variant(decision *d, uint8_t tag, const tly_panel_profile *profile) {
    tly_answer *a = d->answer;
    uint8_t *out = a->variant;
    size_t len = 0;
    a->variant_len = 0;
    if (!d->has_source) {
        return;
    }
    memcpy(out, &a->source, sizeof a->source);
    memset(out + sizeof a->source, 0, 8);
    out[sizeof a->source] = tag;
    out += sizeof a->source + 8;
    if (profile != NULL) {
        tly_panel_profile bare = *profile;
        bare.alignment = 1;
        bare.kernel_version = 0;
        bare.has_probe = 0;
        bare.probe_hash = 0;
        memset(bare.kernel, 0, sizeof bare.kernel);
        if (tly_panel_encode(&bare, out, TLY_PANEL_MAX_LEN, &len, NULL) != TLY_OK) {
            return;
        }
    }
    a->variant_len = (uint32_t)(sizeof a->source + 8 + len);
}

/* More that says what will be made. A variant whose name gets too long is not shared. */
static void name_more(decision *d, const void *bytes, size_t len) {
    tly_answer *a = d->answer;
    if (a->variant_len == 0 || len > sizeof a->variant - a->variant_len) {
        a->variant_len = 0;
        return;
    }
    if (len != 0) {
        memcpy(a->variant + a->variant_len, bytes, len);
    }
    a->variant_len += (uint32_t)len;
}

/* Plans the packing into d->nest, `len` bytes; fills d->made's buffer. */
static int32_t plan(decision *d, uint32_t index, uint64_t len, uint32_t alignment) {
    tly_answer *a = d->answer;
    tly_status status;
    if (len > d->limits->transcode_limit) {
        return skip(d, index, "over the transcoding limit");
    }
    if (d->native == NULL) {
        return skip(d, index, "the stored layout is no loop nest");
    }
    tly_maker_free(a->maker);
    a->maker = NULL;
    if (len != 0) {
        status = tly_maker_new_pack(a->context, &d->nest, d->native,
                                    tly_dtype_bits(d->stored->dtype), &a->maker, &d->error);
        if (status != TLY_OK) {
            return skip(d, index, d->error.message);
        }
        if (tly_maker_len(a->maker) != len) {
            return skip(d, index, "the packed length is not what the layout says");
        }
    }
    d->made_buffer.byte_size = len;
    d->made_buffer.alignment = alignment > d->min_alignment ? alignment : d->min_alignment;
    if (d->made_buffer.alignment < 64) {
        d->made_buffer.alignment = 64;
    }
    return TLY_WIRE_TRANSCODE;
}

/* What is no loop nest on either side, or has elements that share a byte: by transcoding. */
static int32_t transcode(decision *d, uint32_t index, uint8_t tag) {
    tly_answer *a = d->answer;
    const tly_descriptor *made;
    tly_store_guard guard;
    tly_block_hold hold = {0};
    tly_status status = TLY_OK;
    if (d->num_transcodings++ == TLY_ANSWER_MAX_TRANSCODINGS) {
        return skip(d, index, "too many layouts to try in one request");
    }
    tly_maker_free(a->maker);
    a->maker = NULL;
    if (a->store != NULL) {
        tly_store_guard_begin(a->store, &guard);
    }
    if (a->blocks != NULL) {
        status = tly_blocks_hold(a->blocks, a->data_offset, a->data_len, ROOM_MS, d->limits->cancel,
                                 &hold, &d->error);
    }
    if (status == TLY_OK) {
        status = tly_maker_new_transcode(a->context, d->entry, tag, d->limits->transcode_limit,
                                         &a->maker, &d->error);
    }
    tly_blocks_release(&hold);
    if (a->store != NULL && tly_store_guard_end(&guard, NULL) != TLY_OK && status == TLY_OK) {
        return skip(d, index, "the file of this tensor was cut short");
    }
    if (status != TLY_OK) {
        return skip(d, index, d->error.message);
    }
    if (tly_maker_len(a->maker) > d->limits->transcode_limit) {
        return skip(d, index, "over the transcoding limit");
    }
    made = tly_maker_descriptor(a->maker);
    d->made = *made;
    memcpy(d->made_buffers, made->buffers, made->num_buffers * sizeof *made->buffers);
    d->made.buffers = d->made_buffers;
    for (uint32_t i = 0; i < made->num_buffers; i++) {
        if (d->made_buffers[i].alignment < d->min_alignment) {
            d->made_buffers[i].alignment = d->min_alignment;
        }
    }
    name_variant(d, tag, NULL);
    return TLY_WIRE_TRANSCODE;
}

static uint32_t bits_for(uint64_t extent) {
    uint32_t bits = 1;
    while (bits < 63 && (UINT64_C(1) << bits) < extent) {
        bits++;
    }
    return bits;
}

/* Strides of the row-major order: what a strided answer has, since an entry cannot name any. */
static int fill_strides(decision *d) {
    uint64_t stride = 1;
    for (uint32_t i = d->stored->rank; i-- > 0;) {
        uint64_t extent = d->stored->shape[i];
        if (stride > INT64_MAX) {
            return 0;
        }
        d->strides[i] = (int64_t)stride;
        if (extent != 0 && tly_base_mul_u64(stride, extent, &stride)) {
            return 0;
        }
    }
    return 1;
}

/* Core layouts that a bare tag says completely, or for which there is one natural choice. */
static int32_t consider_core(decision *d, uint32_t index, uint8_t tag) {
    const tly_descriptor *s = d->stored;
    uint64_t len;
    tly_status status;
    if (tag == s->layout) {
        return TLY_WIRE_NATIVE;
    }
    if (tly_layout_name(tag) == NULL || tag == TLY_LAYOUT_COMPOSITE) {
        return skip(d, index, "not a layout that this server makes");
    }
    if (s->rank == 0) {
        return skip(d, index, "a scalar is row-major");
    }
    if (!d->allow_transcode) {
        return skip(d, index, "transcoding is not allowed");
    }
    if (d->native == NULL || tly_dtype_bits(s->dtype) % 8 != 0 ||
        (tag != TLY_LAYOUT_ROW_MAJOR && tag != TLY_LAYOUT_COL_MAJOR && tag != TLY_LAYOUT_STRIDED &&
         tag != TLY_LAYOUT_MORTON)) {
        return transcode(d, index, tag);
    }
    memset(&d->made, 0, sizeof d->made);
    if (tag == TLY_LAYOUT_ROW_MAJOR) {
        status = tly_nest_row_major(&d->nest, s->rank, s->shape);
    } else if (tag == TLY_LAYOUT_COL_MAJOR) {
        status = tly_nest_col_major(&d->nest, s->rank, s->shape);
    } else if (tag == TLY_LAYOUT_STRIDED) {
        status = fill_strides(d) ? tly_nest_strided(&d->nest, s->rank, s->shape, d->strides)
                                 : TLY_OVERFLOW;
        d->made.strides = d->strides;
    } else {
        for (uint32_t i = 0; i < s->rank; i++) {
            d->morton_bits[i] = bits_for(s->shape[i]);
        }
        status = tly_nest_morton(&d->nest, s->rank, s->shape, d->morton_bits);
        d->made.morton_bits = d->morton_bits;
    }
    if (status == TLY_OK) {
        int64_t low, high;
        status = tly_nest_extent(&d->nest, &low, &high);
        if (status == TLY_OK &&
            tly_base_mul_u64((uint64_t)high, tly_dtype_bits(s->dtype) / 8, &len)) {
            status = TLY_OVERFLOW;
        }
    }
    if (status != TLY_OK) {
        return skip(d, index, tly_status_text(status));
    }
    d->made.dtype = s->dtype;
    d->made.layout = tag;
    d->made.num_buffers = 1;
    d->made.rank = s->rank;
    d->made.shape = s->shape;
    d->made.buffers = &d->made_buffer;
    memset(&d->made_buffer, 0, sizeof d->made_buffer);
    name_variant(d, tag, NULL);
    return plan(d, index, len, 64);
}

/* Is the tensor stored as the panel that `profile` describes, `len` bytes of it? */
static int is_stored_as(const tly_descriptor *stored, const tly_panel_profile *profile,
                        uint64_t len) {
    tly_panel_profile own;
    return stored->private_id == TLY_PANEL_LAYOUT_ID && stored->num_buffers == 1 &&
           stored->byte_offset == 0 && stored->buffers[0].byte_size == len &&
           tly_panel_decode(stored->private_data, stored->private_len, &own, NULL) == TLY_OK &&
           tly_panel_same_layout(&own, profile);
}

static int32_t consider_profile(decision *d, uint32_t index, const tly_wire_layout *layout) {
    const tly_descriptor *s = d->stored;
    tly_panel_profile profile;
    char text[200];
    uint64_t len;
    uint32_t alignment;
    int32_t verdict;
    int stored;
    tly_status status;
    if (d->num_profiles++ >= TLY_ANSWER_MAX_PROFILES) {
        return skip(d, index, "too many profiles in one request");
    }
    if (tly_panel_decode(layout->metadata, layout->metadata_len, &profile, &d->error) != TLY_OK) {
        return skip(d, index, d->error.message);
    }
    if (profile.dtype != s->dtype) {
        return skip(d, index, "the profile is for another element type");
    }
    if (tly_panel_bind(&profile, s->rank, s->shape, &d->nest, &len, &d->error) != TLY_OK) {
        return skip(d, index, d->error.message);
    }
    stored = is_stored_as(s, &profile, len);
    if (!stored && !d->allow_transcode) {
        return skip(d, index, "transcoding is not allowed");
    }
    if (!stored && len > d->limits->transcode_limit) { /* before work is done for a probe */
        return skip(d, index, "over the transcoding limit");
    }
    if (tly_panel_verdicts_check(d->limits->verdicts, &profile, &d->limits->probe_budget,
                                 &d->error) != TLY_OK) {
        return skip(d, index, d->error.message);
    }
    if (stored) {
        d->named = *layout;
        d->named_alignment = profile.alignment;
        return TLY_WIRE_NATIVE;
    }
    name_variant(d, TLY_PANEL_LAYOUT_TAG, &profile);
    verdict = plan(d, index, len, profile.alignment);
    if (verdict != TLY_WIRE_TRANSCODE) {
        return verdict;
    }
    alignment = d->made_buffer.alignment;
    status = tly_descriptor_init_private(&d->made, &d->made_buffer, s->dtype, s->rank, s->shape,
                                         TLY_PANEL_LAYOUT_TAG, TLY_PANEL_LAYOUT_ID,
                                         layout->metadata, layout->metadata_len, len, alignment);
    if (status != TLY_OK) {
        return skip(d, index, tly_status_text(status));
    }
    say(d, "%s%s%s; ", tly_panel_describe(&profile, text, sizeof text),
        profile.kernel[0] != '\0' ? " for " : "", profile.kernel);
    return TLY_WIRE_TRANSCODE;
}

/* A layout of a plug-in. */
static int32_t consider_family(decision *d, uint32_t index, const tly_wire_layout *layout,
                               const tly_family *family) {
    const tly_descriptor *s = d->stored;
    tly_answer *a = d->answer;
    uint64_t len;
    uint32_t alignment = 1;
    tly_status status;
    if (!d->allow_transcode) {
        return skip(d, index, "transcoding is not allowed");
    }
    if (d->native == NULL) {
        return skip(d, index, "the stored layout is no loop nest");
    }
    if (d->num_profiles++ >= TLY_ANSWER_MAX_PROFILES) {
        return skip(d, index, "too many profiles in one request");
    }
    tly_maker_free(a->maker);
    a->maker = NULL;
    status = tly_maker_new_family(a->context, family, s, d->native, layout,
                                  d->limits->transcode_limit, &a->maker, &alignment, &d->error);
    if (status != TLY_OK) {
        return skip(d, index, d->error.message);
    }
    len = tly_maker_len(a->maker);
    if (len > d->limits->transcode_limit) {
        return skip(d, index, "over the transcoding limit");
    }
    alignment = alignment > d->min_alignment ? alignment : d->min_alignment;
    status = tly_descriptor_init_private(
        &d->made, &d->made_buffer, s->dtype, s->rank, s->shape, layout->tag, family->layout_id,
        layout->metadata, layout->metadata_len, len, alignment > 64 ? alignment : 64);
    if (status != TLY_OK) {
        return skip(d, index, tly_status_text(status));
    }
    name_variant(d, layout->tag, NULL);
    name_more(d, &family->layout_id, sizeof family->layout_id);
    name_more(d, layout->metadata, layout->metadata_len);
    return TLY_WIRE_TRANSCODE;
}

/* Entries of one tag may be of several families: the first that takes the metadata counts. */
static int32_t consider_families(decision *d, uint32_t index, const tly_wire_layout *layout) {
    const tly_family *family;
    int known = 0;
    for (uint32_t i = 0; (family = tly_families_at(d->limits->families, i)) != NULL; i++) {
        if (family->tag == layout->tag) {
            known = 1;
            if (consider_family(d, index, layout, family) == TLY_WIRE_TRANSCODE) {
                return TLY_WIRE_TRANSCODE;
            }
        }
    }
    return known ? TLY_WIRE_SKIP : skip(d, index, "unknown extension");
}

static int32_t consider(void *user, uint32_t index, const tly_wire_layout *layout) {
    decision *d = user;
    if (layout->tag < TLY_LAYOUT_PRIVATE_FIRST || layout->tag > TLY_LAYOUT_PRIVATE_LAST) {
        return consider_core(d, index, layout->tag);
    }
    if (layout->tag == d->stored->layout && d->stored->private_id != TLY_PANEL_LAYOUT_ID &&
        layout->metadata_len == d->stored->private_len &&
        (layout->metadata_len == 0 ||
         memcmp(layout->metadata, d->stored->private_data, layout->metadata_len) == 0)) {
        return TLY_WIRE_NATIVE; /* somebody else's layout, in the same words */
    }
    return layout->tag == TLY_PANEL_LAYOUT_TAG ? consider_profile(d, index, layout)
                                               : consider_families(d, index, layout);
}

/* ---- the answer ---- */

static tly_status encode(tly_answer *a, const tly_descriptor *descriptor, tly_error *error) {
    return tly_answer_encode(a->context, descriptor, &a->descriptor, &a->descriptor_len, error);
}

/* The buffers as they are, with the alignment that the client wants. */
static tly_status use_native(tly_answer *a, const tly_catalogue_entry *entry,
                             const tly_descriptor *stored, uint32_t min_alignment,
                             tly_error *error) {
    tly_answer_member whole;
    tly_status status =
        tly_answer_use_stored(a->context, entry, stored, min_alignment, &whole, error);
    a->descriptor = whole.descriptor;
    a->descriptor_len = whole.descriptor_len;
    a->parts = whole.parts;
    a->num_parts = whole.num_parts;
    a->maker = whole.maker;
    return status;
}

static tly_status use_made(tly_answer *a, const tly_catalogue_entry *entry, decision *d,
                           tly_error *error) {
    tly_catalogue_bytes bytes;
    tly_status status;
    if (a->maker == NULL || tly_maker_descriptor(a->maker) != NULL) {
        return encode(a, &d->made, error); /* nothing to pack, or the maker knows its source */
    }
    status = tly_catalogue_buffer(entry, d->stored, 0, &bytes, error);
    if (status != TLY_OK) {
        return status;
    }
    tly_maker_set_source(a->maker, bytes.at + d->stored->byte_offset);
    return encode(a, &d->made, error);
}

static tly_status choose(tly_answer *a, const tly_catalogue_entry *entry, decision *d,
                         const tly_wire_request *request, tly_error *error) {
    tly_descriptor native;
    int32_t verdict;
    uint32_t index =
        tly_wire_choose_layout(&request->layouts, d->allow_transcode, consider, d, &verdict);
    if (verdict == TLY_WIRE_TRANSCODE) {
        say(d, "entry %u: %s to %s by %s", index, tly_layout_name(d->stored->layout),
            tly_layout_name(d->made.layout),
            a->maker != NULL ? tly_maker_path(a->maker) : "nothing");
        return use_made(a, entry, d, error);
    }
    tly_maker_free(a->maker); /* of an entry that came to nothing */
    a->maker = NULL;
    a->variant_len = 0;
    if (index < request->layouts.num) {
        say(d, "entry %u is the native layout, %s", index, tly_layout_name(d->stored->layout));
    } else {
        say(d, "native layout, %s", tly_layout_name(d->stored->layout));
    }
    name_variant(d, NATIVE_VARIANT, NULL);
    native = *d->stored;
    if (d->named.tag != 0) { /* the peer compares the profile's bytes with those that it sent */
        native.layout = d->named.tag;
        native.private_data = d->named.metadata;
        native.private_len = d->named.metadata_len;
    }
    return use_native(a, entry, &native,
                      d->named_alignment > d->min_alignment ? d->named_alignment : d->min_alignment,
                      error);
}

/* Where the tensor is, if it is elsewhere. */
static void note_place(tly_answer *a, const tly_catalogue_entry *entry) {
    tly_store_entry place;
    a->blocks = entry->store != NULL ? tly_store_blocks(entry->store) : NULL;
    if (a->blocks != NULL && tly_store_entry_at(entry->store, entry->index, &place) == TLY_OK) {
        a->data_offset = place.data_offset;
        a->data_len = place.data_len;
    }
}

static tly_status decide(tly_answer *a, const tly_catalogue_entry *entry, tly_answer_limits *limits,
                         const tly_wire_request *request, uint8_t *work, decision *d,
                         tly_nest *native, tly_error *error) {
    tly_descriptor stored;
    /* First of all: what changes from here on is noticed. */
    int has_source = tly_catalogue_get_source(
        entry->store, entry->store != NULL ? entry->index : (uintptr_t)entry->data, &a->source);
    tly_status status =
        tly_answer_describe(entry, limits->cancel, work, TLY_CATALOGUE_WORK_LEN, &stored, error);
    if (status != TLY_OK) {
        return status;
    }
    note_place(a, entry);
    if (stored.layout == TLY_LAYOUT_COMPOSITE) {
        a->store = entry->store;
        snprintf(a->reason, sizeof a->reason, "a composite, as it is stored");
        return tly_answer_compose(a, entry, &stored, request->min_alignment, limits->cancel, error);
    }
    for (uint32_t i = 0; i < stored.num_buffers; i++) {
        if (stored.buffers[i].device != TLY_DEVICE_CPU) {
            return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "stored-device",
                                 "the tensor is stored for device %u", stored.buffers[i].device);
        }
    }
    memset(d, 0, sizeof *d);
    d->answer = a;
    d->limits = limits;
    d->stored = &stored;
    d->entry = entry;
    d->has_source = has_source;
    d->allow_transcode = (request->request_flags & TLY_WIRE_ALLOW_TRANSCODE) != 0;
    d->min_alignment = request->min_alignment;
    /* A tensor with more sections (quantization, shard, ...) would lose them in a packing. */
    if (stored.flags == 0 && stored.num_buffers == 1 &&
        tly_descriptor_nest(&stored, native, &d->error) == TLY_OK) {
        d->native = native;
    }
    a->store = entry->store;
    status = choose(a, entry, d, request, error);
    if (status == TLY_OK && a->maker != NULL) {
        a->total = tly_maker_len(a->maker);
    } else if (status == TLY_OK) {
        for (uint32_t i = 0; i < a->num_parts; i++) {
            a->total += a->parts[i].len;
        }
    }
    return status;
}

static uint32_t code_of(tly_status status) {
    switch (status) {
    case TLY_NOT_FOUND:
        return TLY_WIRE_UNKNOWN_TENSOR;
    case TLY_UNSUPPORTED:
        return TLY_WIRE_LAYOUT_UNAVAILABLE;
    default:
        return TLY_WIRE_SERVER_FAILED;
    }
}

/* For clients: the log says which object it is. */
static const char *origin_failure(int is_intact) {
    return is_intact ? "the store that has this tensor does not answer as it should"
                     : "the object that has this tensor has changed since the server opened it";
}

/* Is this a failure of the store that has the tensor, and not of the tensor or the request? */
static int is_elsewhere(tly_status status, const tly_error *error) {
    return status == TLY_IO || status == TLY_MISMATCH || status == TLY_CANCELLED ||
           strncmp(error->rule, "http-", 5) == 0;
}

tly_status tly_answer_init(tly_answer *answer, const tly_context *context,
                           const tly_catalogue *catalogue, tly_answer_limits *limits,
                           const tly_wire_hello *client, const tly_wire_request *request,
                           uint32_t *out_code, tly_error *error) {
    static const uint8_t cpu[] = {TLY_DEVICE_CPU};
    static const uint8_t standard[] = {TLY_MEMORY_STANDARD};
    struct {
        decision d;
        tly_nest native;
        uint8_t bytes[TLY_CATALOGUE_WORK_LEN];
    } * work;
    const tly_catalogue_entry *entry;
    tly_status status;
    uint8_t device, memory_class;
    memset(answer, 0, sizeof *answer);
    answer->context = context;
    *out_code = tly_wire_choose_device(request->preferred_device, cpu, 1, cpu, 1, client->devices,
                                       client->num_devices, &device);
    if (*out_code != 0) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "device",
                             "this server places tensors on device 0 (CPU) only, not on %u",
                             request->preferred_device);
    }
    *out_code = tly_wire_choose_memory_class(client->memory_classes, client->num_memory_classes,
                                             standard, 1, &memory_class);
    if (*out_code != 0) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "memory-class",
                             "this server produces memory of class 0 (STANDARD) only, which the "
                             "client does not take");
    }
    entry = tly_catalogue_find(catalogue, request->key, request->key_len, &answer->hold);
    if (entry == NULL) {
        char shown[160];
        *out_code = TLY_WIRE_UNKNOWN_TENSOR;
        return tly_base_fail(
            error, TLY_NOT_FOUND, TLY_NO_OFFSET, "key", "there is no tensor called \"%s\"",
            tly_base_printable(shown, sizeof shown, request->key, request->key_len));
    }
    work = tly_base_alloc(context, sizeof *work, 16);
    if (work == NULL) {
        status =
            tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a request");
    } else {
        status =
            decide(answer, entry, limits, request, work->bytes, &work->d, &work->native, error);
        tly_base_free(context, work, sizeof *work, 16);
    }
    if (status != TLY_OK && entry->store != NULL && tly_store_blocks(entry->store) != NULL &&
        is_elsewhere(status, error)) {
        status = tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "origin", "%s",
                               origin_failure(tly_blocks_intact(tly_store_blocks(entry->store))));
    }
    if (status != TLY_OK) {
        *out_code = code_of(status);
        tly_answer_cleanup(answer);
    }
    return status;
}

int tly_answer_wants_hold(const tly_answer *answer) {
    return answer->blocks != NULL && answer->maker != NULL && !tly_maker_copies(answer->maker);
}

tly_status tly_answer_hold(const tly_answer *answer, const int32_t *cancel,
                           tly_block_hold *out_hold) {
    return tly_blocks_hold(answer->blocks, answer->data_offset, answer->data_len, ROOM_MS, cancel,
                           out_hold, NULL);
}

const char *tly_answer_failure(const tly_answer *answer, tly_status status) {
    if (status == TLY_TRUNCATED) {
        return "the file of this tensor was cut short while it was being packed";
    }
    if (answer->blocks == NULL || status == TLY_OUT_OF_MEMORY) {
        return tly_status_text(status);
    }
    return status == TLY_LIMIT ? "the tensor does not fit among the blocks that the server keeps"
                               : origin_failure(tly_blocks_intact(answer->blocks));
}

void tly_answer_cleanup(tly_answer *answer) {
    tly_upload_drop(answer->hold);
    answer->hold = NULL;
    tly_maker_free(answer->maker);
    tly_answer_drop_members(answer);
    tly_base_free(answer->context, answer->descriptor, answer->descriptor_len, 1);
    tly_base_free(answer->context, answer->parts, answer->num_parts * sizeof *answer->parts,
                  _Alignof(tly_catalogue_bytes));
    answer->maker = NULL;
    answer->descriptor = NULL;
    answer->parts = NULL;
    answer->num_parts = 0;
}

tly_status tly_answer_layouts(uint8_t *buffer, const tly_families *families, int hands_over,
                              tly_wire_layouts *out_list) {
    static const uint8_t core[] = {
        TLY_LAYOUT_ROW_MAJOR, TLY_LAYOUT_COL_MAJOR,   TLY_LAYOUT_STRIDED, TLY_LAYOUT_TILED,
        TLY_LAYOUT_MORTON,    TLY_LAYOUT_COO,         TLY_LAYOUT_CSR,     TLY_LAYOUT_CSC,
        TLY_LAYOUT_CSF,       TLY_LAYOUT_BLOCK_PAGED, TLY_LAYOUT_HILBERT, TLY_PANEL_LAYOUT_TAG};
    tly_wire_layout made[sizeof core + 16] = {0}; /* private ones without metadata: any */
    uint32_t num = 0, tags = 0;
    const tly_family *family;
    for (uint32_t i = 0; i < sizeof core; i++) {
        made[num++].tag = core[i];
    }
    for (uint32_t i = 0; (family = tly_families_at(families, i)) != NULL; i++) {
        if ((tags >> (family->tag & 15) & 1) == 0) {
            tags |= 1u << (family->tag & 15);
            made[num++].tag = (uint8_t)family->tag;
        }
    }
    made[num++] = tly_net_range_announcement();
    if (hands_over) {
        made[num++] = tly_net_handover_entry();
    }
    return tly_wire_layouts_put(made, num, buffer, TLY_ANSWER_LAYOUTS_LEN, out_list, NULL);
}
