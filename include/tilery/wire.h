/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_WIRE_H
#define TILERY_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/export.h>
#include <tilery/status.h>
#include <tilery/tensor.h>

TLY_BEGIN_DECLS

/* The Hurray network protocol, version 1 (Hurray 1.0, interchange), as a state machine without I/O:
 * bytes in, events and bytes out. Server, client, simulator and fuzzers drive the same object. */

#define TLY_WIRE_VERSION    1
#define TLY_WIRE_HEADER_LEN 12 /* type, stream, payload length: three u32, little-endian */
#define TLY_WIRE_OFFSET_LEN 8  /* byte_offset_in_buffer, first thing in a TENSOR_DATA payload */

typedef enum tly_wire_message {
    TLY_WIRE_CLIENT_HELLO = 0x01,
    TLY_WIRE_SERVER_HELLO = 0x02,
    TLY_WIRE_TENSOR_REQUEST = 0x03,
    TLY_WIRE_TENSOR_DESCRIPTOR = 0x04,
    TLY_WIRE_TENSOR_DATA = 0x05,
    TLY_WIRE_TENSOR_DATA_END = 0x06,
    TLY_WIRE_TENSOR_PUT = 0x07,
    TLY_WIRE_TENSOR_PUT_ACK = 0x08,
    TLY_WIRE_ERROR = 0x09,
    TLY_WIRE_PING = 0x0A,
    TLY_WIRE_PONG = 0x0B,
    TLY_WIRE_RDMA_REGISTER = 0x0C,
    TLY_WIRE_RDMA_READY = 0x0D,
    TLY_WIRE_PRIVATE_FIRST = 0xF0, /* private messages, by agreement only */
    TLY_WIRE_PRIVATE_LAST = 0xFE
} tly_wire_message;

/* error_code of an ERROR message. */
typedef enum tly_wire_code {
    TLY_WIRE_VERSION_MISMATCH = 1,
    TLY_WIRE_UNKNOWN_TENSOR = 2,
    TLY_WIRE_LAYOUT_UNAVAILABLE = 3,
    TLY_WIRE_TRANSCODE_LIMIT = 4,
    TLY_WIRE_DEVICE_UNAVAILABLE = 5,
    TLY_WIRE_INVALID_MESSAGE = 6,
    TLY_WIRE_TOO_LARGE = 7,
    TLY_WIRE_SHARD_MISMATCH = 8,
    TLY_WIRE_SERVER_FAILED = 0xF0, /* ours: the server cannot go on with this tensor */
    TLY_WIRE_BUSY = 0xF1,          /* ours: a limit on connections, streams or time is reached */
    TLY_WIRE_REFUSED = 0xF2 /* ours: the server does not do that, for this client or at all */
} tly_wire_code;

/* "INVALID_MESSAGE" and so on; "?" for a number that has no name. Static storage. Thread-safe. */
TLY_API const char *tly_wire_code_name(uint32_t code);

/* capability_flags of a HELLO. */
#define TLY_WIRE_CAP_TRANSCODING UINT64_C(1)
#define TLY_WIRE_CAP_PARALLEL    UINT64_C(2)
#define TLY_WIRE_CAP_RDMA        UINT64_C(4)
#define TLY_WIRE_CAP_GPUDIRECT   UINT64_C(8)

/* request_flags of a TENSOR_REQUEST. */
#define TLY_WIRE_ALLOW_TRANSCODE 1u
#define TLY_WIRE_PARALLEL_OK     2u

/* ---- layout entries (interchange, Layout Entry Encoding) ---- */

/* One entry. `metadata` is NULL and `metadata_len` 0 unless the tag is private (0xF0 .. 0xFE). */
typedef struct tly_wire_layout {
    uint8_t tag;
    uint8_t reserved;
    uint16_t metadata_len;
    uint32_t reserved2;
    const uint8_t *metadata;
} tly_wire_layout;

/* A checked list in its serialised form, without the u16 count in front. A view: the bytes belong
 * to whoever made it. */
typedef struct tly_wire_layouts {
    const uint8_t *bytes;
    uint32_t len; /* bytes */
    uint32_t num; /* entries, at most 65535 */
} tly_wire_layouts;

/* Takes the first entry off a list and advances the list past it, by its length where the tag is
 * private. Returns 1, or 0 at the end. Thread-safe on distinct lists. */
TLY_API int tly_wire_layouts_next(tly_wire_layouts *list, tly_wire_layout *out_layout);

/* Serialises entries into `buffer` (`capacity` bytes) and makes `out_list` a view of it. Errors:
 * INVALID_ARGUMENT (more than 65535 entries, metadata on a tag that has none), LIMIT (capacity).
 * Thread-safe. */
TLY_API tly_status tly_wire_layouts_put(const tly_wire_layout *layouts, uint32_t num_layouts,
                                        void *buffer, size_t capacity, tly_wire_layouts *out_list,
                                        tly_error *error);

/* Checks a serialised list of `num` entries at the beginning of `bytes`; `out_list` becomes a view
 * of exactly the bytes that it takes. Entries that nobody knows are kept: they are skipped by their
 * length. Errors: TRUNCATED. Thread-safe. */
TLY_API tly_status tly_wire_layouts_get(const void *bytes, size_t len, uint32_t num,
                                        tly_wire_layouts *out_list, tly_error *error);

/* ---- messages ---- */

/* CLIENT_HELLO and SERVER_HELLO. Views, like every message below. */
typedef struct tly_wire_hello {
    uint32_t protocol_version;
    uint32_t max_message_size; /* largest payload that the sender accepts, bytes */
    uint64_t capability_flags;
    tly_wire_layouts layouts;
    const uint8_t *devices;
    const uint8_t *memory_classes;
    uint32_t num_devices;
    uint32_t num_memory_classes; /* 0: STANDARD only */
} tly_wire_hello;

typedef struct tly_wire_request {
    const char *key;  /* UTF-8, checked, not NUL-terminated */
    uint32_t key_len; /* bytes */
    uint32_t request_flags;
    uint32_t min_alignment; /* power of two */
    uint8_t preferred_device;
    uint8_t reserved[3];
    tly_wire_layouts layouts; /* most preferred first */
} tly_wire_request;

typedef struct tly_wire_descriptor {
    const uint8_t *bytes; /* the serialised descriptor; only its head has been checked */
    uint64_t len;         /* bytes */
    uint64_t total_data_bytes;
    uint32_t shard_index;
    uint32_t total_shards;
} tly_wire_descriptor;

/* TENSOR_PUT. */
typedef struct tly_wire_put {
    const char *key;  /* UTF-8, checked, not NUL-terminated */
    uint32_t key_len; /* bytes */
    uint32_t descriptor_len;
    const uint8_t *descriptor; /* serialised */
    uint64_t total_data_bytes;
} tly_wire_put;

/* RDMA_REGISTER: a memory region of the sender. What the address and the key mean is an affair of
 * the RDMA library on both sides. */
typedef struct tly_wire_region {
    uint64_t remote_addr;
    uint64_t len; /* bytes: the tensor's total_data_bytes */
    const uint8_t *rkey;
    uint32_t rkey_len; /* bytes */
    uint32_t reserved;
} tly_wire_region;

/* ---- the connection ---- */

typedef enum tly_wire_role { TLY_WIRE_CLIENT = 1, TLY_WIRE_SERVER = 2 } tly_wire_role;

typedef struct tly_wire_options {
    size_t size;               /* sizeof(tly_wire_options) */
    int32_t role;              /* tly_wire_role */
    uint32_t max_message_size; /* largest payload accepted and announced, bytes; 0: 1 MiB for a
                                  server, 16 MiB for a client */
    uint32_t max_control_len;  /* largest payload of anything but TENSOR_DATA; 0: 1 MiB */
    uint32_t max_streams;      /* open at a time; 0: 16 */
    uint64_t max_queued_len;   /* output bytes beyond which input waits; 0: 8 MiB */
    uint64_t capability_flags;
    tly_wire_layouts layouts; /* announced in our HELLO; copied, as the next two are */
    const uint8_t *devices;
    const uint8_t *memory_classes;
    uint32_t num_devices;        /* 0: CPU only */
    uint32_t num_memory_classes; /* 0: STANDARD only */
    uint32_t private_types;      /* bit i: messages of type 0xF0 + i are agreed on; see
                                    tly_wire_agree_private */
    uint32_t reserved;
} tly_wire_options;

/* One end of one connection. Single-owner. */
typedef struct tly_wire tly_wire;

/* Makes a connection. A client's HELLO is queued at once. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY.
 */
TLY_API tly_status tly_wire_new(const tly_context *context, const tly_wire_options *options,
                                tly_wire **out_wire, tly_error *error);
TLY_API void tly_wire_free(tly_wire *wire);

/* Memory to receive into, or to send from. */
typedef struct tly_wire_span {
    void *at;
    size_t len;  /* bytes */
    void *token; /* output: of the payload that this is part of; NULL: bytes of the connection */
} tly_wire_span;

typedef enum tly_wire_event_kind {
    TLY_WIRE_EVENT_NONE = 0,       /* feed more bytes */
    TLY_WIRE_EVENT_HELLO = 1,      /* the peer's HELLO: `hello`. The session is open */
    TLY_WIRE_EVENT_REQUEST = 2,    /* server: `request`. Answer, now or later, or refuse */
    TLY_WIRE_EVENT_DESCRIPTOR = 3, /* client: `descriptor` and, decoded and checked, `tensor`. Name
                                      a destination before going on */
    TLY_WIRE_EVENT_DATA = 4,       /* `len` bytes from `offset` on are in their place: the end of a
                                      frame, or of the destination */
    TLY_WIRE_EVENT_END = 5,        /* all bytes of a tensor are there. Client: `left` says how many
                                      tensors of the answer are missing; with the last one its
                                      streams are closed. Server: tly_wire_send_ack or
                                      tly_wire_fail_stream is due, now or later */
    TLY_WIRE_EVENT_ERROR = 6,      /* the peer gave the stream up: `code`, `text`. It is closed, and
                                      with it the other shards of `origin` */
    TLY_WIRE_EVENT_REJECTED = 7,   /* the peer broke a rule: `error` says which; an ERROR with
                                      `code` is queued and the stream is closed, and with it the
                                      other shards of `origin` */
    TLY_WIRE_EVENT_PING = 8,       /* already answered */
    TLY_WIRE_EVENT_PONG = 9,
    TLY_WIRE_EVENT_PUT = 10,      /* server: `put` and, decoded and checked, `tensor`. Name a
                                     destination before going on, or refuse */
    TLY_WIRE_EVENT_ACK = 11,      /* client: the server has accepted what was put; closed */
    TLY_WIRE_EVENT_REGISTER = 12, /* RDMA: `region` of the peer, for the data of this stream */
    TLY_WIRE_EVENT_READY = 13,    /* RDMA: the peer is ready for the transfer of ours */
    TLY_WIRE_EVENT_PRIVATE = 14   /* a private message: `type`, `bytes`, `len` */
} tly_wire_event_kind;

/* What happened. Pointers are good until the next tly_wire_next or call that takes input. */
typedef struct tly_wire_event {
    int32_t kind; /* tly_wire_event_kind */
    uint32_t stream;
    uint32_t code; /* ERROR, REJECTED: tly_wire_code */
    uint32_t text_len;
    const char *text; /* ERROR: what the peer says; UTF-8, not NUL-terminated, not to be trusted */
    uint64_t offset;  /* DATA: bytes */
    uint64_t len;     /* DATA, PRIVATE: bytes; END: bytes of the tensor */
    tly_wire_hello hello;
    tly_wire_request request;
    tly_wire_descriptor descriptor;
    const tly_error *error; /* REJECTED */
    uint32_t origin;        /* the stream of the request or upload that `stream` belongs to: another
                               one for shards 1 and up of a parallel answer */
    uint32_t type;          /* PRIVATE: type of the message */
    uint64_t left; /* END: shards or members of a composite still to come, as far as is known: a
                      member may be the head of another. 0: the answer is whole */
    tly_wire_put put;
    tly_wire_region region;
    const uint8_t *bytes;         /* PRIVATE: its payload */
    const tly_descriptor *tensor; /* DESCRIPTOR, PUT */
} tly_wire_event;

/* Where the next bytes from the peer belong, so that tensor data lands in its destination without a
 * copy: up to two spans, to be filled in order (readv). Returns their number; 0 while an event
 * waits to be taken, or when no input is wanted. */
TLY_API uint32_t tly_wire_recv_targets(tly_wire *wire, tly_wire_span out_spans[2]);

/* Says that `len` bytes have been put into the spans of the last tly_wire_recv_targets. Errors:
 * INVALID_ARGUMENT (more than their size), OUT_OF_MEMORY. */
TLY_API tly_status tly_wire_received(tly_wire *wire, size_t len);

/* The same for bytes that are in memory already. Takes bytes up to the next event; `out_used` says
 * how many. Errors: OUT_OF_MEMORY. */
TLY_API tly_status tly_wire_feed(tly_wire *wire, const void *bytes, size_t len, size_t *out_used);

/* The next event, or TLY_WIRE_EVENT_NONE. At most one waits. */
TLY_API void tly_wire_next(tly_wire *wire, tly_wire_event *out_event);

/* 0 while so much output waits that no input should be read, and while no input has a place: every
 * stream is in use, or a destination is full. */
TLY_API int tly_wire_wants_input(const tly_wire *wire);

/* The peer closed its end. TLY_OK if nothing is missing; TLY_CLOSED with how far it came otherwise.
 */
TLY_API tly_status tly_wire_eof(const tly_wire *wire, tly_error *error);

/* Bytes to send: fills up to `max_spans` spans and returns their number. They stay valid, and first
 * in line, until tly_wire_sent. */
TLY_API uint32_t tly_wire_output(const tly_wire *wire, tly_wire_span *out_spans,
                                 uint32_t max_spans);

/* Says that the first `len` bytes of the output are gone. */
TLY_API void tly_wire_sent(tly_wire *wire, uint64_t len);

/* Bytes that wait to be sent, headers included. */
TLY_API uint64_t tly_wire_queued(const tly_wire *wire);

/* Not 0 when the connection must be closed once the output is out. */
TLY_API int tly_wire_is_closing(const tly_wire *wire);

/* Tokens of payloads (tly_wire_send_data) that are no longer used, whether they were sent or
 * dropped with their stream. Returns 1, or 0 when there is none. */
TLY_API int tly_wire_next_released(tly_wire *wire, void **out_token);

/* The peer's HELLO, or NULL before it came. A view that lives as long as the connection. */
TLY_API const tly_wire_hello *tly_wire_peer(const tly_wire *wire);

/* Number of open streams. */
TLY_API uint32_t tly_wire_num_streams(const tly_wire *wire);

/* Client: queues a TENSOR_REQUEST on a new stream. Allowed before the server's HELLO has come. With
 * TLY_WIRE_PARALLEL_OK the answer may come as shards: shard 0 on this stream, the others on streams
 * that the server chooses, and all events have this one as `origin`. That the shards have the same
 * type, layout and parent, and cover it without overlap, is checked as their descriptors come. One
 * such request is open at a time, and none follows one that was given up: the protocol does not say
 * whose shards come (LIMIT, rule parallel-busy: ask without the flag). Errors: INVALID_ARGUMENT,
 * LIMIT (streams, the peer's message size), OUT_OF_MEMORY. */
TLY_API tly_status tly_wire_request_tensor(tly_wire *wire, const tly_wire_request *request,
                                           uint32_t *out_stream, tly_error *error);

/* Client: queues a TENSOR_PUT on a new stream; tly_wire_send_data and tly_wire_send_end follow (the
 * former not before the server's HELLO has come), and TLY_WIRE_EVENT_ACK or ..._ERROR is the
 * answer. Errors: those of tly_wire_request_tensor; what a server would refuse of the descriptor
 * (MALFORMED, UNSUPPORTED: a composite's head). */
TLY_API tly_status tly_wire_put_tensor(tly_wire *wire, const tly_wire_put *put,
                                       uint32_t *out_stream, tly_error *error);

/* After TLY_WIRE_EVENT_DESCRIPTOR or ..._PUT: where the stream's next `len` bytes go, all that are
 * announced or fewer. Fewer: when they are there (TLY_WIRE_EVENT_DATA says so), the connection
 * takes no more input until the next piece has its destination; `len` 0 makes it wait at once.
 * Without any destination the bytes are checked and dropped. Errors: INVALID_ARGUMENT (more than
 * is missing, the last destination is not full, no such stream). */
TLY_API tly_status tly_wire_set_destination(tly_wire *wire, uint32_t stream, void *at,
                                            uint64_t len);

/* Queues a PING on a stream id of our own; the answer is TLY_WIRE_EVENT_PONG. */
TLY_API tly_status tly_wire_ping(tly_wire *wire);

/* Server: the answer to a request, in this order: descriptor, frames, end; for the head of a
 * composite, the same for each of its members (and their members) on the same stream. Client, after
 * tly_wire_put_tensor: frames, end. Bytes of the descriptor are copied. The payload of a frame is
 * not: it must stay until its token comes out of tly_wire_next_released. Frames follow each other
 * without gaps, each at most tly_wire_max_frame bytes. Errors: INVALID_ARGUMENT (order, sizes, no
 * such stream: it may have been closed by the peer), MALFORMED (descriptor), LIMIT (the peer does
 * not take so large a descriptor), OUT_OF_MEMORY. */
TLY_API tly_status tly_wire_send_descriptor(tly_wire *wire, uint32_t stream, const void *descriptor,
                                            uint64_t len, uint64_t total_data_bytes,
                                            tly_error *error);
TLY_API tly_status tly_wire_send_data(tly_wire *wire, uint32_t stream, const void *payload,
                                      uint64_t len, void *token, tly_error *error);
TLY_API tly_status tly_wire_send_end(tly_wire *wire, uint32_t stream, tly_error *error);

/* Server, before the descriptor: the answer goes out in `num_shards` shards, each on a stream of
 * its own. `out_streams` (num_shards entries) gets their ids; the first is `stream`. Each then
 * takes descriptor, frames and end. Allowed when the request said TLY_WIRE_PARALLEL_OK and our
 * HELLO TLY_WIRE_CAP_PARALLEL. Errors: INVALID_ARGUMENT, LIMIT (streams). */
TLY_API tly_status tly_wire_open_shards(tly_wire *wire, uint32_t stream, uint32_t num_shards,
                                        uint32_t *out_streams, tly_error *error);

/* Server, after the END of an upload: it is accepted, and the stream closed. Errors:
 * INVALID_ARGUMENT, OUT_OF_MEMORY. */
TLY_API tly_status tly_wire_send_ack(tly_wire *wire, uint32_t stream, tly_error *error);

/* ---- data outside of the connection ---- */

/* RDMA (interchange, RDMA Data Plane): both HELLOs must have announced it. The owner of the data
 * sends its region behind the descriptor (or TENSOR_PUT); the other side may answer with the region
 * that is to be written to (both with TLY_WIRE_CAP_GPUDIRECT), and says READY; the END follows when
 * the transfer, which is the callers' affair, is done. No frames go. Errors: INVALID_ARGUMENT
 * (order, not announced), OUT_OF_MEMORY, LIMIT. */
TLY_API tly_status tly_wire_send_register(tly_wire *wire, uint32_t stream,
                                          const tly_wire_region *region, tly_error *error);
TLY_API tly_status tly_wire_send_ready(tly_wire *wire, uint32_t stream, tly_error *error);

/* The same by agreement of another kind (a private message): this stream's data does not come, or
 * go, in frames; its END counts without them. Allowed before the first frame. Errors:
 * INVALID_ARGUMENT. */
TLY_API tly_status tly_wire_data_elsewhere(tly_wire *wire, uint32_t stream);

/* By agreement too: this stream's frames begin at byte `first`. After the descriptor, before the
 * first frame and the destination, which is then for what is left. Errors: INVALID_ARGUMENT. */
TLY_API tly_status tly_wire_begin_at(tly_wire *wire, uint32_t stream, uint64_t first);

/* Private messages (interchange, Message Types): types of the mask (bit i: 0xF0 + i) are accepted
 * from now on, in addition to those agreed on before. They come as events on whatever stream, also
 * on one that was given up: something may be attached to them. */
TLY_API void tly_wire_agree_private(tly_wire *wire, uint32_t types);

/* Queues a private message of an agreed type on any stream id but 0. `bytes` are copied. A message
 * on an open stream is dropped with it if it has not begun to leave. `token` (may be NULL) comes
 * back by tly_wire_next_released. `attachment` (-1: none) is a number for the transport, as a rule
 * a file descriptor to be passed along; see tly_wire_attachment. Errors: INVALID_ARGUMENT, LIMIT
 * (the peer's message size), OUT_OF_MEMORY. */
TLY_API tly_status tly_wire_send_private(tly_wire *wire, uint32_t type, uint32_t stream,
                                         const void *bytes, uint64_t len, int32_t attachment,
                                         void *token, tly_error *error);

/* The attachment of the message that the output begins with; -1 if it has none, or part of the
 * message has left already. A message with an attachment is alone in what tly_wire_output gives. */
TLY_API int32_t tly_wire_attachment(const tly_wire *wire);

/* Largest payload of one frame that the peer accepts, bytes; 0 before its HELLO. */
TLY_API uint64_t tly_wire_max_frame(const tly_wire *wire);

/* Gives a stream up: frames that have not begun to leave are dropped, an ERROR is queued, the
 * stream is closed. `text` is cut where the peer's message size demands it. Errors: OUT_OF_MEMORY,
 * INVALID_ARGUMENT (no such stream). */
TLY_API tly_status tly_wire_fail_stream(tly_wire *wire, uint32_t stream, uint32_t code,
                                        const char *text);

/* Gives the whole connection up: an ERROR on the stream of the HELLO is queued, and
 * tly_wire_is_closing is true from now on. Errors: OUT_OF_MEMORY. */
TLY_API tly_status tly_wire_close(tly_wire *wire, uint32_t code, const char *text);

/* The payload at the head of the output can no longer be read (its file was cut short). The rest of
 * that frame leaves as zero bytes, because its length is already announced, and the stream ends in
 * an ERROR, so that no receiver takes them for data. Errors: INVALID_ARGUMENT (no frame is at the
 * head), OUT_OF_MEMORY. */
TLY_API tly_status tly_wire_spoil_head(tly_wire *wire, uint32_t code, const char *text,
                                       uint32_t *out_stream);

/* ---- the rules of negotiation (interchange, Server Layout Selection, Server Device Selection)
 * ---- */

/* What a server says to one entry of the list. */
typedef enum tly_wire_verdict {
    TLY_WIRE_SKIP = 0,     /* unknown, cannot be produced, or over the memory limit */
    TLY_WIRE_NATIVE = 1,   /* the tensor is stored like this */
    TLY_WIRE_TRANSCODE = 2 /* can be produced */
} tly_wire_verdict;

typedef int32_t (*tly_wire_verdict_fn)(void *user, uint32_t index, const tly_wire_layout *layout);

/* Applies the rules: the first entry that is native, or that can be produced and `allow_transcode`
 * is not 0. Returns its index with the verdict in `out_verdict`, or `list->num` with
 * TLY_WIRE_NATIVE: the native layout without having been asked for. Without `allow_transcode` the
 * server's readiness is still asked for (the caller logs it) but not used. Thread-safe. */
TLY_API uint32_t tly_wire_choose_layout(const tly_wire_layouts *list, int allow_transcode,
                                        tly_wire_verdict_fn verdict, void *user,
                                        int32_t *out_verdict);

/* Where the answer is placed. `supported` is what the server announced, `available` what it has
 * now, `client` what the client announced. Returns 0 and the device, or a tly_wire_code.
 * Thread-safe. */
TLY_API uint32_t tly_wire_choose_device(uint8_t preferred, const uint8_t *supported,
                                        uint32_t num_supported, const uint8_t *available,
                                        uint32_t num_available, const uint8_t *client,
                                        uint32_t num_client, uint8_t *out_device);

/* How the answer can be reached: the first class of the client's list that the server has
 * (`available`). A client without a list takes
 * STANDARD. Returns 0 and the class, or TLY_WIRE_DEVICE_UNAVAILABLE. Thread-safe. */
TLY_API uint32_t tly_wire_choose_memory_class(const uint8_t *client, uint32_t num_client,
                                              const uint8_t *available, uint32_t num_available,
                                              uint8_t *out_class);

TLY_END_DECLS

#endif
