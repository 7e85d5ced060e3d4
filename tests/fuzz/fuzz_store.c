/* SPDX-License-Identifier: Apache-2.0 */
/* Containers: opened, verified, every byte of every tensor read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/store.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_data(const tly_store *store, uint64_t index, const tly_descriptor *d) {
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        uint64_t offset;
        uint64_t len;
        const void *view;
        uint8_t *copy;
        tly_error error;
        if (tly_store_buffer_range(store, index, d, i, &offset, &len) != TLY_OK ||
            tly_store_view(store, index, offset, len, &view, &error) != TLY_OK) {
            abort(); /* the descriptor was checked against the index */
        }
        copy = malloc(len + 1);
        if (tly_store_read(store, index, offset, copy, len, &error) != TLY_OK ||
            memcmp(copy, view, len) != 0) {
            abort();
        }
        free(copy);
    }
}

static void read_all(const tly_context *context, const uint8_t *data, size_t size) {
    static uint64_t work[TLY_STORE_WORK_LEN / 8];
    tly_store *store;
    tly_kv_list *kv;
    tly_error error;
    if (tly_store_open_memory(context, data, size, NULL, &store, &error) != TLY_OK) {
        return;
    }
    for (uint64_t i = 0; i < tly_store_num_tensors(store); i++) {
        tly_store_entry e;
        uint64_t found;
        tly_descriptor d;
        if (tly_store_entry_at(store, i, &e) != TLY_OK ||
            tly_store_find(store, e.name, e.name_len, &found) != TLY_OK || found != i) {
            abort();
        }
        if (tly_store_descriptor(store, i, work, sizeof work, &d, &error) == TLY_OK) {
            read_data(store, i, &d);
        }
    }
    if (tly_store_kv(store, &kv, &error) == TLY_OK) {
        for (uint64_t i = 0; i < tly_kv_list_count(kv); i++) {
            tly_kv entry;
            tly_kv element;
            uint64_t position = 0;
            uint32_t count = 0;
            if (tly_kv_list_at(kv, i, &entry) != TLY_OK) {
                abort();
            }
            while (entry.type == TLY_KV_ARRAY &&
                   tly_kv_next(&entry, &position, &element) == TLY_OK) {
                count++;
            }
            if (entry.type == TLY_KV_ARRAY && count != entry.count) {
                abort();
            }
        }
        tly_kv_list_free(kv);
    }
    (void)tly_store_verify(store, &error);
    tly_store_free(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tly_context *context;
    if (tly_context_new(NULL, &context, NULL) != TLY_OK) {
        abort();
    }
    read_all(context, data, size);
    if (size >= 104) { /* once more without the check sum, which few changes survive */
        uint8_t *copy = malloc(size);
        memcpy(copy, data, size);
        copy[12] &= (uint8_t)~4u;
        memset(copy + size - 12, 0, 4);
        read_all(context, copy, size);
        free(copy);
    }
    tly_context_free(context);
    return 0;
}
