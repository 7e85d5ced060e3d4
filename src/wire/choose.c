/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of negotiation, apart from any server: what they decide can be read, and tested, here.
 */
#include <tilery/wire.h>

uint32_t tly_wire_choose_layout(const tly_wire_layouts *list, int allow_transcode,
                                tly_wire_verdict_fn verdict, void *user, int32_t *out_verdict) {
    tly_wire_layouts rest = *list;
    tly_wire_layout layout;
    for (uint32_t index = 0; tly_wire_layouts_next(&rest, &layout); index++) {
        int32_t v = verdict(user, index, &layout);
        if (v == TLY_WIRE_NATIVE || (v == TLY_WIRE_TRANSCODE && allow_transcode)) {
            *out_verdict = v;
            return index;
        }
    }
    *out_verdict = TLY_WIRE_NATIVE;
    return list->num;
}

static int has(const uint8_t *list, uint32_t num, uint8_t tag) {
    for (uint32_t i = 0; i < num; i++) {
        if (list[i] == tag) {
            return 1;
        }
    }
    return 0;
}

uint32_t tly_wire_choose_device(uint8_t preferred, const uint8_t *supported, uint32_t num_supported,
                                const uint8_t *available, uint32_t num_available,
                                const uint8_t *client, uint32_t num_client, uint8_t *out_device) {
    const uint8_t cpu = 0;
    int announced = has(supported, num_supported, preferred);
    *out_device = preferred;
    if (announced && has(available, num_available, preferred)) {
        return 0;
    }
    /* The one silent fallback: announced, but not to be had now, and the client takes the CPU. */
    if (announced && preferred != cpu && has(supported, num_supported, cpu) &&
        has(available, num_available, cpu) && has(client, num_client, cpu)) {
        *out_device = cpu;
        return 0;
    }
    return TLY_WIRE_DEVICE_UNAVAILABLE;
}

uint32_t tly_wire_choose_memory_class(const uint8_t *client, uint32_t num_client,
                                      const uint8_t *available, uint32_t num_available,
                                      uint8_t *out_class) {
    static const uint8_t standard[] = {TLY_MEMORY_STANDARD};
    if (num_client == 0) {
        client = standard;
        num_client = 1;
    }
    for (uint32_t i = 0; i < num_client; i++) {
        if (has(available, num_available, client[i])) {
            *out_class = client[i];
            return 0;
        }
    }
    *out_class = TLY_MEMORY_STANDARD;
    return TLY_WIRE_DEVICE_UNAVAILABLE;
}
