/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates for tests, made by the program openssl in a folder: an authority (ca.pem), a server
 * for 127.0.0.1 (server.pem, server.key), a client (client.pem, client.key), and another authority
 * that nobody knows (other.pem) with a client of its own (stranger.pem, stranger.key). */
#ifndef TLY_TESTS_SERVE_CERTIFICATES_H
#define TLY_TESTS_SERVE_CERTIFICATES_H

#include "serve/fixture.h"

#define CERTIFICATE_FILES                                                                          \
    {                                                                                              \
        "ca.pem", "ca.key", "server.pem", "server.key", "server.csr", "client.pem", "client.key",  \
            "client.csr", "stranger.pem", "stranger.key", "stranger.csr", "other.pem",             \
            "other.key", "san.cnf"                                                                 \
    }

static const char certificates_script[] =
    "set -e; cd '%s'\n"
    "printf 'subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost\\n' > san.cnf\n"
    "for a in ca other; do openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
    "-keyout $a.key -out $a.pem -subj /CN=$a -days 30; done\n"
    "for p in server:ca client:ca stranger:other; do n=${p%%%%:*}; a=${p##*:}\n"
    "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $n.key -out $n.csr "
    "-subj /CN=$n\n"
    "openssl x509 -req -in $n.csr -CA $a.pem -CAkey $a.key -set_serial 7 -days 30 -extfile san.cnf "
    "-out $n.pem; done\n";

/* Returns 0 without the program openssl, which the test says. */
static inline int certificates_make(const char *folder) {
    char command[2200], script[2048];
    if (system("command -v openssl >/dev/null 2>&1") != 0) {
        print_message("SKIPPED: the program openssl is not installed\n");
        return 0;
    }
    snprintf(script, sizeof script, certificates_script, folder);
    snprintf(command, sizeof command, "{ %s } >/dev/null 2>&1", script);
    assert_int_equal(system(command), 0);
    return 1;
}

static inline void certificates_remove(const char *folder) {
    static const char *const names[] = CERTIFICATE_FILES;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
}

#endif
