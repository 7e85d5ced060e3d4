/* SPDX-License-Identifier: Apache-2.0 */
/* For functions that are a row of steps with nothing to clean up. */
#ifndef TLY_BASE_TRY_H
#define TLY_BASE_TRY_H

#include <tilery/status.h>

/* Returns from the function with the status of a call that failed. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        tly_status status_ = (call);                                                               \
        if (status_ != TLY_OK) {                                                                   \
            return status_;                                                                        \
        }                                                                                          \
    } while (0)

#endif
