/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bring.h"

#include <stdlib.h>
#include <string.h>

#include <tilery/panel.h>

#include "base/error.h"
#include "cli/connect.h"
#include "cli/describe.h"
#include "cli/layouts.h"
#include "cli/source.h"

static tly_status usage(tly_error *error, const char *text) {
    return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-bind",
                         "\"%.200s\" is no place of a tensor: ADDRESS:KEY[:LAYOUT] or "
                         "FILE:KEY[:LAYOUT]",
                         text);
}

/* Bytes of the scheme at the beginning of an address; 0: it is none. */
static size_t scheme_len(const char *text) {
    return strncmp(text, "unix:", 5) == 0                                   ? 5
           : strncmp(text, "tcp:", 4) == 0 || strncmp(text, "tls:", 4) == 0 ? 4
                                                                            : 0;
}

/* Length of the place at the beginning: up to the colon in front of the key. 0: there is none. */
static size_t place_len(const char *text) {
    const size_t scheme = scheme_len(text);
    const int has_port = scheme == 4;
    const char *at = text + scheme;
    if (has_port && *at == '[') {
        at += strcspn(at, "]");
    }
    at = strchr(at, ':');
    if (has_port && at != NULL) {
        at = strchr(at + 1, ':'); /* behind the port */
    }
    return at != NULL ? (size_t)(at - text) : 0;
}

/* Is it the name of a layout (a panel of any element type)? Files with profiles are not: a path
 * could be part of a key. */
static int is_layout(const char *text) {
    if (strcmp(text, "native") == 0 || tly_layouts_core_tag(text) != 0) {
        return 1;
    }
    for (uint32_t i = 0; tly_panel_name(i) != NULL; i++) {
        if (strcmp(text, tly_panel_name(i)) == 0) {
            return 1;
        }
    }
    return 0;
}

tly_status tly_bring_parse(const char *place, const char *text, tly_bring_from *out,
                           tly_error *error) {
    const char *from = place != NULL ? place : text;
    const size_t len = place != NULL ? strlen(place) : place_len(text);
    const char *key = place != NULL ? text : text + len + 1;
    memset(out, 0, sizeof *out);
    if (len == 0 || len >= sizeof out->place || *key == '\0') {
        return usage(error, text);
    }
    memcpy(out->place, from, len);
    out->is_address = scheme_len(from) != 0;
    const char *last = strrchr(key, ':');
    size_t key_len = strlen(key);
    if (last != NULL && is_layout(last + 1)) {
        snprintf(out->layout, sizeof out->layout, "%s", last + 1);
        key_len = (size_t)(last - key);
    }
    if (key_len == 0 || key_len >= sizeof out->key) {
        return usage(error, text);
    }
    memcpy(out->key, key, key_len);
    return TLY_OK;
}

static tly_status wrong_layout(const tly_bring_from *from, const char *layout,
                               const tly_descriptor *d, tly_error *error) {
    char text[320];
    return tly_base_fail(error, TLY_LAYOUT_UNAVAILABLE, TLY_NO_OFFSET, "layout-native",
                         "%s is there as %s, and not to be had as %s", from->key,
                         tly_describe_layout(text, sizeof text, d), layout);
}

static tly_status fetch(const tly_context *context, const tly_bring_from *from, const char *layout,
                        tly_brought *out, tly_error *error) {
    tly_fetch_request request = {.size = sizeof request, .key = from->key};
    tly_retry_options retry = {.size = sizeof retry};
    tly_cli_link link;
    tly_layouts *layouts = malloc(sizeof *layouts);
    tly_status status = layouts != NULL ? TLY_OK
                                        : tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                                        "out of memory");
    if (status == TLY_OK) {
        tly_layouts_init(layouts);
        status = tly_layouts_add(layouts, layout, from->stored_nk, error);
    }
    if (status == TLY_OK) {
        status = tly_cli_link_init(&link, error);
    }
    if (status == TLY_OK) {
        link.options.flags = layouts->num != 0 ? TLY_CLIENT_SHARED : 0;
        request.layouts = layouts->entries;
        request.num_layouts = layouts->num;
        request.request_flags = layouts->num != 0 ? TLY_WIRE_ALLOW_TRANSCODE : 0;
        status = tly_fetch_with_retries(context, from->place, &link.options, &retry, &request,
                                        &out->fetched, error);
        tly_cli_link_cleanup(&link);
    }
    if (status == TLY_OK) {
        out->descriptor = tly_fetched_descriptor(out->fetched);
        out->bytes = tly_fetched_data(out->fetched);
        out->len = tly_fetched_len(out->fetched);
        /* a server may answer with what it has */
        if (tly_fetched_choice(out->fetched) == layouts->num &&
            !tly_layouts_takes_native(layouts)) {
            status = wrong_layout(from, layout, out->descriptor, error);
        }
    }
    free(layouts);
    return status;
}

/* The layout of that name as a descriptor for a tensor of this type and shape. */
static tly_status target_of(const char *layout, int stored_nk, const tly_descriptor *d,
                            tly_descriptor *out, tly_buffer_info *buffer, uint8_t *profile_bytes,
                            tly_error *error) {
    tly_panel_profile profile;
    uint64_t panel_len = 0;
    size_t len = 0;
    memset(out, 0, sizeof *out);
    out->layout = tly_layouts_core_tag(layout);
    if (out->layout != 0) {
        return TLY_OK;
    }
    tly_status status = tly_panel_by_name(layout, d->dtype, stored_nk, &profile, error);
    if (status == TLY_OK) {
        status = tly_panel_encode(&profile, profile_bytes, TLY_PANEL_MAX_LEN, &len, error);
    }
    if (status == TLY_OK) {
        status = tly_panel_bind(&profile, d->rank, d->shape, NULL, &panel_len, error);
    }
    return status == TLY_OK
               ? tly_descriptor_init_private(out, buffer, d->dtype, d->rank, d->shape,
                                             TLY_PANEL_LAYOUT_TAG, TLY_PANEL_LAYOUT_ID,
                                             profile_bytes, (uint32_t)len, panel_len,
                                             profile.alignment > 64 ? profile.alignment : 64)
               : status;
}

static tly_status read_file(const tly_context *context, const tly_bring_from *from,
                            const char *layout, tly_brought *out, tly_error *error) {
    tly_source *source = NULL;
    int more = 0;
    tly_status status = tly_source_open(context, from->place, 1, &source, error);
    if (status == TLY_OK) {
        status = tly_source_seek(source, from->key, strlen(from->key));
        if (status != TLY_OK) {
            tly_base_fail(error, status, TLY_NO_OFFSET, "bind-key", "%s has no tensor \"%s\"",
                          from->place, from->key);
        }
    }
    if (status == TLY_OK) {
        status = tly_whole_init(&out->whole, context, source, &more, error);
        out->is_whole = status == TLY_OK && more;
    }
    tly_source_free(source);
    if (status == TLY_OK && strcmp(layout, "native") != 0) {
        tly_descriptor target;
        tly_buffer_info buffer;
        uint8_t profile[TLY_PANEL_MAX_LEN];
        const tly_descriptor *was = out->whole.tensor.descriptor;
        status = target_of(layout, from->stored_nk, was, &target, &buffer, profile, error);
        /* a panel that is one already need not be made again */
        if (status == TLY_OK &&
            (was->layout != target.layout || was->private_len != target.private_len ||
             (target.private_len != 0 &&
              memcmp(was->private_data, target.private_data, target.private_len) != 0))) {
            status = tly_whole_transcode(&out->whole, context, &target, error);
        }
    }
    if (status == TLY_OK) {
        out->descriptor = out->whole.tensor.descriptor;
        if (out->descriptor->num_buffers == 1) {
            out->bytes = out->whole.tensor.buffers[0];
            out->len = out->descriptor->buffers[0].byte_size;
        }
    }
    return status;
}

tly_status tly_bring(const tly_context *context, const tly_bring_from *from, const char *layout,
                     tly_brought *out, tly_error *error) {
    tly_status status;
    memset(out, 0, sizeof *out);
    if (from->layout[0] != '\0') {
        layout = from->layout;
    }
    status = from->is_address ? fetch(context, from, layout, out, error)
                              : read_file(context, from, layout, out, error);
    if (status == TLY_OK && out->descriptor->num_buffers != 1) {
        status = tly_base_fail(error, TLY_LAYOUT_UNAVAILABLE, TLY_NO_OFFSET, "bind-buffers",
                               "%s has %u buffers: ask for a layout with one, such as row-major",
                               from->key, out->descriptor->num_buffers);
    }
    if (status != TLY_OK) {
        tly_brought_cleanup(out);
    }
    return status;
}

void tly_brought_cleanup(tly_brought *brought) {
    tly_fetched_free(brought->fetched);
    if (brought->is_whole) {
        tly_whole_cleanup(&brought->whole);
    }
    memset(brought, 0, sizeof *brought);
}
