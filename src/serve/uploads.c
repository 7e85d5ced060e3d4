/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/uploads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <tilery/transcode.h>

#include "base/context.h"
#include "base/error.h"

#define LOCK_NAME   ".tilery-lock"
#define NAME_LEN    (16 + 5) /* of a file: number in hex, ".hrry" */
#define MAX_KEY_LEN 65535

struct tly_uploads {
    const tly_context *context;
    char *folder;
    size_t folder_len;
    int lock;
    pthread_mutex_t mutex; /* for all below */
    tly_upload **tensors;  /* sorted by key; one reference each */
    size_t num, capacity;
    tly_upload *coming; /* reserved keys */
    size_t num_coming;  /* there is room for them in `tensors` */
    uint64_t next_number;
    uint64_t generation; /* atomic */
    int refs;            /* atomic: catalogues that show it */
};

static tly_status no_memory(tly_error *error) {
    return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                         "no memory for the tensors that were put");
}

/* ---- one tensor ---- */

static tly_upload *new_upload(const tly_context *context, const char *key, size_t key_len,
                              uint64_t number) {
    tly_upload *u = tly_base_calloc(context, sizeof *u, _Alignof(tly_upload));
    if (u == NULL) {
        return NULL;
    }
    u->key = tly_base_alloc(context, key_len + 1, 1);
    if (u->key == NULL) {
        tly_base_free(context, u, sizeof *u, _Alignof(tly_upload));
        return NULL;
    }
    memcpy(u->key, key, key_len);
    u->key[key_len] = '\0';
    u->key_len = key_len;
    u->context = context;
    u->number = number;
    u->refs = 1;
    return u;
}

void tly_upload_drop(tly_upload *upload) {
    if (upload == NULL || __atomic_sub_fetch(&upload->refs, 1, __ATOMIC_ACQ_REL) != 0) {
        return;
    }
    tly_store_free(upload->store);
    tly_base_free(upload->context, upload->key, upload->key_len + 1, 1);
    tly_base_free(upload->context, upload, sizeof *upload, _Alignof(tly_upload));
}

static void path_of(const tly_uploads *u, uint64_t number, char *out, size_t capacity) {
    snprintf(out, capacity, "%s/%016llx.hrry", u->folder, (unsigned long long)number);
}

/* Where a tensor waits to be checked. The name is one of those that are removed when the folder is
 * opened. */
static void staging_of(const tly_uploads *u, uint64_t number, char *out, size_t capacity) {
    snprintf(out, capacity, "%s/.tilery-%016llx.part", u->folder, (unsigned long long)number);
}

/* Opens the container of a tensor; it must hold that one and nothing else. */
static tly_status open_store(const tly_uploads *uploads, tly_upload *u, const char *path,
                             tly_error *error) {
    tly_store_entry named;
    tly_status status;
    status = tly_store_open(uploads->context, path, NULL, &u->store, error);
    if (status != TLY_OK) {
        return status;
    }
    if (tly_store_num_tensors(u->store) != 1 || tly_store_entry_at(u->store, 0, &named) != TLY_OK ||
        named.name_len != u->key_len || memcmp(named.name, u->key, u->key_len) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "upload-file",
                             "%s does not hold the one tensor that was put there", path);
    }
    u->entry.key = u->key;
    u->entry.key_len = u->key_len;
    u->entry.store = u->store;
    u->entry.index = 0;
    return TLY_OK;
}

/* ---- the list ---- */

static int compare(const char *a, size_t a_len, const tly_upload *b) {
    int order = memcmp(a, b->key, a_len < b->key_len ? a_len : b->key_len);
    return order != 0 ? order : (a_len > b->key_len) - (a_len < b->key_len);
}

/* Where a key is, or belongs. The mutex is held. */
static size_t place_of(const tly_uploads *u, const char *key, size_t key_len, int *out_found) {
    size_t low = 0, high = u->num;
    *out_found = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(key, key_len, u->tensors[middle]);
        if (order == 0) {
            *out_found = 1;
            return middle;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Room for one tensor more, beside those that are coming. The mutex is held. */
static int reserve(tly_uploads *u) {
    size_t want = u->capacity != 0 ? 2 * u->capacity : 16;
    tly_upload **grown;
    if (u->num + u->num_coming < u->capacity) {
        return 1;
    }
    grown = tly_base_grow(u->context, u->tensors, u->capacity * sizeof *grown, want * sizeof *grown,
                          _Alignof(tly_upload *));
    if (grown == NULL) {
        return 0;
    }
    u->tensors = grown;
    u->capacity = want;
    return 1;
}

tly_upload *tly_uploads_find(tly_uploads *uploads, const char *key, size_t key_len) {
    tly_upload *found = NULL;
    size_t at;
    int there;
    pthread_mutex_lock(&uploads->mutex);
    at = place_of(uploads, key, key_len, &there);
    if (there) {
        found = uploads->tensors[at];
        __atomic_add_fetch(&found->refs, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&uploads->mutex);
    return found;
}

uint64_t tly_uploads_num(const tly_uploads *uploads) {
    tly_uploads *u = (tly_uploads *)(uintptr_t)uploads;
    uint64_t num;
    pthread_mutex_lock(&u->mutex);
    num = u->num;
    pthread_mutex_unlock(&u->mutex);
    return num;
}

uint64_t tly_uploads_generation(const tly_uploads *uploads) {
    return __atomic_load_n(&uploads->generation, __ATOMIC_ACQUIRE);
}

/* ---- the folder ---- */

/* Takes the lock that goes away with its owner, however he ends. */
static tly_status lock_folder(tly_uploads *u, tly_error *error) {
    char path[4096], shown[320];
    tly_base_printable(shown, sizeof shown, u->folder, strlen(u->folder));
    if (strlen(u->folder) + NAME_LEN + 2 > sizeof path) {
        return tly_base_fail_errno(error, ENAMETOOLONG, "cannot use the folder %s", shown);
    }
    snprintf(path, sizeof path, "%s/%s", u->folder, LOCK_NAME);
    u->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (u->lock < 0) {
        return tly_base_fail_errno(error, errno, "cannot use the folder %s", shown);
    }
    if (flock(u->lock, LOCK_EX | LOCK_NB) != 0) {
        return tly_base_fail(error, TLY_EXISTS, TLY_NO_OFFSET, "folder-in-use",
                             "the folder %s is in use by another server", shown);
    }
    return TLY_OK;
}

/* The number of a file, from its name; 0 for a name of another kind. */
static uint64_t number_of(const char *name) {
    char *end;
    uint64_t number;
    if (strlen(name) != NAME_LEN || strspn(name, "0123456789abcdef") != 16) {
        return 0;
    }
    number = strtoull(name, &end, 16);
    return strcmp(end, ".hrry") == 0 ? number : 0;
}

static tly_status take_file(tly_uploads *u, uint64_t number, tly_error *error) {
    char path[4096];
    tly_store *store;
    tly_store_entry named;
    tly_upload *upload;
    size_t at;
    int there;
    tly_status status;
    path_of(u, number, path, sizeof path);
    status = tly_store_open(u->context, path, NULL, &store, error);
    if (status != TLY_OK) {
        return status;
    }
    if (tly_store_num_tensors(store) != 1 || tly_store_entry_at(store, 0, &named) != TLY_OK) {
        tly_store_free(store);
        return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "upload-file",
                             "%s does not hold one tensor: it was not put there", path);
    }
    upload = reserve(u) ? new_upload(u->context, named.name, named.name_len, number) : NULL;
    tly_store_free(store);
    if (upload == NULL) {
        return no_memory(error);
    }
    status = open_store(u, upload, path, error);
    at = place_of(u, upload->key, upload->key_len, &there);
    if (status == TLY_OK && there) {
        status = tly_base_fail(error, TLY_EXISTS, TLY_NO_OFFSET, "key-taken",
                               "%s holds the same key as file %016llx", path,
                               (unsigned long long)u->tensors[at]->number);
    }
    if (status != TLY_OK) {
        tly_upload_drop(upload);
        return status;
    }
    memmove(u->tensors + at + 1, u->tensors + at, (u->num - at) * sizeof *u->tensors);
    u->tensors[at] = upload;
    u->num++;
    if (number >= u->next_number) {
        u->next_number = number + 1;
    }
    return TLY_OK;
}

/* A file that a writer without a name of its own left behind (store/atomic_file.c). */
static int is_unfinished(const char *name) {
    size_t len = strlen(name);
    return strncmp(name, ".tilery-", 8) == 0 && len > 13 && strcmp(name + len - 5, ".part") == 0;
}

static tly_status scan_folder(tly_uploads *u, tly_error *error) {
    DIR *folder = opendir(u->folder);
    tly_status status = TLY_OK;
    struct dirent *item;
    if (folder == NULL) {
        return tly_base_fail_errno(error, errno, "cannot read the folder %s", u->folder);
    }
    while (status == TLY_OK && (item = readdir(folder)) != NULL) {
        if (is_unfinished(item->d_name)) {
            (void)unlinkat(dirfd(folder), item->d_name, 0);
        } else if (number_of(item->d_name) != 0) {
            status = take_file(u, number_of(item->d_name), error);
        }
    }
    closedir(folder);
    return status;
}

tly_status tly_uploads_open(const tly_context *context, const char *folder,
                            tly_uploads **out_uploads, tly_error *error) {
    tly_uploads *u = tly_base_calloc(context, sizeof *u, _Alignof(tly_uploads));
    tly_status status;
    *out_uploads = NULL;
    if (u == NULL) {
        return no_memory(error);
    }
    pthread_mutex_init(&u->mutex, NULL);
    u->context = context;
    u->refs = 1;
    u->lock = -1;
    u->next_number = 1;
    u->folder_len = strlen(folder) + 1;
    u->folder = tly_base_alloc(context, u->folder_len, 1);
    if (u->folder == NULL) {
        tly_uploads_free(u);
        return no_memory(error);
    }
    memcpy(u->folder, folder, u->folder_len);
    status = lock_folder(u, error);
    if (status == TLY_OK) {
        status = scan_folder(u, error);
    }
    if (status != TLY_OK) {
        tly_uploads_free(u);
        return status;
    }
    *out_uploads = u;
    return TLY_OK;
}

tly_uploads *tly_uploads_hold(tly_uploads *uploads) {
    __atomic_add_fetch(&uploads->refs, 1, __ATOMIC_RELAXED);
    return uploads;
}

void tly_uploads_free(tly_uploads *uploads) {
    if (uploads == NULL || __atomic_sub_fetch(&uploads->refs, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    for (size_t i = 0; i < uploads->num; i++) {
        tly_upload_drop(uploads->tensors[i]);
    }
    tly_base_free(uploads->context, uploads->tensors, uploads->capacity * sizeof *uploads->tensors,
                  _Alignof(tly_upload *));
    tly_base_free(uploads->context, uploads->folder, uploads->folder_len, 1);
    if (uploads->lock >= 0) {
        close(uploads->lock);
    }
    pthread_mutex_destroy(&uploads->mutex);
    tly_base_free(uploads->context, uploads, sizeof *uploads, _Alignof(tly_uploads));
}

/* ---- putting ---- */

/* The mutex is held. */
static int is_coming(const tly_uploads *u, const char *key, size_t key_len) {
    const tly_upload *c = u->coming;
    while (c != NULL && (c->key_len != key_len || memcmp(c->key, key, key_len) != 0)) {
        c = c->next;
    }
    return c != NULL;
}

tly_status tly_uploads_begin(tly_uploads *uploads, const char *key, size_t key_len,
                             const void *descriptor, size_t descriptor_len,
                             tly_uploads_writer *out_writer, tly_error *error) {
    tly_upload *upload;
    int taken, there, room;
    memset(out_writer, 0, sizeof *out_writer);
    if (key_len == 0 || key_len > MAX_KEY_LEN || memchr(key, '\0', key_len) != NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "key",
                             "a tensor that is put has a key of 1 to %d bytes without NUL",
                             MAX_KEY_LEN);
    }
    upload = new_upload(uploads->context, key, key_len, 0);
    out_writer->descriptor = tly_base_alloc(uploads->context, descriptor_len, 1);
    if (upload == NULL || out_writer->descriptor == NULL) {
        tly_base_free(uploads->context, out_writer->descriptor, descriptor_len, 1);
        tly_upload_drop(upload);
        return no_memory(error);
    }
    memcpy(out_writer->descriptor, descriptor, descriptor_len);
    out_writer->descriptor_len = descriptor_len;
    pthread_mutex_lock(&uploads->mutex);
    taken = is_coming(uploads, key, key_len);
    room = !taken && reserve(uploads);
    if (room) {
        size_t at = place_of(uploads, key, key_len, &there);
        upload->number = there ? uploads->tensors[at]->number : uploads->next_number++;
        upload->next = uploads->coming;
        uploads->coming = upload;
        uploads->num_coming++;
    }
    pthread_mutex_unlock(&uploads->mutex);
    if (!room) {
        tly_base_free(uploads->context, out_writer->descriptor, descriptor_len, 1);
        out_writer->descriptor = NULL;
        tly_upload_drop(upload);
        return taken ? tly_base_fail(error, TLY_EXISTS, TLY_NO_OFFSET, "key-busy",
                                     "somebody else is putting this key just now")
                     : no_memory(error);
    }
    out_writer->uploads = uploads;
    out_writer->upload = upload;
    return TLY_OK;
}

/* Begins the file. The descriptor has been checked by the connection. */
static tly_status start(tly_uploads_writer *w, tly_error *error) {
    const tly_uploads *u = w->uploads;
    tly_store_writer_options options = {.size = sizeof options, .tensor_count = 1};
    size_t work_len = w->descriptor_len + 32;
    uint8_t *work = tly_base_alloc(u->context, work_len, 1);
    tly_descriptor descriptor;
    char path[4096];
    tly_status status;
    if (work == NULL) {
        return no_memory(error);
    }
    staging_of(u, w->upload->number, path, sizeof path);
    status = tly_descriptor_decode(w->descriptor, w->descriptor_len, work, work_len, &descriptor,
                                   NULL, error);
    if (status == TLY_OK) {
        status = tly_store_writer_new(u->context, path, &options, &w->writer, error);
    }
    if (status == TLY_OK) {
        status = tly_store_writer_begin(w->writer, w->upload->key, w->upload->key_len, &descriptor,
                                        error);
    }
    tly_base_free(u->context, work, work_len, 1);
    return status;
}

tly_status tly_uploads_append(tly_uploads_writer *writer, const void *bytes, uint64_t len,
                              tly_error *error) {
    tly_status status = writer->writer == NULL ? start(writer, error) : TLY_OK;
    return status == TLY_OK ? tly_store_writer_append(writer->writer, bytes, len, error) : status;
}

/* The tensor is on disk and open: now everybody sees it. Cannot fail: there is room for it. */
static void show(tly_uploads *u, tly_upload *upload) {
    tly_upload *older = NULL;
    size_t at;
    int there;
    pthread_mutex_lock(&u->mutex);
    at = place_of(u, upload->key, upload->key_len, &there);
    if (there) {
        older = u->tensors[at];
    } else {
        memmove(u->tensors + at + 1, u->tensors + at, (u->num - at) * sizeof *u->tensors);
        u->num++;
    }
    u->tensors[at] = upload;
    __atomic_add_fetch(&upload->refs, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&u->generation, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&u->mutex);
    tly_upload_drop(older);
}

/* Do the contents of the buffers keep the rules of the format? What only its owner knows, a private
 * layout or type, passes. */
static tly_status check_contents(const tly_uploads *u, const tly_upload *upload, tly_error *error) {
    uint8_t *work = tly_base_alloc(u->context, TLY_CATALOGUE_WORK_LEN, 16);
    const void *buffers[TLY_MAX_BUFFERS] = {0};
    tly_descriptor d;
    tly_tensor tensor = {.descriptor = &d, .buffers = buffers};
    tly_store_guard guard;
    tly_status status;
    if (work == NULL) {
        return no_memory(error);
    }
    status = tly_catalogue_describe(&upload->entry, work, TLY_CATALOGUE_WORK_LEN, &d, error);
    for (uint32_t i = 0; status == TLY_OK && i < d.num_buffers; i++) {
        tly_catalogue_bytes bytes = {0};
        if (d.buffers[i].byte_size != 0) {
            status = tly_catalogue_buffer(&upload->entry, &d, i, &bytes, error);
        }
        buffers[i] = bytes.at;
    }
    if (status == TLY_OK) {
        tly_store_guard_begin(upload->store, &guard);
        status = tly_tensor_check_data(u->context, &tensor, error);
        status = status == TLY_UNSUPPORTED ? TLY_OK : status;
        if (tly_store_guard_end(&guard, status == TLY_OK ? error : NULL) != TLY_OK &&
            status == TLY_OK) {
            status = TLY_TRUNCATED;
        }
    }
    tly_base_free(u->context, work, TLY_CATALOGUE_WORK_LEN, 16);
    return status;
}

/* Gives the checked file its name, in place of an older one, and makes that durable. */
static tly_status place(const tly_uploads *u, const char *staging, uint64_t number,
                        tly_error *error) {
    char path[4096];
    int folder = open(u->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = folder < 0 ? errno : 0;
    path_of(u, number, path, sizeof path);
    if (folder >= 0) {
        if (rename(staging, path) != 0 || fsync(folder) != 0) {
            failed = errno;
        }
        close(folder);
    }
    return failed == 0 ? TLY_OK : tly_base_fail_errno(error, failed, "cannot write to %s", path);
}

/* The whole file is there under its waiting name: only what a reader accepts gets into place. */
static tly_status check_and_place(const tly_uploads *u, tly_upload *upload, tly_error *error) {
    char staging[4096];
    tly_status status;
    staging_of(u, upload->number, staging, sizeof staging);
    status = open_store(u, upload, staging, error);
    if (status == TLY_OK) {
        status = check_contents(u, upload, error);
    }
    if (status == TLY_OK) {
        status = place(u, staging, upload->number, error);
    }
    if (status != TLY_OK) {
        (void)unlink(staging);
    }
    return status;
}

tly_status tly_uploads_commit(tly_uploads_writer *writer, tly_error *error) {
    tly_uploads *u = writer->uploads;
    tly_status status = writer->writer == NULL ? start(writer, error) : TLY_OK;
    if (status == TLY_OK) {
        status = tly_store_writer_end(writer->writer, error);
    }
    if (status == TLY_OK) {
        status = tly_store_writer_commit(writer->writer, error);
    }
    if (status == TLY_OK) {
        status = check_and_place(u, writer->upload, error);
    }
    if (status == TLY_OK) {
        show(u, writer->upload);
        writer->committed = 1;
    }
    return status;
}

void tly_uploads_end(tly_uploads_writer *writer) {
    tly_uploads *u = writer->uploads;
    tly_upload **link;
    if (u == NULL) {
        return;
    }
    tly_store_writer_free(writer->writer);
    pthread_mutex_lock(&u->mutex);
    link = &u->coming;
    while (*link != writer->upload) {
        link = &(*link)->next;
    }
    *link = writer->upload->next;
    u->num_coming--;
    pthread_mutex_unlock(&u->mutex);
    tly_upload_drop(writer->upload);
    tly_base_free(u->context, writer->descriptor, writer->descriptor_len, 1);
    memset(writer, 0, sizeof *writer);
}
