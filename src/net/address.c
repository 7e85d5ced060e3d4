/* SPDX-License-Identifier: Apache-2.0 */
#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/net.h>

#include "base/error.h"

static tly_status refuse(const char *text, const char *why, tly_error *error) {
    char shown[160];
    return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "address",
                         "\"%s\" is no address: %s; use unix:/path, tcp:host:port, "
                         "tcp:[::1]:port or tls:host:port",
                         tly_base_printable(shown, sizeof shown, text, strlen(text)), why);
}

static tly_status parse_unix(const char *text, const char *path, tly_net_address *out,
                             tly_error *error) {
    size_t len = strlen(path);
    if (len == 0) {
        return refuse(text, "the path is empty", error);
    }
    if (len >= sizeof out->path) {
        return refuse(text, "the path of a Unix socket has at most 107 bytes", error);
    }
    out->kind = TLY_NET_UNIX;
    memcpy(out->path, path, len + 1);
    return TLY_OK;
}

/* What stands behind tcp: or tls: */
static tly_status parse_host(const char *text, const char *rest, int kind, tly_net_address *out,
                             tly_error *error) {
    const char *host = rest;
    const char *end;
    const char *port;
    char *stop;
    unsigned long number;
    if (*rest == '[') {
        host = rest + 1;
        end = strchr(host, ']');
        if (end == NULL || end[1] != ':') {
            return refuse(text, "an IPv6 address stands in brackets, followed by :port", error);
        }
        port = end + 2;
    } else {
        end = strrchr(rest, ':');
        if (end == NULL) {
            return refuse(text, "the port is missing", error);
        }
        if (memchr(rest, ':', (size_t)(end - rest)) != NULL) {
            return refuse(text, "an IPv6 address stands in brackets", error);
        }
        port = end + 1;
    }
    if (end == host || (size_t)(end - host) >= sizeof out->host) {
        return refuse(text, "the host is empty or too long", error);
    }
    number = strtoul(port, &stop, 10);
    if (*port < '0' || *port > '9' || *stop != '\0' || number > 65535 || strlen(port) > 5) {
        return refuse(text, "the port is a number up to 65535", error);
    }
    out->kind = kind;
    memcpy(out->host, host, (size_t)(end - host));
    memcpy(out->port, port, strlen(port) + 1);
    return TLY_OK;
}

tly_status tly_net_address_parse(const char *text, tly_net_address *out, tly_error *error) {
    memset(out, 0, sizeof *out);
    if (strncmp(text, "unix:", 5) == 0) {
        return parse_unix(text, text + 5, out, error);
    }
    if (strncmp(text, "tcp:", 4) == 0) {
        return parse_host(text, text + 4, TLY_NET_TCP, out, error);
    }
    if (strncmp(text, "tls:", 4) == 0) {
        return parse_host(text, text + 4, TLY_NET_TLS, out, error);
    }
    return refuse(text, "it begins with none of unix:, tcp: and tls:", error);
}

tly_status tly_address_check(const char *address, tly_error *error) {
    tly_net_address parsed;
    return tly_net_address_parse(address, &parsed, error);
}

void tly_net_address_print(const struct sockaddr *sa, char *out, size_t capacity) {
    char host[INET6_ADDRSTRLEN] = "?";
    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)sa;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(out, capacity, "tcp:%s:%u", host, ntohs(in->sin_port));
    } else if (sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)sa;
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
        snprintf(out, capacity, "tcp:[%s]:%u", host, ntohs(in6->sin6_port));
    } else {
        const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)sa;
        snprintf(out, capacity, "unix:%s", sa->sa_family == AF_UNIX ? un->sun_path : "?");
    }
}

int tly_net_is_loopback(const struct sockaddr *sa) {
    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)sa;
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    if (sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)sa;
        return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
    }
    return sa->sa_family == AF_UNIX;
}
