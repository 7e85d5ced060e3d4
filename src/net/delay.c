/* SPDX-License-Identifier: Apache-2.0 */
#include "net/delay.h"

#include <sys/random.h>
#include <sys/types.h>

uint32_t tly_net_jitter(uint32_t ms) {
    uint32_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
        random = 0;
    }
    return ms / 2 + random % (ms - ms / 2 + 1);
}
