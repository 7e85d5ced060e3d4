/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_IMPORT_NPY_H
#define TLY_IMPORT_NPY_H

#include "store/import/pull.h"

/* Reads the header of one array and adds the array. `pull` stands at its first byte of `len` ones;
 * the member, if it is in one, is completed. */
tly_status tly_import_npy_array(tly_import *import, tly_import_pull *pull, uint64_t len,
                                const char *name, tly_import_member *member, tly_error *error);

#endif
