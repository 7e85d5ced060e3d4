/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: shared objects that are loaded when something of theirs is asked for. They stand in the
 * directories of TILERY_MODULE_PATH, in `modules` beside the executable, in the directory of the
 * installation. */
#ifndef TLY_BASE_MODULE_H
#define TLY_BASE_MODULE_H

#include <stddef.h>

#include <tilery/status.h>

#define TLY_BASE_PATH_LEN 4096 /* with the final NUL */

/* Directory `index` of the search, in order. 1 and the path, or 0 beyond the last. Directories
 * whose path is empty or too long are passed over. Not thread-safe against setenv, like getenv. */
int tly_base_module_directory(unsigned index, char path[TLY_BASE_PATH_LEN]);

typedef const void *(*tly_base_module_fn)(void);

/* Finds and loads NAME.so and gives its function `symbol`, which returns what the module offers;
 * the caller checks its version. A module stays loaded for good: libraries behind it start threads
 * and register exit handlers, and do not survive being unloaded. Errors: MODULE (rules
 * "module-missing", "module-load", "module-symbol"). */
tly_status tly_base_module_load(const char *name, const char *symbol, tly_base_module_fn *out,
                                tly_error *error);

#endif
