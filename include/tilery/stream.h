/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_STREAM_H
#define TILERY_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/export.h>
#include <tilery/status.h>
#include <tilery/tensor.h>

TLY_BEGIN_DECLS

/* Streams of the Hurray format 1.0 (interchange, Transport Framing): tensors one behind the other,
 * each a descriptor and the bytes of its buffers, without padding, index or names. For pipes and
 * sockets. A stream may end between tensors, and nowhere else. The members of a composite follow
 * its head. Every refusal names a rule of docs/internals/store.md and the byte of the stream. */

/* Where a reader takes bytes from: fills at most `capacity` bytes (> 0) and says how many; 0 is the
 * end. Anything but TLY_OK stops the reader and is returned to its caller. */
typedef tly_status (*tly_stream_source)(void *user, void *buffer, size_t capacity, size_t *out_len,
                                        tly_error *error);

/* Where a writer puts bytes: takes all of them, or fails. */
typedef tly_status (*tly_stream_sink)(void *user, const void *bytes, size_t len, tly_error *error);

typedef struct tly_stream_options {
    size_t size;                 /* sizeof(tly_stream_options) */
    uint32_t max_descriptor_len; /* bytes; 0: 16 MiB */
    uint32_t flags;              /* TLY_STREAM_* */
} tly_stream_options;

/* The other end may be another machine: a buffer that is not ready on arrival (sync_mode other than
 * 0) is refused, as nobody there could wait for it (Hurray 1.0, buffer-protocol). */
#define TLY_STREAM_CROSS_MACHINE 1u

/* A stream being read. Memory does not depend on what descriptors announce: a descriptor is
 * gathered as its bytes arrive, data go straight to the caller. Single-owner. */
typedef struct tly_stream_reader tly_stream_reader;

/* `options` may be NULL. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
TLY_API tly_status tly_stream_reader_new(const tly_context *context, tly_stream_source source,
                                         void *user, const tly_stream_options *options,
                                         tly_stream_reader **out_reader, tly_error *error);

/* The same over a file descriptor (a pipe, a socket, a file), which stays the caller's. More than a
 * tensor may be read ahead. A descriptor that does not block is waited for. */
TLY_API tly_status tly_stream_reader_new_fd(const tly_context *context, int fd,
                                            const tly_stream_options *options,
                                            tly_stream_reader **out_reader, tly_error *error);

/* Frees a reader; NULL is allowed. */
TLY_API void tly_stream_reader_free(tly_stream_reader *reader);

/* Steps over what was not read of the tensor before, and reads the next descriptor with every check
 * that there is for it: of its own rules, of the size of its buffers, of its place in a composite.
 * `*out_descriptor` is NULL at the end of the stream; it lives until the next call. After an error
 * every further call gives it again. Errors: TRUNCATED (rules ST-TORN-DESC, ST-TORN-DATA),
 * MALFORMED, UNSUPPORTED, LIMIT, OVERFLOW, OUT_OF_MEMORY; what the source returns. */
TLY_API tly_status tly_stream_reader_next(tly_stream_reader *reader,
                                          const tly_descriptor **out_descriptor, tly_error *error);

/* Reads the next `len` bytes of the tensor's buffers, which follow each other without padding.
 * Errors: INVALID_ARGUMENT (more than are left); TRUNCATED; what the source returns. */
TLY_API tly_status tly_stream_reader_read(tly_stream_reader *reader, void *buffer, uint64_t len,
                                          tly_error *error);

/* Bytes of the tensor's buffers that were not read yet. */
TLY_API uint64_t tly_stream_reader_left(const tly_stream_reader *reader);

/* Bytes of the stream that were handed out or stepped over. */
TLY_API uint64_t tly_stream_reader_offset(const tly_stream_reader *reader);

/* A stream being written. Refuses what a reader would refuse. Single-owner. */
typedef struct tly_stream_writer tly_stream_writer;

/* `options` may be NULL. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
TLY_API tly_status tly_stream_writer_new(const tly_context *context, tly_stream_sink sink,
                                         void *user, const tly_stream_options *options,
                                         tly_stream_writer **out_writer, tly_error *error);

/* The same over a file descriptor, which stays the caller's. A peer that has closed its end is IO
 * on a socket; on a pipe SIGPIPE comes first, as with write(). */
TLY_API tly_status tly_stream_writer_new_fd(const tly_context *context, int fd,
                                            const tly_stream_options *options,
                                            tly_stream_writer **out_writer, tly_error *error);

/* Frees a writer; NULL is allowed. */
TLY_API void tly_stream_writer_free(tly_stream_writer *writer);

/* Writes a descriptor; its bytes follow in any number of pieces, those of all buffers back to back
 * (tly_descriptor_data_len). Errors: INVALID_ARGUMENT (the tensor before is not whole, too many
 * bytes), MALFORMED, UNSUPPORTED, OUT_OF_MEMORY; what the sink returns. After a failure of the sink
 * every further call gives it again. */
TLY_API tly_status tly_stream_writer_begin(tly_stream_writer *writer,
                                           const tly_descriptor *descriptor, tly_error *error);
TLY_API tly_status tly_stream_writer_append(tly_stream_writer *writer, const void *bytes,
                                            uint64_t len, tly_error *error);

/* Says that the stream ends here. Errors: INVALID_ARGUMENT (the last tensor is not whole),
 * MALFORMED (rule C-TORN: a composite lacks members). Writes nothing; the caller closes its end. */
TLY_API tly_status tly_stream_writer_end(tly_stream_writer *writer, tly_error *error);

TLY_END_DECLS

#endif
