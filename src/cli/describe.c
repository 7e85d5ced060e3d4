/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tilery/dtype.h>

const char *tly_describe_shape(char *out, size_t capacity, const uint64_t *shape, uint32_t rank) {
    size_t used = (size_t)snprintf(out, capacity, "[");
    for (uint32_t i = 0; i < rank && used + 30 < capacity; i++) {
        const char *comma = i == 0 ? "" : ", ";
        if (shape[i] == TLY_DYNAMIC) {
            used += (size_t)snprintf(out + used, capacity - used, "%s?", comma);
        } else {
            used += (size_t)snprintf(out + used, capacity - used, "%s%" PRIu64, comma, shape[i]);
        }
        if (i + 1 < rank && used + 30 >= capacity) {
            used += (size_t)snprintf(out + used, capacity - used, ", ...");
        }
    }
    snprintf(out + used, capacity - used, "]");
    return out;
}

const char *tly_describe_dtype(char *out, size_t capacity, tly_dtype dtype) {
    const tly_dtype_info *info = tly_dtype_find(dtype);
    if (info != NULL) {
        snprintf(out, capacity, "%s", info->name);
    } else {
        snprintf(out, capacity, "0x%02X", dtype);
    }
    return out;
}

int tly_describe_panel(const tly_descriptor *descriptor, tly_panel_profile *out_profile) {
    return descriptor->layout == TLY_PANEL_LAYOUT_TAG &&
           descriptor->private_id == TLY_PANEL_LAYOUT_ID &&
           tly_panel_decode(descriptor->private_data, descriptor->private_len, out_profile, NULL) ==
               TLY_OK;
}

const char *tly_describe_layout(char *out, size_t capacity, const tly_descriptor *descriptor) {
    tly_panel_profile profile;
    const char *name;
    if (tly_describe_panel(descriptor, &profile)) {
        return tly_panel_describe(&profile, out, capacity);
    }
    name = tly_layout_name(descriptor->layout);
    if (descriptor->layout >= TLY_LAYOUT_PRIVATE_FIRST) {
        snprintf(out, capacity, "private 0x%02X, id 0x%016" PRIX64, descriptor->layout,
                 descriptor->private_id);
    } else if (name != NULL) {
        snprintf(out, capacity, "%s", name);
    } else {
        snprintf(out, capacity, "0x%02X", descriptor->layout);
    }
    return out;
}

void tly_describe_json(tly_json *json, const tly_descriptor *descriptor) {
    char text[320];
    tly_json_string(json, "dtype", tly_describe_dtype(text, sizeof text, descriptor->dtype));
    tly_json_row(json, "shape");
    for (uint32_t i = 0; i < descriptor->rank; i++) {
        if (descriptor->shape[i] == TLY_DYNAMIC) {
            tly_json_i64(json, NULL, -1);
        } else {
            tly_json_u64(json, NULL, descriptor->shape[i]);
        }
    }
    tly_json_end_array(json);
    tly_json_string(json, "layout", tly_describe_layout(text, sizeof text, descriptor));
}
