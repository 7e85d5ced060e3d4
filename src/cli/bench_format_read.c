/* SPDX-License-Identifier: Apache-2.0 */
/* tilery bench format: reading descriptors and containers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tilery/store.h>
#include <tilery/tensor.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "cli/bench_format.h"

/* ---- Descriptors ---- */

#define NUM_DESCRIPTORS 256
#define MAX_LEN         273

typedef struct descriptors {
    uint8_t bytes[NUM_DESCRIPTORS][MAX_LEN];
    uint8_t work[MAX_LEN + 32];
    size_t len; /* of each */
    uint64_t sum;
} descriptors;

/* One dimension of float32. */
static tly_status encode_small(uint32_t number, void *out, size_t *out_len, tly_error *error) {
    uint64_t shape[1] = {1 + number * 37};
    tly_buffer_info buffer;
    tly_descriptor d;
    tly_status status = tly_descriptor_init_row_major(&d, &buffer, TLY_F32, 1, shape);
    return status == TLY_OK ? tly_descriptor_encode(&d, out, MAX_LEN, out_len, error) : status;
}

/* Four dimensions of int8 with a scale and a zero point for every 32 elements, a shard of a larger
 * tensor, with statistics. */
static tly_status encode_large(uint32_t number, void *out, size_t *out_len, tly_error *error) {
    uint64_t shape[4] = {2, 3 + number % 5, 8 * (1 + number % 7), 64};
    uint64_t parent[4] = {shape[0], shape[1] + number, 2 * shape[2], 64};
    uint64_t offset[4] = {0, number, 0, 0};
    uint64_t num = shape[0] * shape[1] * shape[2] * shape[3];
    tly_shard shard = {parent, offset};
    tly_statistics statistics = {.mask = TLY_STATISTICS_RANGE | TLY_STATISTICS_MOMENTS,
                                 .minimum = -1.5,
                                 .maximum = 2,
                                 .absolute_maximum = 2,
                                 .mean = 0.125,
                                 .deviation = 0.5};
    tly_quantization quantization = {.scheme = TLY_QUANT_PER_BLOCK,
                                     .version = 1,
                                     .axis = 3,
                                     .block_size = 32,
                                     .scale_buffer = 1,
                                     .zero_point_buffer = 2,
                                     .scale_type = TLY_F32};
    tly_buffer_info buffers[3];
    tly_descriptor d;
    tly_status status = tly_descriptor_init_row_major(&d, buffers, TLY_I8, 4, shape);
    buffers[1] = buffers[2] = (tly_buffer_info){.byte_size = num / 32 * 4, .alignment = 64};
    d.num_buffers = 3;
    d.shard = &shard;
    d.statistics = &statistics;
    d.quantization = &quantization;
    return status == TLY_OK ? tly_descriptor_encode(&d, out, MAX_LEN, out_len, error) : status;
}

/* Reads every descriptor with every check that the library has for one. */
static tly_status decode_all(void *user, uint64_t turn, tly_error *error) {
    descriptors *all = user;
    (void)turn;
    for (uint32_t i = 0; i < NUM_DESCRIPTORS; i++) {
        tly_descriptor d;
        tly_status status = tly_descriptor_decode(all->bytes[i], all->len, all->work,
                                                  sizeof all->work, &d, NULL, error);
        if (status == TLY_OK) {
            status = tly_descriptor_check_buffers(&d, error);
        }
        if (status != TLY_OK) {
            return status;
        }
        all->sum += d.shape[0];
    }
    return TLY_OK;
}

static tly_status sum_all(void *user, uint64_t turn, tly_error *error) {
    descriptors *all = user;
    (void)turn, (void)error;
    for (uint32_t i = 0; i < NUM_DESCRIPTORS; i++) {
        all->sum += tly_base_crc32c(0, all->bytes[i], all->len);
    }
    return TLY_OK;
}

static tly_status run_decode(tly_bench *bench, const tly_bench_case *self, size_t wanted_len,
                             tly_status (*encode)(uint32_t, void *, size_t *, tly_error *),
                             tly_error *error) {
    descriptors *all = calloc(1, sizeof *all);
    tly_bench_side sides[] = {{"decode", decode_all, all}, {"crc32c", sum_all, all}};
    tly_bench_times times[2];
    double ticks = tly_bench_ticks_per_second() / NUM_DESCRIPTORS;
    tly_status status = TLY_OK;
    if (all == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    for (uint32_t i = 0; i < NUM_DESCRIPTORS && status == TLY_OK; i++) {
        status = encode(i, all->bytes[i], &all->len, error);
        if (status == TLY_OK && all->len != wanted_len) {
            status = tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "",
                                   "the descriptor has %zu bytes, not %zu", all->len, wanted_len);
        }
    }
    if (ticks == 0) {
        tly_bench_skip(bench, self, "there is no time-stamp counter here");
    } else if (status == TLY_OK) {
        status = tly_bench_compare(bench, sides, 2, times, error);
        if (status == TLY_OK) {
            tly_bench_report(bench, self, self->name, times[0].median * ticks,
                             times[1].median * ticks, times[0].runs, times[0].spread,
                             "reference: CRC-32C of the same bytes");
        }
    }
    tly_bench_keep(all);
    free(all);
    return status;
}

tly_status tly_bench_format_decode_53(tly_bench *bench, const tly_bench_case *self,
                                      tly_error *error) {
    return run_decode(bench, self, 53, encode_small, error);
}

tly_status tly_bench_format_decode_273(tly_bench *bench, const tly_bench_case *self,
                                       tly_error *error) {
    return run_decode(bench, self, 273, encode_large, error);
}

/* ---- Containers ---- */

#define NUM_TENSORS 2000
#define PIECE_LEN   ((size_t)1 << 20)

typedef struct container {
    const tly_context *context;
    char folder[64];
    char path[80];
    uint8_t *memory; /* PIECE_LEN bytes, or the whole tensor */
    uint64_t len;    /* bytes of the tensor that is read */
    uint64_t data_offset;
    uint64_t index_len;
    uint64_t sum;
} container;

static tly_status begin_container(container *c, const tly_context *context, tly_error *error) {
    const char *base = getenv("TMPDIR");
    *c = (container){.context = context};
    snprintf(c->folder, sizeof c->folder, "%.40s/tilery-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(c->folder) == NULL) {
        return tly_base_fail_errno(error, errno, "cannot make a folder in %.100s",
                                   base != NULL ? base : "/tmp");
    }
    snprintf(c->path, sizeof c->path, "%s/bench.hrry", c->folder);
    return TLY_OK;
}

static void end_container(container *c) {
    unlink(c->path);
    rmdir(c->folder);
    free(c->memory);
}

static tly_status write_many(const container *c, tly_error *error) {
    tly_store_writer *writer;
    tly_status status = tly_store_writer_new(c->context, c->path, NULL, &writer, error);
    if (status != TLY_OK) {
        return status;
    }
    for (uint32_t i = 0; i < NUM_TENSORS && status == TLY_OK; i++) {
        static const uint8_t data[64] = {1};
        const void *buffers[] = {data};
        uint64_t shape[] = {4, 4};
        tly_buffer_info buffer;
        tly_descriptor d;
        char name[64];
        snprintf(name, sizeof name, "model.layers.%u.self_attn.q_proj.weight", i);
        status = tly_descriptor_init_row_major(&d, &buffer, TLY_F32, 2, shape);
        if (status == TLY_OK) {
            status = tly_store_writer_add(writer, name, strlen(name), &d, buffers, error);
        }
    }
    if (status == TLY_OK) {
        status = tly_store_writer_commit(writer, error);
    }
    tly_store_writer_free(writer);
    return status;
}

static tly_status open_file(void *user, uint64_t turn, tly_error *error) {
    container *c = user;
    tly_store *store;
    tly_status status = tly_store_open(c->context, c->path, NULL, &store, error);
    (void)turn;
    if (status == TLY_OK) {
        c->sum += tly_store_num_tensors(store);
        tly_store_free(store);
    }
    return status;
}

/* Reads as many bytes as the index has from the end of the file, and sums them up. */
static tly_status read_index(void *user, uint64_t turn, tly_error *error) {
    container *c = user;
    int fd = open(c->path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? pread(fd, c->memory, (size_t)c->index_len, (off_t)c->data_offset) : -1;
    (void)turn;
    if (fd >= 0) {
        close(fd);
    }
    if (got != (ssize_t)c->index_len) {
        return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "cannot read %s", c->path);
    }
    c->sum += tly_base_crc32c(0, c->memory, (size_t)got);
    return TLY_OK;
}

/* Where the index lies is what stands behind the last tensor. */
static tly_status find_index(container *c, tly_error *error) {
    tly_store *store;
    tly_status status = tly_store_open(c->context, c->path, NULL, &store, error);
    uint64_t end = 0;
    int fd;
    if (status != TLY_OK) {
        return status;
    }
    for (uint64_t i = 0; i < tly_store_num_tensors(store); i++) {
        tly_store_entry entry;
        tly_store_entry_at(store, i, &entry);
        end = entry.data_offset + entry.data_len > end ? entry.data_offset + entry.data_len : end;
    }
    tly_store_free(store);
    fd = open(c->path, O_RDONLY | O_CLOEXEC);
    c->data_offset = end;
    c->index_len = fd >= 0 ? (uint64_t)lseek(fd, 0, SEEK_END) - end : 0;
    if (fd >= 0) {
        close(fd);
    }
    c->memory = malloc((size_t)c->index_len + 1);
    return c->memory != NULL
               ? TLY_OK
               : tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
}

tly_status tly_bench_format_open(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    container c;
    tly_bench_side sides[] = {{"open", open_file, &c}, {"crc32c", read_index, &c}};
    tly_bench_times times[2];
    double ticks = tly_bench_ticks_per_second() / NUM_TENSORS;
    tly_status status = begin_container(&c, tly_bench_context(bench), error);
    if (status != TLY_OK) {
        return status;
    }
    status = write_many(&c, error);
    if (status == TLY_OK) {
        status = find_index(&c, error);
    }
    if (status == TLY_OK && ticks == 0) {
        tly_bench_skip(bench, self, "there is no time-stamp counter here");
    } else if (status == TLY_OK) {
        status = tly_bench_compare(bench, sides, 2, times, error);
        if (status == TLY_OK) {
            tly_bench_report(bench, self, self->name, times[0].median * ticks,
                             times[1].median * ticks, times[0].runs, times[0].spread,
                             "for each of 2000 tensors; reference: reading and CRC-32C of the "
                             "index");
        }
    }
    end_container(&c);
    return status;
}

static tly_status write_one(container *c, tly_error *error) {
    tly_store_writer *writer;
    tly_store_entry entry;
    tly_store *store;
    uint64_t shape[] = {c->len / 4};
    tly_buffer_info buffer;
    tly_descriptor d;
    tly_status status = tly_store_writer_new(c->context, c->path, NULL, &writer, error);
    if (status != TLY_OK) {
        return status;
    }
    status = tly_descriptor_init_row_major(&d, &buffer, TLY_F32, 1, shape);
    if (status == TLY_OK) {
        status = tly_store_writer_begin(writer, "w", 1, &d, error);
    }
    for (uint64_t at = 0; at < c->len && status == TLY_OK; at += PIECE_LEN) {
        status = tly_store_writer_append(writer, c->memory, PIECE_LEN, error);
    }
    status = status == TLY_OK ? tly_store_writer_end(writer, error) : status;
    status = status == TLY_OK ? tly_store_writer_commit(writer, error) : status;
    tly_store_writer_free(writer);
    status = status == TLY_OK ? tly_store_open(c->context, c->path, NULL, &store, error) : status;
    if (status == TLY_OK) {
        tly_store_entry_at(store, 0, &entry);
        c->data_offset = entry.data_offset;
        tly_store_free(store);
    }
    return status;
}

/* From the closed file to its elements in the caller's memory. */
static tly_status read_tensor(void *user, uint64_t turn, tly_error *error) {
    container *c = user;
    uint64_t work[TLY_STORE_WORK_LEN / 8];
    tly_descriptor d;
    tly_store *store;
    uint64_t offset, len;
    tly_status status = tly_store_open(c->context, c->path, NULL, &store, error);
    (void)turn;
    if (status != TLY_OK) {
        return status;
    }
    status = tly_store_descriptor(store, 0, work, sizeof work, &d, error);
    if (status == TLY_OK) {
        status = tly_store_buffer_range(store, 0, &d, 0, &offset, &len);
    }
    if (status == TLY_OK) {
        status = tly_store_read(store, 0, offset, c->memory, len, error);
    }
    tly_store_free(store);
    return status;
}

static tly_status read_plain(void *user, uint64_t turn, tly_error *error) {
    container *c = user;
    int fd = open(c->path, O_RDONLY | O_CLOEXEC);
    uint64_t done = 0;
    (void)turn;
    if (fd < 0 || lseek(fd, (off_t)c->data_offset, SEEK_SET) < 0) {
        if (fd >= 0) {
            close(fd);
        }
        return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "cannot read %s", c->path);
    }
    while (done < c->len) {
        ssize_t got = read(fd, c->memory + done, PIECE_LEN);
        if (got <= 0) {
            break;
        }
        done += (uint64_t)got;
    }
    close(fd);
    return done >= c->len
               ? TLY_OK
               : tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "cannot read %s", c->path);
}

tly_status tly_bench_format_read(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    container c;
    tly_bench_side sides[] = {{"store", read_tensor, &c}, {"read", read_plain, &c}};
    tly_bench_times times[2];
    tly_status status = begin_container(&c, tly_bench_context(bench), error);
    if (status != TLY_OK) {
        return status;
    }
    c.len = UINT64_C(256) << 20;
    c.memory = malloc((size_t)c.len + PIECE_LEN);
    if (c.memory == NULL) {
        end_container(&c);
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    memset(c.memory, 1, (size_t)c.len + PIECE_LEN); /* touched: both sides fill warm pages */
    status = write_one(&c, error);
    if (status == TLY_OK) {
        status = tly_bench_compare(bench, sides, 2, times, error);
    }
    if (status == TLY_OK) {
        tly_bench_report_rate(bench, self, self->name, (double)c.len / 1e9, &times[0], &times[1],
                              "open, read, close; reference: read() of 1 MiB a call");
    }
    end_container(&c);
    return status;
}
