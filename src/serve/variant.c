/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/variant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/context.h"
#include "base/populate.h"
#include "panel/hash.h"
#include "serve/server.h"

#define LEAST_PIECE (UINT64_C(1) << 20)
#define MOST_PIECE  (UINT64_C(4) << 20)
#define PAGE_LEN    UINT64_C(4096)

/* What a variant counts for: its pages, and the object. */
static uint64_t cost(uint64_t len) {
    return ((len + PAGE_LEN - 1) & ~(PAGE_LEN - 1)) + PAGE_LEN;
}

/* ---- the list and the buckets ---- */

/* NULL for NULL. */
static tly_variant *variant_of(tly_use_link *use) {
    return (tly_variant *)(void *)use;
}

static tly_variant **bucket(tly_variants *all, uint64_t hash) {
    return &all->buckets[hash % VARIANT_BUCKETS];
}

static tly_variant *find(tly_variants *all, const tly_answer *answer, uint64_t hash) {
    tly_variant *v = *bucket(all, hash);
    while (v != NULL && (v->hash != hash || v->key_len != answer->variant_len ||
                         memcmp(v->key, answer->variant, v->key_len) != 0)) {
        v = v->chained;
    }
    return v;
}

/* It can be found from now on. */
static void list(tly_variant *v, uint64_t hash) {
    tly_variants *all = &v->server->variants;
    v->hash = hash;
    v->chained = *bucket(all, hash);
    *bucket(all, hash) = v;
    tly_use_add(&all->order, &v->use);
    v->listed = 1;
    all->num++;
}

/* It cannot be found any more; its memory still counts. */
static void unlist(tly_variant *v) {
    tly_variants *all = &v->server->variants;
    tly_variant **link = bucket(all, v->hash);
    if (!v->listed) {
        return;
    }
    while (*link != v) {
        link = &(*link)->chained;
    }
    *link = v->chained;
    tly_use_remove(&all->order, &v->use);
    v->listed = 0;
    all->num--;
}

/* ---- memory ---- */

static void close_file(tly_variant *v) {
    if (v->write_map != NULL) {
        munmap(v->write_map, (size_t)v->len);
    }
    if (v->map != NULL) {
        munmap(v->map - v->file_offset, (size_t)(v->len + v->file_offset));
    }
    if (v->write_fd >= 0) {
        close(v->write_fd);
    }
    if (v->share_fd >= 0 && v->share_fd != v->fd) {
        close(v->share_fd);
        v->server->variants.used -= cost(v->len);
    }
    if (v->fd >= 0) {
        close(v->fd);
    }
}

/* Nothing more is read of the tensor. */
static void drop_answer(tly_variant *v) {
    tly_blocks_release(&v->hold);
    tly_memo_drop(v->answer);
    v->answer = NULL;
}

static void free_variant(tly_variant *v) {
    tly_server *server = v->server;
    unlist(v);
    close_file(v);
    drop_answer(v);
    server->variants.used -= cost(v->len);
    tly_base_free(server->context, v, sizeof *v, _Alignof(tly_variant));
}

/* A memory file by a descriptor that can write and one that cannot. Returns 0 where there is none;
 * what was opened is the caller's all the same. */
static int open_memory(uint64_t len, int *out_write_fd, int *out_fd) {
    char self[32];
    *out_write_fd = memfd_create("tilery-variant", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*out_write_fd < 0 || ftruncate(*out_write_fd, (off_t)len) != 0) {
        return 0;
    }
    snprintf(self, sizeof self, "/proc/self/fd/%d", *out_write_fd);
    *out_fd = open(self, O_RDONLY | O_CLOEXEC);
    return *out_fd >= 0;
}

/* No map that could write may be left. */
static int seal_file(int fd) {
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0;
}

/* The readers' map is made of a descriptor that cannot write: a writable map, even one that could
 * only become writable, would keep the file from being sealed. */
static int open_file(tly_variant *v) {
    void *map;
    if (!open_memory(v->len, &v->write_fd, &v->fd)) {
        return 0;
    }
    map = mmap(NULL, (size_t)v->len, PROT_READ, MAP_SHARED, v->fd, 0);
    if (map == MAP_FAILED) {
        return 0;
    }
    v->map = map;
    map = mmap(NULL, (size_t)v->len, PROT_READ | PROT_WRITE, MAP_SHARED, v->write_fd, 0);
    if (map == MAP_FAILED) {
        return 0;
    }
    v->write_map = map;
    return 1;
}

/* Drops what nobody reads, the least recently used first, until `len` bytes fit. */
static int make_room(tly_variants *all, uint64_t len) {
    tly_variant *v = variant_of(all->order.oldest);
    if (cost(len) > all->limit) {
        return 0;
    }
    while (v != NULL && all->used > all->limit - cost(len)) {
        tly_variant *newer = variant_of(v->use.newer);
        if (v->num_readers == 0 && v->busy == 0) {
            free_variant(v);
        }
        v = newer;
    }
    return all->used <= all->limit - cost(len);
}

/* Was it made from a tensor in memory? */
static int is_of_memory(const tly_variant *v) {
    tly_catalogue_source source;
    memcpy(&source, v->key, sizeof source);
    return source.device == 0 && source.inode == 0;
}

/* Takes a variant that an earlier run has kept. Returns 0 if there is none. */
static int open_kept(tly_variant *v) {
    void *map;
    if (v->server->persist == NULL || v->is_native || is_of_memory(v)) {
        return 0;
    }
    v->fd = tly_persist_load(v->server->persist, v->key, v->key_len, v->len);
    if (v->fd < 0) {
        return 0;
    }
    map = mmap(NULL, (size_t)(v->len + TLY_PERSIST_DATA_OFFSET), PROT_READ, MAP_SHARED, v->fd, 0);
    if (map == MAP_FAILED) {
        close(v->fd);
        v->fd = -1;
        return 0;
    }
    v->file_offset = TLY_PERSIST_DATA_OFFSET;
    v->map = (uint8_t *)map + v->file_offset;
    v->done_len = v->len;
    v->state = VARIANT_READY;
    v->kept = 1;
    atomic_fetch_add(&v->server->restored, 1);
    return 1;
}

/* ---- packing ---- */

static void start_jobs(tly_variant *v);

static void tell_readers(tly_variant *v) {
    v->busy++; /* stays meanwhile */
    /* A reader may leave, or another come, while one is told: each goes to the end first. */
    for (uint32_t n = v->num_readers; n != 0 && v->first != NULL; n--) {
        variant_reader *r = v->first;
        if (r->next != NULL) {
            v->first = r->next;
            r->next->previous = NULL;
            r->previous = v->last;
            r->next = NULL;
            v->last->next = r;
            v->last = r;
        }
        tly_serve_variant_moved(r);
    }
    v->busy--;
}

static void give_up(tly_variant *v) {
    v->state = VARIANT_BROKEN;
    __atomic_store_n(&v->cancel, 1, __ATOMIC_RELEASE);
    unlist(v);
}

/* Frees a variant that nothing holds and nobody can find. A caller does not touch it afterwards. */
static void let_go(tly_variant *v) {
    if (v->num_readers == 0 && v->busy == 0 && !v->listed) {
        free_variant(v);
    }
}

/* On a thread of the pool. */
static void seal(uv_work_t *work) {
    tly_variant *v = work->data;
    munmap(v->write_map, (size_t)v->len);
    v->write_map = NULL;
    if (seal_file(v->write_fd)) {
        v->share_fd = v->fd;
        v->share = VARIANT_SHARE_READY;
    } else {
        v->share = VARIANT_SHARE_NEVER;
    }
    close(v->write_fd);
    v->write_fd = -1;
}

/* On a thread of the pool. */
static void keep(uv_work_t *work) {
    tly_variant *v = work->data;
    tly_error error;
    if (tly_persist_save(v->server->persist, v->key, v->key_len, v->map, v->len, &error) !=
        TLY_OK) {
        tly_base_log(v->server->context, TLY_LOG_WARNING, "%s", error.message);
    }
}

static void kept(uv_work_t *work, int status) {
    tly_variant *v = work->data;
    tly_server *server = v->server;
    (void)status; /* work is never cancelled */
    v->busy--;
    server->keeping = 0;
    let_go(v);
    tly_variants_keep(server);
}

/* Keeps one variant after the other that is not kept yet, the newest first. */
void tly_variants_keep(tly_server *server) {
    tly_variant *v = variant_of(server->variants.order.newest);
    if (server->persist == NULL || server->keeping || server->stopping) {
        return;
    }
    while (v != NULL && (v->kept || v->is_native || v->state != VARIANT_READY || is_of_memory(v))) {
        v = variant_of(v->use.older);
    }
    if (v != NULL) {
        v->kept = server->keeping = 1; /* tried once */
        v->busy++;
        v->sealing.data = v;
        uv_queue_work(&server->loop, &v->sealing, keep, kept); /* fails on NULL arguments only */
    }
}

static void sealed(uv_work_t *work, int status) {
    tly_variant *v = work->data;
    tly_server *server;
    (void)status; /* work is never cancelled */
    v->busy--;
    if (v->state == VARIANT_SEALING) {
        v->state = VARIANT_READY;
    }
    tell_readers(v);
    server = v->server;
    let_go(v);
    tly_variants_keep(server);
}

/* ---- a copy that can be sealed, of a file on disk ---- */

/* On a thread of the pool. A file that was cut short meanwhile gives no copy. */
static void copy_file(uv_work_t *work) {
    tly_variant *v = work->data;
    off_t offset = (off_t)v->file_offset;
    uint64_t left = v->len;
    int write_fd = -1, fd = -1;
    int ok = open_memory(v->len, &write_fd, &fd);
    while (ok && left != 0) {
        ssize_t n = sendfile(write_fd, v->fd, &offset, left < (1u << 30) ? (size_t)left : 1u << 30);
        ok = n > 0 || (n < 0 && errno == EINTR);
        left -= n > 0 ? (uint64_t)n : 0;
    }
    ok = ok && seal_file(write_fd);
    if (write_fd >= 0) {
        close(write_fd);
    }
    if (!ok && fd >= 0) {
        close(fd);
    }
    v->share_fd = ok ? fd : -1;
}

static void file_copied(uv_work_t *work, int status) {
    tly_variant *v = work->data;
    (void)status; /* work is never cancelled */
    v->busy--;
    v->share = v->share_fd >= 0 ? VARIANT_SHARE_READY : VARIANT_SHARE_NEVER;
    if (v->share_fd < 0) {
        v->server->variants.used -= cost(v->len);
    }
    tell_readers(v);
    let_go(v);
}

variant_share tly_variant_share(tly_variant *variant) {
    tly_variant *v = variant;
    tly_variants *all = &v->server->variants;
    if (v->share == VARIANT_SHARE_NEW) {
        v->busy++; /* stays meanwhile */
        v->share = make_room(all, v->len) ? VARIANT_SHARE_COPYING : VARIANT_SHARE_NEVER;
        v->busy--;
        if (v->share == VARIANT_SHARE_COPYING) {
            all->used += cost(v->len);
            v->busy++;
            v->sharing.data = v;
            uv_queue_work(&v->server->loop, &v->sharing, copy_file, file_copied);
        }
    }
    return v->share;
}

/* The last piece is there. A source that changed meanwhile has given us bytes of two files. */
static void finish(tly_variant *v) {
    tly_catalogue_source now;
    const tly_answer *a = &v->answer->answer;
    if (!tly_catalogue_get_source(a->store, a->source.place, &now) ||
        memcmp(&now, &a->source, sizeof now) != 0) {
        give_up(v);
        return;
    }
    drop_answer(v);
    v->state = VARIANT_SEALING;
    v->busy++;
    v->sealing.data = v;
    uv_queue_work(&v->server->loop, &v->sealing, seal, sealed); /* fails on NULL arguments only */
}

/* Bytes [offset, offset + len) of all buffers back to back. */
static void copy_native(const tly_answer *a, uint64_t offset, uint64_t len, uint8_t *out) {
    tly_catalogue_bytes run;
    while (tly_catalogue_run_at(a->parts, a->num_parts, offset, len, &run)) {
        memcpy(out, run.at, (size_t)run.len);
        out += run.len;
        offset += run.len;
        len -= run.len;
    }
}

/* On a thread of the pool. */
static void fill(uv_work_t *work) {
    variant_job *job = work->data;
    tly_variant *v = job->variant;
    const tly_answer *a = &v->answer->answer;
    uint64_t from = job->offset & ~(PAGE_LEN - 1);
    tly_store_guard guard;
    job->status = TLY_OK;
    if (!tly_base_populate(v->write_map + from, (size_t)(job->offset + job->len - from),
                           v->write_fd, (off_t)from)) {
        job->status = TLY_OUT_OF_MEMORY;
        return;
    }
    if (job->wants_hold) {
        job->status = tly_answer_hold(a, &v->cancel, &job->hold);
        if (job->status != TLY_OK) {
            return;
        }
    }
    if (a->store != NULL) {
        tly_store_guard_begin(a->store, &guard);
    }
    if (a->maker != NULL) {
        job->status = tly_maker_run(a->maker, job->first_unit, job->num_units,
                                    v->write_map + job->offset, &v->cancel);
    } else {
        copy_native(a, job->offset, job->len, v->write_map + job->offset);
    }
    if (a->store != NULL && tly_store_guard_end(&guard, NULL) != TLY_OK) {
        job->status = TLY_TRUNCATED;
    }
}

/* On the loop: a piece is packed. */
static void filled(uv_work_t *work, int status) {
    variant_job *job = work->data;
    tly_variant *v = job->variant;
    (void)status; /* work is never cancelled */
    v->busy--;
    job->done = 1;
    if (v->hold.blocks == NULL && v->state == VARIANT_FILLING) {
        v->hold = job->hold;
    } else {
        tly_blocks_release(&job->hold);
    }
    while (v->num_done < v->num_started && v->jobs[v->num_done % VARIANT_JOBS].done) {
        variant_job *next = &v->jobs[v->num_done++ % VARIANT_JOBS];
        if (next->status != TLY_OK && v->state == VARIANT_FILLING) {
            if (next->status != TLY_TRUNCATED) {
                v->failure = tly_answer_failure(&v->answer->answer, next->status);
            }
            give_up(v);
        }
        if (v->state == VARIANT_FILLING) {
            v->done_len = next->offset + next->len;
        }
    }
    if (v->state == VARIANT_FILLING) {
        start_jobs(v);
        if (v->done_len == v->len) {
            finish(v);
        }
    }
    tell_readers(v);
    let_go(v);
}

static void start_jobs(tly_variant *v) {
    const tly_answer *a = &v->answer->answer;
    uint64_t unit = v->unit_len;
    while (v->next_unit < v->num_units && v->num_started - v->num_done < VARIANT_JOBS) {
        variant_job *job = &v->jobs[v->num_started % VARIANT_JOBS];
        uint64_t count = v->num_units - v->next_unit;
        if (count > v->units_per_piece) {
            count = v->units_per_piece;
        }
        job->variant = v;
        job->task.work.data = job;
        job->first_unit = v->next_unit;
        job->num_units = count;
        job->offset = v->next_unit * unit;
        job->len = v->next_unit + count == v->num_units ? v->len - job->offset : count * unit;
        job->done = 0;
        job->wants_hold = tly_answer_wants_hold(a) && v->hold.blocks == NULL;
        job->hold.blocks = NULL;
        v->next_unit += count;
        v->num_started++;
        v->busy++;
        tly_workers_queue(&v->server->workers, &v->server->loop,
                          job->wants_hold || tly_maker_copies(a->maker), &job->task, fill, filled);
    }
}

static tly_variant *new_variant(tly_server *server, serve_answer *answer, uint64_t hash) {
    tly_variants *all = &server->variants;
    const tly_answer *a = &answer->answer;
    uint64_t piece = a->total / 16;
    tly_variant *v;
    if (a->total > SIZE_MAX || !make_room(all, a->total)) {
        return NULL;
    }
    v = tly_base_calloc(server->context, sizeof *v, _Alignof(tly_variant));
    if (v == NULL) {
        return NULL;
    }
    v->server = server;
    v->fd = v->write_fd = v->share_fd = -1;
    v->len = a->total;
    all->used += cost(v->len);
    v->key_len = a->variant_len;
    memcpy(v->key, a->variant, v->key_len);
    v->is_native = a->maker == NULL || tly_maker_copies(a->maker);
    if (open_kept(v)) {
        list(v, hash);
        return v;
    }
    if (!open_file(v)) {
        tly_base_log(server->context, TLY_LOG_WARNING, "no memory file for a variant: %s",
                     strerror(errno));
        free_variant(v);
        return NULL;
    }
    piece = piece < LEAST_PIECE ? LEAST_PIECE : piece > MOST_PIECE ? MOST_PIECE : piece;
    v->unit_len = a->maker != NULL ? tly_maker_unit_len(a->maker) : piece;
    v->num_units = a->maker != NULL ? tly_maker_num_units(a->maker) : (v->len + piece - 1) / piece;
    v->units_per_piece = v->unit_len != 0 && v->unit_len < piece ? piece / v->unit_len : 1;
    v->answer = answer;
    answer->refs++;
    list(v, hash);
    atomic_fetch_add(&server->packings, 1);
    start_jobs(v);
    return v;
}

void tly_variant_join(tly_variant *variant, variant_reader *reader) {
    tly_variant *v = variant;
    reader->variant = v;
    reader->next = NULL;
    reader->previous = v->last;
    *(v->last != NULL ? &v->last->next : &v->first) = reader;
    v->last = reader;
    v->num_readers++;
}

int tly_variant_open(tly_server *server, serve_answer *answer, variant_reader *reader) {
    tly_variants *all = &server->variants;
    const tly_answer *a = &answer->answer;
    uint64_t hash;
    tly_variant *v;
    if (all->limit == 0 || a->total == 0 || a->variant_len == 0) {
        return 0;
    }
    hash = tly_panel_hash64(a->variant, a->variant_len, 0, 1);
    v = find(all, a, hash);
    if (v == NULL) {
        v = new_variant(server, answer, hash);
        if (v == NULL) {
            return 0;
        }
    } else {
        tly_use_remove(&all->order, &v->use);
        tly_use_add(&all->order, &v->use);
        atomic_fetch_add(&server->shared, 1);
    }
    tly_variant_join(v, reader);
    return 1;
}

void tly_variant_close(variant_reader *reader) {
    tly_variant *v = reader->variant;
    if (v == NULL) {
        return;
    }
    *(reader->previous != NULL ? &reader->previous->next : &v->first) = reader->next;
    *(reader->next != NULL ? &reader->next->previous : &v->last) = reader->previous;
    reader->variant = NULL;
    v->num_readers--;
    if (v->num_readers == 0 && v->state == VARIANT_FILLING) {
        give_up(v);
    }
    let_go(v);
}

void tly_variants_forget_memory(tly_server *server) {
    tly_variants *all = &server->variants;
    tly_variant *v = variant_of(all->order.newest);
    while (v != NULL) {
        tly_variant *older = variant_of(v->use.older);
        if (is_of_memory(v)) {
            unlist(v);
            let_go(v);
        }
        v = older;
    }
}

void tly_variants_cleanup(tly_server *server) {
    tly_variants *all = &server->variants;
    while (all->order.newest != NULL) {
        free_variant(variant_of(all->order.newest));
    }
}
