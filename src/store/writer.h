/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_STORE_WRITER_H
#define TLY_STORE_WRITER_H

#include <tilery/store.h>

#include "store/atomic_file.h"

/* tly_store_writer_new with other system calls: for tests that make them fail. */
tly_status tly_store_writer_new_with(const tly_context *context, const char *path,
                                     const tly_store_writer_options *options,
                                     const tly_file_calls *calls, tly_store_writer **out_writer,
                                     tly_error *error);

#endif
