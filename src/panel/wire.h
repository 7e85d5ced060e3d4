/* SPDX-License-Identifier: Apache-2.0 */
/* Where each field of a serialised profile stands (docs/spec/panel-profile.md, The bytes). The
 * codec reads and writes there; the checks name these places in their errors. */
#ifndef TLY_PANEL_WIRE_H
#define TLY_PANEL_WIRE_H

enum {
    TLY_PANEL_AT_MAGIC = 0,
    TLY_PANEL_AT_VERSION = 4,
    TLY_PANEL_AT_ROLE = 5,
    TLY_PANEL_AT_DTYPE = 6,
    TLY_PANEL_AT_RANK = 7,
    TLY_PANEL_AT_K_AXIS = 8,
    TLY_PANEL_AT_MN_AXIS = 9,
    TLY_PANEL_AT_NUM_LOOPS = 10,
    TLY_PANEL_AT_KERNEL_LEN = 11,
    TLY_PANEL_AT_FLAGS = 12,
    TLY_PANEL_AT_RESERVED = 13, /* 3 bytes */
    TLY_PANEL_AT_ALIGNMENT = 16,
    TLY_PANEL_AT_KERNEL_VERSION = 20,
    TLY_PANEL_AT_PROBE_HASH = 24,
    TLY_PANEL_AT_LOOPS = 32,

    TLY_PANEL_LOOP_LEN = 16,
    TLY_PANEL_LOOP_AXIS = 0,
    TLY_PANEL_LOOP_KIND = 1,
    TLY_PANEL_LOOP_RESERVED = 2,
    TLY_PANEL_LOOP_STEP = 4,
    TLY_PANEL_LOOP_COUNT = 8, /* count, or round */
    TLY_PANEL_LOOP_OVER = 12  /* 0, or over */
};

#define TLY_PANEL_MAGIC      "TLYP"
#define TLY_PANEL_FLAG_PROBE 0x01

#endif
