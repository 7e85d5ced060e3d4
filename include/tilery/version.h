/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_VERSION_H
#define TILERY_VERSION_H

#include <tilery/export.h>

#define TLY_VERSION_MAJOR  0
#define TLY_VERSION_MINOR  1
#define TLY_VERSION_PATCH  0
#define TLY_VERSION_STRING "0.1.0"

TLY_BEGIN_DECLS

/* Version of the library that runs, as in "0.1.0". Static storage. Thread-safe. */
TLY_API const char *tly_version(void);

TLY_END_DECLS

#endif
