/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of the sparse, paged and virtual layouts, and of the Hilbert curve. */
#include "tensor/layouts.h"

#include <string.h>

#include "tensor/composite.h"

/* `len` reserved bytes that must be 0. */
static tly_status read_zeros(tly_tensor_reader *reader, uint32_t len, const char *rule) {
    uint64_t at = tly_cursor_offset(&reader->in);
    const uint8_t *bytes;
    if (!tly_cursor_take(&reader->in, len, &bytes)) {
        return tly_tensor_short(reader, "reserved bytes");
    }
    for (uint32_t i = 0; i < len; i++) {
        if (bytes[i] != 0) {
            return tly_base_fail(reader->error, TLY_MALFORMED, at + i, rule,
                                 "a reserved byte of the layout is %u, not 0", bytes[i]);
        }
    }
    return TLY_OK;
}

/* Layouts without a first element have no offset of it (Hurray 1.0, memory-layout, byte_offset). */
static tly_status check_no_offset(const tly_tensor_reader *reader, const char *rule) {
    if (reader->out->byte_offset != 0) {
        return tly_base_fail(reader->error, TLY_MALFORMED, 20 + 8 * (uint64_t)reader->out->rank,
                             rule, "byte offset %llu: layout 0x%02X (%s) takes 0 only",
                             (unsigned long long)reader->out->byte_offset, reader->out->layout,
                             tly_layout_name(reader->out->layout));
    }
    return TLY_OK;
}

static tly_status read_nnz(tly_tensor_reader *reader) {
    tly_status status = check_no_offset(reader, "D-BYTEOFF-SPARSE");
    if (status == TLY_OK && !tly_cursor_u64(&reader->in, &reader->out->nnz)) {
        return tly_tensor_short(reader, "number of stored elements");
    }
    return status;
}

tly_status tly_tensor_read_coo(tly_tensor_reader *reader) {
    tly_status status = read_nnz(reader);
    if (status != TLY_OK) {
        return status;
    }
    if (!tly_cursor_u8(&reader->in, &reader->out->is_sorted)) {
        return tly_tensor_short(reader, "order of the elements");
    }
    if (reader->out->is_sorted > 1) {
        return tly_base_fail(reader->error, TLY_MALFORMED, tly_cursor_offset(&reader->in) - 1,
                             "L-COO-SORTED", "is_sorted is %u, not 0 or 1", reader->out->is_sorted);
    }
    return read_zeros(reader, 7, "L-COO-RSV");
}

void tly_tensor_write_coo(tly_tensor_writer *writer, const tly_descriptor *d) {
    tly_tensor_put_u64(writer, d->nnz);
    tly_tensor_put_u8(writer, d->is_sorted);
    tly_tensor_put(writer, "\0\0\0\0\0\0\0", 7);
}

static tly_status read_compressed(tly_tensor_reader *reader, const char *rank_rule,
                                  const char *reserved_rule) {
    tly_status status;
    if (reader->out->rank != 2) {
        return tly_base_fail(reader->error, TLY_MALFORMED, 16, rank_rule,
                             "rank %u: a compressed matrix has rank 2", reader->out->rank);
    }
    status = read_nnz(reader);
    return status == TLY_OK ? read_zeros(reader, 8, reserved_rule) : status;
}

tly_status tly_tensor_read_csr(tly_tensor_reader *reader) {
    return read_compressed(reader, "L-CSR-RANK", "L-CSR-RSV");
}

tly_status tly_tensor_read_csc(tly_tensor_reader *reader) {
    return read_compressed(reader, "L-CSC-RANK", "L-CSC-RSV");
}

void tly_tensor_write_compressed(tly_tensor_writer *writer, const tly_descriptor *d) {
    tly_tensor_put_u64(writer, d->nnz);
    tly_tensor_put_u64(writer, 0);
}

tly_status tly_tensor_read_csf(tly_tensor_reader *reader) {
    const tly_descriptor *d = reader->out;
    uint64_t seen = 0;
    uint64_t at;
    tly_status status;
    if (d->rank < 3) {
        return tly_base_fail(reader->error, TLY_MALFORMED, 16, "L-CSF-RANK",
                             "rank %u: compressed fibers need at least 3", d->rank);
    }
    status = read_nnz(reader);
    if (status != TLY_OK) {
        return status;
    }
    at = tly_cursor_offset(&reader->in);
    status = tly_tensor_read_u32s(reader, d->rank, &reader->out->mode_order, "mode order");
    if (status != TLY_OK) {
        return status;
    }
    for (uint32_t k = 0; k < d->rank; k++) {
        uint32_t axis = d->mode_order[k];
        if (axis >= d->rank || (seen >> axis & 1) != 0) {
            return tly_base_fail(reader->error, TLY_MALFORMED, at + (uint64_t)k * 4, "L-CSF-PERM",
                                 "the mode order names axis %u twice or outside the rank", axis);
        }
        seen |= UINT64_C(1) << axis;
    }
    return read_zeros(reader, 8, "L-CSF-RSV");
}

void tly_tensor_write_csf(tly_tensor_writer *writer, const tly_descriptor *d) {
    tly_tensor_put_u64(writer, d->nnz);
    for (uint32_t k = 0; k < d->rank; k++) {
        tly_tensor_put_u32(writer, d->mode_order[k]);
    }
    tly_tensor_put_u64(writer, 0);
}

#define PAGED_LEN 32

tly_status tly_tensor_read_paged(tly_tensor_reader *reader) {
    uint64_t at = tly_cursor_offset(&reader->in);
    const uint8_t *bytes;
    tly_block_paged *paged;
    tly_status status;
    if (reader->out->rank != 3) {
        return tly_base_fail(reader->error, TLY_MALFORMED, 16, "L-BP-RANK",
                             "rank %u: a block-paged tensor has rank 3", reader->out->rank);
    }
    status = check_no_offset(reader, "D-BYTEOFF-SPARSE");
    if (status != TLY_OK) {
        return status;
    }
    if (!tly_cursor_take(&reader->in, PAGED_LEN - 6, &bytes)) {
        return tly_tensor_short(reader, "page fields");
    }
    paged = tly_tensor_room(reader, sizeof *paged);
    if (paged == NULL) {
        return tly_tensor_no_room(reader);
    }
    memset(paged, 0, sizeof *paged);
    paged->page_size = tly_base_load_u32(bytes);
    paged->num_pages = tly_base_load_u64(bytes + 4);
    paged->paged_axis = tly_base_load_u32(bytes + 12);
    paged->num_seqs = tly_base_load_u32(bytes + 16);
    paged->kv_role = bytes[20];
    paged->layer_index = tly_base_load_u32(bytes + 21);
    paged->index_type = bytes[25];
    reader->out->paged = paged;
    if (paged->page_size == 0) {
        return tly_base_fail(reader->error, TLY_MALFORMED, at, "L-BP-PAGE0", "a page has 0 tokens");
    }
    if (paged->paged_axis != 0) {
        return tly_base_fail(reader->error, TLY_MALFORMED, at + 12, "L-BP-AXIS",
                             "axis %u is paged: only axis 0 can be", paged->paged_axis);
    }
    if (paged->kv_role > 2) {
        return tly_base_fail(reader->error, TLY_MALFORMED, at + 20, "L-BP-ROLE",
                             "role %u is not 0, 1 or 2", paged->kv_role);
    }
    if (paged->index_type > 1) {
        return tly_base_fail(reader->error, TLY_MALFORMED, at + 25, "L-BP-IDXT",
                             "index type %u is not 0 or 1", paged->index_type);
    }
    return read_zeros(reader, 6, "L-BP-RSV");
}

void tly_tensor_write_paged(tly_tensor_writer *writer, const tly_descriptor *d) {
    const tly_block_paged *paged = d->paged;
    tly_tensor_put_u32(writer, paged->page_size);
    tly_tensor_put_u64(writer, paged->num_pages);
    tly_tensor_put_u32(writer, paged->paged_axis);
    tly_tensor_put_u32(writer, paged->num_seqs);
    tly_tensor_put_u8(writer, paged->kv_role);
    tly_tensor_put_u32(writer, paged->layer_index);
    tly_tensor_put_u8(writer, paged->index_type);
    tly_tensor_put(writer, "\0\0\0\0\0\0", 6);
}

static tly_status check_composite(const tly_tensor_reader *reader, uint64_t at) {
    const tly_descriptor *d = reader->out;
    const tly_composite *c = &d->composite;
    tly_error *error = reader->error;
    if (c->rule < TLY_RULE_PARTITION || c->rule > TLY_RULE_GROUP) {
        int is_private = c->rule >= 0xF0 && c->rule != 0xFF;
        return tly_base_fail(error, is_private ? TLY_UNSUPPORTED : TLY_MALFORMED, at,
                             is_private ? "C-RULE-PRIVATE" : "C-RULE",
                             "composition rule 0x%02X is %s", c->rule,
                             is_private ? "private" : "reserved");
    }
    if (c->rule == TLY_RULE_OVERLAY ? c->operation < 1 || c->operation > 2 : c->operation != 0) {
        return tly_base_fail(error, TLY_MALFORMED, at + 1, "C-COMBINE",
                             "operation 0x%02X does not belong to composition rule %u",
                             c->operation, c->rule);
    }
    if (c->reserved != 0) {
        return tly_base_fail(error, TLY_MALFORMED, at + 2, "C-RSV",
                             "reserved bytes of the composite are not 0");
    }
    if (c->member_count == UINT32_MAX) {
        return tly_base_fail(error, TLY_MALFORMED, at + 4, "C-OPEN",
                             "the number of members is left open");
    }
    if (c->rule == TLY_RULE_OVERLAY && c->member_count == 0) {
        return tly_base_fail(error, TLY_MALFORMED, at + 4, "C-OVERLAY-EMPTY",
                             "an overlay without a base");
    }
    for (uint32_t k = 0; k < d->rank && c->rule != TLY_RULE_GROUP; k++) {
        if (d->shape[k] == TLY_DYNAMIC) {
            return tly_base_fail(error, TLY_MALFORMED, 20 + 8 * (uint64_t)k, "C-DYNAMIC",
                                 "axis %u of a composite has no extent", k);
        }
    }
    if ((d->flags & TLY_FLAG_QUANTIZATION) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, 10, "C-QUANT",
                             "the head of a composite is quantized");
    }
    if ((d->flags & TLY_FLAG_COMPOSITE_MEMBER) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, 10, "C-HEAD-MEMBER",
                             "the head of a composite is a member of an overlay");
    }
    return TLY_OK;
}

tly_status tly_tensor_read_composite(tly_tensor_reader *reader) {
    tly_composite *c = &reader->out->composite;
    uint64_t at = tly_cursor_offset(&reader->in);
    const uint8_t *bytes;
    tly_status status = check_no_offset(reader, "C-BYTEOFF");
    if (status != TLY_OK) {
        return status;
    }
    if (!tly_cursor_take(&reader->in, 8, &bytes)) {
        return tly_tensor_short(reader, "composite fields");
    }
    c->rule = bytes[0];
    c->operation = bytes[1];
    c->reserved = tly_base_load_u16(bytes + 2);
    c->member_count = tly_base_load_u32(bytes + 4);
    return check_composite(reader, at);
}

void tly_tensor_write_composite(tly_tensor_writer *writer, const tly_descriptor *d) {
    tly_tensor_put_u8(writer, d->composite.rule);
    tly_tensor_put_u8(writer, d->composite.operation);
    tly_tensor_put_u8(writer, (uint8_t)d->composite.reserved);
    tly_tensor_put_u8(writer, (uint8_t)(d->composite.reserved >> 8));
    tly_tensor_put_u32(writer, d->composite.member_count);
}

tly_status tly_tensor_read_hilbert(tly_tensor_reader *reader) {
    const tly_descriptor *d = reader->out;
    uint64_t at = tly_cursor_offset(&reader->in);
    uint32_t rank;
    if (!tly_cursor_u32(&reader->in, &reader->out->hilbert_order) ||
        !tly_cursor_u32(&reader->in, &rank)) {
        return tly_tensor_short(reader, "Hilbert fields");
    }
    if (d->hilbert_order == 0) {
        return tly_base_fail(reader->error, TLY_MALFORMED, at, "L-HIL-ORDER0",
                             "the order of the Hilbert curve is 0");
    }
    if (rank < 2) {
        return tly_base_fail(reader->error, TLY_MALFORMED, at + 4, "L-HIL-RANK2",
                             "a Hilbert curve of rank %u: it needs 2", rank);
    }
    if (rank != d->rank) {
        return tly_base_fail(reader->error, TLY_MALFORMED, at + 4, "L-HIL-RANK",
                             "a Hilbert curve of rank %u in a tensor of rank %u", rank, d->rank);
    }
    for (uint32_t k = 0; k < d->rank; k++) {
        if (d->hilbert_order > 63 || d->shape[k] != UINT64_C(1) << d->hilbert_order) {
            return tly_base_fail(reader->error, TLY_MALFORMED, 20 + 8 * (uint64_t)k, "L-HIL-SHAPE",
                                 "axis %u: extent %llu is not 2^%u", k,
                                 (unsigned long long)d->shape[k], d->hilbert_order);
        }
    }
    return TLY_OK;
}

void tly_tensor_write_hilbert(tly_tensor_writer *writer, const tly_descriptor *d) {
    tly_tensor_put_u32(writer, d->hilbert_order);
    tly_tensor_put_u32(writer, d->rank);
}
