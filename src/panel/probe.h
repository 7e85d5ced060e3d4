/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_PANEL_PROBE_H
#define TLY_PANEL_PROBE_H

#include <tilery/panel.h>

/* tly_panel_probe_fill with little-endian elements, whatever this machine's byte order: as stored
 * tensors have them. Thread-safe. */
void tly_panel_fill_le(const tly_panel_profile *profile, const tly_panel_probe *probe,
                       uint8_t *stored);

#endif
