/* SPDX-License-Identifier: Apache-2.0 */
#include "asm/object.h"

#include <string.h>

#include "base/context.h"

#define MAX_SECTION_LEN (UINT64_C(1) << 32) /* bytes; no program comes near */

void tly_object_init(tly_object *object, const tly_context *context) {
    memset(object, 0, sizeof *object);
    object->context = context;
    object->release = TLY_ISA_0_58_3;
    tly_arena_init(&object->arena, context);
}

void tly_object_cleanup(tly_object *object) {
    for (uint32_t i = 0; i < object->num_sections; i++) {
        tly_obj_section *s = &object->sections[i];
        tly_base_free(object->context, s->bytes, s->capacity, 1);
        tly_base_free(object->context, s->relocs, s->max_relocs * sizeof *s->relocs,
                      _Alignof(tly_obj_reloc));
    }
    tly_base_free(object->context, object->sections,
                  object->max_sections * sizeof *object->sections, _Alignof(tly_obj_section));
    tly_base_free(object->context, object->symbols, object->max_symbols * sizeof *object->symbols,
                  _Alignof(tly_obj_symbol));
    tly_base_free(object->context, object->buckets, object->num_buckets * sizeof *object->buckets,
                  _Alignof(uint32_t));
    tly_arena_cleanup(&object->arena);
    memset(object, 0, sizeof *object);
}

/* Room for one more in an array of `max` elements. */
static int grow(const tly_context *context, void **array, uint32_t num, uint32_t *max,
                size_t element_len, size_t alignment) {
    uint32_t more;
    void *grown;
    if (num < *max) {
        return 1;
    }
    if (*max > UINT32_MAX / 4) {
        return 0;
    }
    more = *max != 0 ? *max * 2 : 16;
    grown = tly_base_grow(context, *array, *max * element_len, more * element_len, alignment);
    if (grown == NULL) {
        return 0;
    }
    *array = grown;
    *max = more;
    return 1;
}

uint32_t tly_object_add_section(tly_object *object, const char *name, size_t len, uint32_t type,
                                uint32_t flags, uint64_t alignment) {
    char *copy = tly_arena_string(&object->arena, name, len);
    if (copy == NULL ||
        !grow(object->context, (void **)&object->sections, object->num_sections,
              &object->max_sections, sizeof *object->sections, _Alignof(tly_obj_section))) {
        return 0;
    }
    object->sections[object->num_sections] =
        (tly_obj_section){.name = copy, .type = type, .flags = flags, .alignment = alignment};
    return ++object->num_sections;
}

uint32_t tly_object_find_section(const tly_object *object, const char *name, size_t len) {
    for (uint32_t i = 0; i < object->num_sections; i++) {
        const char *other = object->sections[i].name;
        if (strlen(other) == len && memcmp(other, name, len) == 0) {
            return i + 1;
        }
    }
    return 0;
}

static uint32_t hash_of(const char *name, size_t len) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    }
    return hash;
}

static void insert(tly_object *object, uint32_t number) {
    const tly_obj_symbol *s = tly_object_symbol(object, number);
    uint32_t at = hash_of(s->name, s->name_len) & (object->num_buckets - 1);
    while (object->buckets[at] != 0) {
        at = (at + 1) & (object->num_buckets - 1);
    }
    object->buckets[at] = number;
}

static int rehash(tly_object *object) {
    uint32_t wanted = object->num_buckets != 0 ? object->num_buckets * 2 : 64;
    uint32_t *fresh;
    if ((object->num_symbols + 1) * 2 <= object->num_buckets) {
        return 1;
    }
    fresh = tly_base_calloc(object->context, wanted * sizeof *fresh, _Alignof(uint32_t));
    if (fresh == NULL) {
        return 0;
    }
    tly_base_free(object->context, object->buckets, object->num_buckets * sizeof *object->buckets,
                  _Alignof(uint32_t));
    object->buckets = fresh;
    object->num_buckets = wanted;
    for (uint32_t i = 1; i <= object->num_symbols; i++) {
        if (tly_object_symbol(object, i)->type != 3) {
            insert(object, i);
        }
    }
    return 1;
}

static uint32_t new_symbol(tly_object *object, const char *name, size_t len) {
    char *copy = tly_arena_string(&object->arena, name, len);
    if (copy == NULL || !rehash(object) ||
        !grow(object->context, (void **)&object->symbols, object->num_symbols, &object->max_symbols,
              sizeof *object->symbols, _Alignof(tly_obj_symbol))) {
        return 0;
    }
    object->symbols[object->num_symbols] = (tly_obj_symbol){.name = copy, .name_len = len};
    return ++object->num_symbols;
}

uint32_t tly_object_add_symbol(tly_object *object, const char *name, size_t len) {
    uint32_t number = new_symbol(object, name, len);
    if (number != 0) {
        insert(object, number);
    }
    return number;
}

uint32_t tly_object_find_symbol(const tly_object *object, const char *name, size_t len) {
    uint32_t at;
    if (object->num_buckets == 0) {
        return 0;
    }
    at = hash_of(name, len) & (object->num_buckets - 1);
    while (object->buckets[at] != 0) {
        const tly_obj_symbol *s = tly_object_symbol(object, object->buckets[at]);
        if (s->name_len == len && memcmp(s->name, name, len) == 0) {
            return object->buckets[at];
        }
        at = (at + 1) & (object->num_buckets - 1);
    }
    return 0;
}

uint32_t tly_object_section_symbol(tly_object *object, uint32_t section) {
    uint32_t number = tly_object_section(object, section)->symbol;
    if (number == 0 && (number = new_symbol(object, "", 0)) != 0) {
        tly_object_symbol(object, number)->section = section;
        tly_object_symbol(object, number)->type = 3;
        tly_object_section(object, section)->symbol = number;
    }
    return number;
}

tly_status tly_object_append(tly_object *object, uint32_t section, const void *bytes,
                             uint64_t len) {
    tly_obj_section *s = tly_object_section(object, section);
    if (len > MAX_SECTION_LEN - s->size) {
        return TLY_LIMIT;
    }
    if (s->type != TLY_SECTION_NOBITS && len != 0) {
        if (s->size + len > s->capacity) {
            size_t wanted = s->capacity != 0 ? s->capacity : 256;
            uint8_t *grown;
            while (wanted < s->size + len) {
                wanted *= 2;
            }
            grown = tly_base_grow(object->context, s->bytes, s->capacity, wanted, 1);
            if (grown == NULL) {
                return TLY_OUT_OF_MEMORY;
            }
            s->bytes = grown;
            s->capacity = wanted;
        }
        if (bytes != NULL) {
            memcpy(s->bytes + s->size, bytes, len);
        } else {
            memset(s->bytes + s->size, 0, len);
        }
    }
    s->size += len;
    return TLY_OK;
}

tly_status tly_object_add_reloc(tly_object *object, uint32_t section, const tly_obj_reloc *reloc) {
    tly_obj_section *s = tly_object_section(object, section);
    if (!grow(object->context, (void **)&s->relocs, s->num_relocs, &s->max_relocs,
              sizeof *s->relocs, _Alignof(tly_obj_reloc))) {
        return TLY_OUT_OF_MEMORY;
    }
    s->relocs[s->num_relocs++] = *reloc;
    tly_object_symbol(object, reloc->symbol)->used = 1;
    return TLY_OK;
}
