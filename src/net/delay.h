/* SPDX-License-Identifier: Apache-2.0 */
/* How long to wait before something is tried again. */
#ifndef TLY_NET_DELAY_H
#define TLY_NET_DELAY_H

#include <stdint.h>

/* Between half of `ms` and all of it, at random, so that clients that broke off together do not
 * come back together. */
uint32_t tly_net_jitter(uint32_t ms);

#endif
