/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_NET_ADDRESS_H
#define TLY_NET_ADDRESS_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <tilery/status.h>

typedef enum tly_net_kind { TLY_NET_UNIX = 1, TLY_NET_TCP = 2, TLY_NET_TLS = 3 } tly_net_kind;

/* The text of an address, taken apart. Plain memory. */
typedef struct tly_net_address {
    int kind; /* tly_net_kind */
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    char host[256];
    char port[8];
} tly_net_address;

/* Errors: INVALID_ARGUMENT (rule "address"). */
tly_status tly_net_address_parse(const char *text, tly_net_address *out, tly_error *error);

/* The text again, for logs; `out` has room for `capacity` bytes. */
void tly_net_address_print(const struct sockaddr *sa, char *out, size_t capacity);

/* Is this the machine itself: 127.0.0.0/8, ::1, or a Unix socket? */
int tly_net_is_loopback(const struct sockaddr *sa);

#endif
