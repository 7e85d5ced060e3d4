/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_PANEL_TEMPLATE_H
#define TLY_PANEL_TEMPLATE_H

#include <tilery/panel.h>

/* Bytes of one element, or 0 for a type that panels do not take. */
uint32_t tly_panel_element_len(tly_dtype dtype);

/* How far the loops of one axis reach, for a profile that tly_panel_check accepts. */
typedef struct tly_panel_reach {
    uint32_t granule; /* the padded extent is a multiple of this many elements */
    uint32_t bounded; /* 1: no rounded loop, so that the extent is `granule` at most */
} tly_panel_reach;

void tly_panel_axis_reach(const tly_panel_profile *profile, tly_panel_axis axis,
                          tly_panel_reach *out_reach);

#endif
