/* SPDX-License-Identifier: Apache-2.0 */
/* Things in the order in which they were last used. The link is the first member of the thing, so
 * that its address is the thing's. */
#ifndef TLY_BASE_USE_ORDER_H
#define TLY_BASE_USE_ORDER_H

#include <stddef.h>

typedef struct tly_use_link {
    struct tly_use_link *newer, *older;
} tly_use_link;

typedef struct tly_use_order {
    tly_use_link *newest, *oldest;
} tly_use_order;

static inline void tly_use_remove(tly_use_order *order, tly_use_link *link) {
    *(link->newer != NULL ? &link->newer->older : &order->newest) = link->older;
    *(link->older != NULL ? &link->older->newer : &order->oldest) = link->newer;
    link->newer = link->older = NULL;
}

/* As the newest; it is in no order yet. */
static inline void tly_use_add(tly_use_order *order, tly_use_link *link) {
    link->newer = NULL;
    link->older = order->newest;
    *(order->newest != NULL ? &order->newest->newer : &order->oldest) = link;
    order->newest = link;
}

#endif
