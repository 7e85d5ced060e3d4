/* SPDX-License-Identifier: Apache-2.0 */
/* TLS by OpenSSL: a module of its own, so that nothing else needs the library. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/error.h"
#include "base/sigpipe.h"
#include "net/tls_module.h"

/* One read of the socket may bring this many records. */
#define READ_AHEAD_LEN (128u << 10)

typedef struct library {
    SSL_CTX *context;
    int is_server;
} library;

typedef struct session {
    SSL *ssl;
    int checked; /* that the protocol is ours */
    int starved; /* the last read found no whole record */
    char reason[160];
} session;

static const uint8_t protocols[] = {
    sizeof TLY_TLS_ALPN - 1, 'h', 'u', 'r', 'r', 'a', 'y', '/', '1'};

static tly_status fail(tly_error *error, tly_status status, const char *rule, const char *what,
                       const char *path) {
    unsigned long code = ERR_peek_last_error();
    const char *why = code != 0 ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return tly_base_fail(error, status, TLY_NO_OFFSET, rule, "%s%s%s: %s", what,
                         path != NULL ? " " : "", path != NULL ? path : "",
                         why != NULL ? why : "OpenSSL does not say why");
}

/* ---- settings ---- */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *offered, unsigned int offered_len, void *user) {
    (void)ssl;
    (void)user;
    for (unsigned i = 0; i < offered_len; i += 1u + offered[i]) {
        if (offered[i] == sizeof TLY_TLS_ALPN - 1 && offered_len - i > offered[i] &&
            memcmp(offered + i + 1, TLY_TLS_ALPN, sizeof TLY_TLS_ALPN - 1) == 0) {
            *out = offered + i + 1;
            *out_len = offered[i];
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static tly_status load_own(SSL_CTX *context, const tly_tls_options *o, tly_error *error) {
    if (SSL_CTX_use_certificate_chain_file(context, o->certificate) != 1) {
        return fail(error, TLY_IO, "tls-certificate", "cannot use the certificate", o->certificate);
    }
    if (SSL_CTX_use_PrivateKey_file(context, o->key, SSL_FILETYPE_PEM) != 1) {
        return fail(error, TLY_IO, "tls-key", "cannot use the key", o->key);
    }
    if (SSL_CTX_check_private_key(context) != 1) {
        return fail(error, TLY_MISMATCH, "tls-key", "the key is not that of the certificate",
                    o->certificate);
    }
    return TLY_OK;
}

static tly_status set_up(library *l, const tly_tls_options *o, tly_error *error) {
    SSL_CTX *context = l->context;
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    /* Every tensor has an end of its own: one that is cut off is noticed above. */
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_read_ahead(context, 1);
    if (!l->is_server) {
        SSL_CTX_set_default_read_buffer_len(context, READ_AHEAD_LEN);
        SSL_CTX_set_alpn_protos(context, protocols, sizeof protocols);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    } else {
        SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
        SSL_CTX_set_num_tickets(context, 0); /* nobody resumes; the ticket would only be read */
        if (o == NULL || o->certificate == NULL || o->key == NULL) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "tls-certificate",
                                 "a server needs a certificate and a key for tls:");
        }
    }
    if (o != NULL && o->certificate != NULL) {
        tly_status status = load_own(context, o, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    if (o != NULL && o->ca != NULL) {
        STACK_OF(X509_NAME) * names;
        if (SSL_CTX_load_verify_locations(context, o->ca, NULL) != 1) {
            return fail(error, TLY_IO, "tls-ca", "cannot use the certificates of", o->ca);
        }
        if (l->is_server) {
            names = SSL_load_client_CA_file(o->ca);
            if (names != NULL) {
                SSL_CTX_set_client_CA_list(context, names);
            }
            SSL_CTX_set_verify(context,
                               (o->flags & TLY_TLS_CLIENT_CERTIFICATE) != 0
                                   ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                                   : SSL_VERIFY_PEER,
                               NULL);
        }
    } else if (!l->is_server) {
        SSL_CTX_set_default_verify_paths(context);
    }
    return TLY_OK;
}

static void close_library(void *at) {
    library *l = at;
    if (l != NULL) {
        SSL_CTX_free(l->context);
        free(l);
    }
}

static tly_status open_library(const tly_tls_options *options, int is_server, void **out_library,
                               tly_error *error) {
    library *l = calloc(1, sizeof *l);
    tly_status status;
    *out_library = NULL;
    if (l != NULL) {
        l->is_server = is_server;
        l->context = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
    }
    if (l == NULL || l->context == NULL) {
        close_library(l);
        return fail(error, TLY_OUT_OF_MEMORY, "", "cannot make a TLS context", NULL);
    }
    status = set_up(l, options, error);
    if (status != TLY_OK) {
        close_library(l);
        return status;
    }
    *out_library = l;
    return TLY_OK;
}

/* ---- sessions ---- */

static void end(void *at) {
    session *s = at;
    if (s != NULL) {
        SSL_free(s->ssl);
        free(s);
    }
}

static int set_host(SSL *ssl, const char *host) {
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    if (X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1) {
        return 1;
    }
    ERR_clear_error();
    /* What SSL_set_tlsext_host_name says, without its cast. */
    return SSL_set1_host(ssl, host) == 1 &&
           SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                    (void *)(uintptr_t)host) == 1;
}

static void *start(void *at, int fd, const char *host) {
    library *l = at;
    session *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->ssl = SSL_new(l->context);
    if (s->ssl == NULL || SSL_set_fd(s->ssl, fd) != 1 ||
        (!l->is_server && !set_host(s->ssl, host))) {
        end(s);
        ERR_clear_error();
        return NULL;
    }
    if (l->is_server) {
        SSL_set_accept_state(s->ssl);
    } else {
        SSL_set_connect_state(s->ssl);
    }
    return s;
}

static int judge(session *s, int returned) {
    int code = SSL_get_error(s->ssl, returned);
    unsigned long queued;
    long verdict;
    switch (code) {
    case SSL_ERROR_WANT_READ:
        return TLY_TLS_WANT_READ;
    case SSL_ERROR_WANT_WRITE:
        return TLY_TLS_WANT_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return TLY_TLS_END;
    case SSL_ERROR_SYSCALL:
        if (errno == 0) {
            return TLY_TLS_END;
        }
        s->reason[0] = '\0';
        return TLY_TLS_FAILED;
    default:
        queued = ERR_peek_last_error();
        verdict = SSL_get_verify_result(s->ssl);
        snprintf(s->reason, sizeof s->reason, "%s",
                 verdict != X509_V_OK                      ? X509_verify_cert_error_string(verdict)
                 : ERR_reason_error_string(queued) != NULL ? ERR_reason_error_string(queued)
                                                           : "the TLS session is broken");
        ERR_clear_error();
        return TLY_TLS_FAILED;
    }
}

/* A peer that speaks another protocol inside TLS, or none that it named, is not talked to. */
static int check_protocol(session *s) {
    const unsigned char *chosen;
    unsigned int len;
    if (s->checked) {
        return 1;
    }
    SSL_get0_alpn_selected(s->ssl, &chosen, &len);
    if (len != sizeof TLY_TLS_ALPN - 1 || memcmp(chosen, TLY_TLS_ALPN, len) != 0) {
        snprintf(s->reason, sizeof s->reason, "the peer does not offer the protocol %s",
                 TLY_TLS_ALPN);
        return 0;
    }
    s->checked = 1;
    return 1;
}

static int shake(session *s) {
    int n;
    if (SSL_is_init_finished(s->ssl)) {
        return check_protocol(s) ? TLY_TLS_OK : TLY_TLS_FAILED;
    }
    ERR_clear_error();
    errno = 0;
    n = SSL_do_handshake(s->ssl);
    if (n != 1) {
        return judge(s, n);
    }
    return check_protocol(s) ? TLY_TLS_OK : TLY_TLS_FAILED;
}

static int read_some(void *at, void *bytes, size_t len, size_t *out_len) {
    session *s = at;
    int result = shake(s), n;
    *out_len = 0;
    if (result != TLY_TLS_OK) {
        return result;
    }
    ERR_clear_error();
    errno = 0;
    n = SSL_read_ex(s->ssl, bytes, len, out_len);
    return n == 1 ? TLY_TLS_OK : judge(s, n);
}

static int write_some(void *at, const void *bytes, size_t len, size_t *out_len) {
    session *s = at;
    int result = shake(s), n;
    *out_len = 0;
    if (result != TLY_TLS_OK) {
        return result;
    }
    ERR_clear_error();
    errno = 0;
    n = SSL_write_ex(s->ssl, bytes, len, out_len);
    return n == 1 ? TLY_TLS_OK : judge(s, n);
}

/* All three may write: handshakes, keys that change, alerts. */
static int read_quietly(void *at, void *bytes, size_t len, size_t *out_len) {
    tly_base_sigpipe held;
    tly_base_sigpipe_hold(&held);
    int result = read_some(at, bytes, len, out_len);
    tly_base_sigpipe_release(&held, result != TLY_TLS_OK);
    ((session *)at)->starved = result == TLY_TLS_WANT_READ;
    return result;
}

static int write_quietly(void *at, const void *bytes, size_t len, size_t *out_len) {
    tly_base_sigpipe held;
    tly_base_sigpipe_hold(&held);
    int result = write_some(at, bytes, len, out_len);
    tly_base_sigpipe_release(&held, result != TLY_TLS_OK || *out_len < len);
    return result;
}

/* A part of a record is input too, but the socket will tell of the rest: who came back at once for
 * it would go round until the peer has sent it. */
static int has_pending(const void *at) {
    const session *s = at;
    return !s->starved && SSL_has_pending(s->ssl);
}

static void say_end(void *at) {
    session *s = at;
    if (SSL_is_init_finished(s->ssl)) {
        tly_base_sigpipe held;
        tly_base_sigpipe_hold(&held);
        SSL_shutdown(s->ssl);
        ERR_clear_error();
        tly_base_sigpipe_release(&held, true);
    }
}

static int fingerprint(void *at, uint8_t out[32]) {
    session *s = at;
    X509 *certificate = SSL_get1_peer_certificate(s->ssl);
    unsigned int len = 0;
    int ok = certificate != NULL && SSL_get_verify_result(s->ssl) == X509_V_OK &&
             X509_digest(certificate, EVP_sha256(), out, &len) == 1 && len == 32;
    X509_free(certificate);
    return ok;
}

static void explain(void *at, char *out, size_t capacity) {
    const session *s = at;
    snprintf(out, capacity, "%s", s->reason);
}

TLY_API const void *tly_tls_module_get(void);

const void *tly_tls_module_get(void) {
    static const tly_tls_module module = {TLY_TLS_MODULE_ABI,
                                          sizeof(tly_tls_module),
                                          open_library,
                                          close_library,
                                          start,
                                          end,
                                          read_quietly,
                                          write_quietly,
                                          has_pending,
                                          say_end,
                                          fingerprint,
                                          explain};
    return &module;
}
