/* SPDX-License-Identifier: Apache-2.0 */
/* TLS: who is let in, what is delivered, and what happens to those who speak something else. */
#include "serve/certificates.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <tilery/store.h>

#include "net/channel.h"

typedef struct secured {
    fixture f;
    char server_pem[128], server_key[128], ca[128], client_pem[128], client_key[128];
    char stranger_pem[128], stranger_key[128], other[128];
    tly_tls_options tls;
    uint8_t *bytes;
} secured;

static const uint64_t shape[] = {700, 1500}; /* 4.2 MB */
#define LEN (700u * 1500 * 4)

static int secured_init(secured *s) {
    fixture_init(&s->f);
    if (!certificates_make(s->f.folder)) {
        tly_catalogue_free(s->f.catalogue);
        tly_context_free(s->f.context);
        rmdir(s->f.folder);
        return 0;
    }
#define PATH(field, name) snprintf(s->field, sizeof s->field, "%s/%s", s->f.folder, name)
    PATH(server_pem, "server.pem");
    PATH(server_key, "server.key");
    PATH(ca, "ca.pem");
    PATH(client_pem, "client.pem");
    PATH(client_key, "client.key");
    PATH(stranger_pem, "stranger.pem");
    PATH(stranger_key, "stranger.key");
    PATH(other, "other.pem");
    s->tls = (tly_tls_options){
        .size = sizeof s->tls, .certificate = s->server_pem, .key = s->server_key};
    snprintf(s->f.address, sizeof s->f.address, "tls:127.0.0.1:0");
    s->bytes = fixture_add(&s->f, "w", TLY_F32, 2, shape);
    return 1;
}

static void secured_start(secured *s, tly_server_options *options) {
    options->size = sizeof *options;
    options->tls = &s->tls;
    fixture_start(&s->f, options);
    snprintf(s->f.address, sizeof s->f.address, "%s", tly_server_address(s->f.server, 0));
}

static void secured_cleanup(secured *s) {
    fixture_stop(&s->f);
    certificates_remove(s->f.folder);
    fixture_cleanup(&s->f);
}

static tly_status connect_as(const secured *s, const char *address, const tly_tls_options *tls,
                             tly_client **out, tly_error *error) {
    tly_client_options options = {.size = sizeof options, .tls = tls, .progress_timeout_ms = 5000};
    return tly_client_connect(s->f.context, address, &options, out, error);
}

static void delivers(void **state) {
    tly_tls_options trust = {.size = sizeof trust};
    tly_server_options options = {.cache_len = 32u << 20};
    tly_panel_profile profile;
    tly_fetch_layout layout = {.profile = &profile};
    tly_fetch_request request = {.size = sizeof request,
                                 .key = "w",
                                 .layouts = &layout,
                                 .num_layouts = 1,
                                 .request_flags = TLY_WIRE_ALLOW_TRANSCODE};
    tly_fetched *fetched, *again;
    tly_client *client;
    tly_error error;
    secured s;
    (void)state;
    if (!secured_init(&s)) {
        skip();
    }
    secured_start(&s, &options);
    trust.ca = s.ca;
    CHECK_OK(connect_as(&s, s.f.address, &trust, &client, &error), &error);
    for (int i = 0; i < 3; i++) {
        fixture_expect(client, "w", s.bytes, LEN);
        CHECK_OK(tly_client_ping(client, NULL, &error), &error);
    }
    CHECK_OK(tly_panel_by_name("ba16a64b", TLY_F32, 0, &profile, &error), &error);
    CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
    CHECK_OK(tly_client_fetch(client, &request, &again, &error), &error);
    assert_int_equal(tly_fetched_choice(fetched), 0);
    assert_memory_equal(tly_fetched_data(fetched), tly_fetched_data(again),
                        tly_fetched_len(fetched));
    tly_fetched_free(again);
    tly_fetched_free(fetched);
    tly_client_free(client);
    secured_cleanup(&s);
}

static void strangers_stay_outside(void **state) {
    tly_tls_options trust = {.size = sizeof trust};
    tly_server_options options = {.max_connections = 8};
    char plain[2048], named[2048];
    tly_client *client;
    tly_error error;
    secured s;
    (void)state;
    if (!secured_init(&s)) {
        skip();
    }
    secured_start(&s, &options);
    /* A server whose authority the client does not know. */
    assert_int_equal(connect_as(&s, s.f.address, NULL, &client, &error), TLY_IO);
    assert_string_equal(error.rule, "tls");
    assert_non_null(strstr(error.message, "certificate"));
    trust.ca = s.other;
    assert_int_equal(connect_as(&s, s.f.address, &trust, &client, &error), TLY_IO);
    /* A name that the certificate does not have: 127.0.0.2 is the same server to the network. */
    trust.ca = s.ca;
    snprintf(named, sizeof named, "tls:127.0.0.2%s", strrchr(s.f.address, ':'));
    assert_int_equal(connect_as(&s, named, &trust, &client, &error) == TLY_OK, 0);
    /* Plain text to a TLS server. */
    snprintf(plain, sizeof plain, "tcp%s", s.f.address + 3);
    assert_true(connect_as(&s, plain, NULL, &client, &error) != TLY_OK);
    /* And after all that it still serves. */
    CHECK_OK(connect_as(&s, s.f.address, &trust, &client, &error), &error);
    fixture_expect(client, "w", s.bytes, LEN);
    tly_client_free(client);
    secured_cleanup(&s);
}

static void client_certificates(void **state) {
    tly_tls_options with = {.size = sizeof with}, without = {.size = sizeof without};
    tly_server_options options = {.max_connections = 8};
    tly_client *client;
    tly_error error;
    secured s;
    (void)state;
    if (!secured_init(&s)) {
        skip();
    }
    s.tls.ca = s.ca;
    s.tls.flags = TLY_TLS_CLIENT_CERTIFICATE;
    secured_start(&s, &options);
    with.ca = without.ca = s.ca;
    assert_true(connect_as(&s, s.f.address, &without, &client, &error) != TLY_OK);
    with.certificate = s.stranger_pem;
    with.key = s.stranger_key;
    assert_true(connect_as(&s, s.f.address, &with, &client, &error) != TLY_OK);
    with.certificate = s.client_pem;
    with.key = s.client_key;
    CHECK_OK(connect_as(&s, s.f.address, &with, &client, &error), &error);
    fixture_expect(client, "w", s.bytes, LEN);
    tly_client_free(client);
    secured_cleanup(&s);
}

/* A server that speaks no TLS is not mistaken for one that does. */
static void plain_server(void **state) {
    tly_client *client;
    tly_error error;
    char address[128];
    secured s;
    (void)state;
    if (!secured_init(&s)) {
        skip();
    }
    snprintf(s.f.address, sizeof s.f.address, "tcp:127.0.0.1:0");
    fixture_start(&s.f, NULL);
    snprintf(address, sizeof address, "tls%s", tly_server_address(s.f.server, 0) + 3);
    assert_true(connect_as(&s, address, NULL, &client, &error) != TLY_OK);
    secured_cleanup(&s);
}

/* A session with half a record waits for the socket, and does not ask to be called again at once.
 */
static void half_a_record(void **state) {
    static const uint8_t half[25] = {22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3}; /* of a ClientHello */
    tly_wire_options options = {.size = sizeof options, .role = TLY_WIRE_SERVER};
    tly_net_tls_library library;
    tly_net_channel channel = {0};
    tly_wire *wire;
    tly_error error;
    uint64_t len;
    int fds[2];
    secured s;
    (void)state;
    if (!secured_init(&s)) {
        skip();
    }
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    CHECK_OK(tly_wire_new(s.f.context, &options, &wire, &error), &error);
    CHECK_OK(tly_net_tls_library_init(&library, &s.tls, 1, &error), &error);
    channel.fd = fds[0];
    channel.tls = tly_net_tls_new(s.f.context, &library, fds[0], NULL);
    assert_non_null(channel.tls);
    for (size_t i = 0; i < sizeof half; i++) {
        assert_int_equal(write(fds[1], half + i, 1), 1);
        assert_int_equal(tly_net_receive(&channel, wire, &len), TLY_NET_AGAIN);
        assert_false(tly_net_has_pending(&channel));
    }
    tly_net_channel_cleanup(s.f.context, &channel);
    tly_net_tls_library_cleanup(&library);
    tly_wire_free(wire);
    close(fds[0]);
    close(fds[1]);
    secured_cleanup(&s);
}

static int port_of(const secured *s) {
    return atoi(strrchr(s->f.address, ':') + 1);
}

/* What a server has to say before the handshake waits for the peer's part of it, not for room in
 * the socket, of which there is plenty. */
static void silent_peer_over_the_limit(void **state) {
    tly_server_options options = {.max_connections = 1};
    tly_tls_options trust = {.size = sizeof trust};
    struct sockaddr_in in = {.sin_family = AF_INET};
    tly_client *client, *other;
    tly_error error;
    secured s;
    int fd;
    (void)state;
    if (!secured_init(&s)) {
        skip();
    }
    trust.ca = s.ca;
    secured_start(&s, &options);
    CHECK_OK(connect_as(&s, s.f.address, &trust, &client, &error), &error);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    in.sin_port = htons((uint16_t)port_of(&s));
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof in), 0);
    usleep(50000);
    fixture_expect_sleep(&s.f);
    /* Whoever shakes hands is told. */
    assert_int_equal(connect_as(&s, s.f.address, &trust, &other, &error), TLY_PEER);
    assert_string_equal(error.rule, "server-busy");
    close(fd);
    tly_client_free(client);
    secured_cleanup(&s);
}

/* Runs a command of the shell with the folder of certificates as $D; its exit code. */
static int shell(const secured *s, const char *format, int port) {
    char script[600], command[800];
    snprintf(script, sizeof script, format, port);
    snprintf(command, sizeof command, "D='%s'; { %s\n} >/dev/null 2>&1 </dev/null", s->f.folder,
             script);
    return system(command);
}

/* Inside of TLS another protocol could be spoken: both sides insist on theirs. The program openssl
 * plays a client and a server of other protocols, with certificates that fit. */
static void other_protocols_are_refused(void **state) {
    static const char client[] = "openssl s_client -connect 127.0.0.1:%d -CAfile $D/ca.pem "
                                 "-verify_return_error ";
    tly_tls_options trust = {.size = sizeof trust};
    tly_server_options options = {.max_connections = 8};
    char format[300], address[64];
    tly_client *made;
    tly_error error;
    secured s;
    int port;
    (void)state;
    if (!secured_init(&s)) {
        skip();
    }
    secured_start(&s, &options);
    port = atoi(strrchr(s.f.address, ':') + 1);
    snprintf(format, sizeof format, "%s-alpn hurray/1", client);
    assert_int_equal(shell(&s, format, port), 0);
    snprintf(format, sizeof format, "%s-alpn http/1.1,hurray/1", client);
    assert_int_equal(shell(&s, format, port), 0);
    snprintf(format, sizeof format, "%s-alpn http/1.1,hurray/2", client);
    assert_int_not_equal(shell(&s, format, port), 0);
    fixture_stop(&s.f);
    tly_server_free(s.f.server);
    s.f.server = NULL;
    /* The port is free again: there is a server of another protocol now, and then one of none. */
    trust.ca = s.ca;
    snprintf(address, sizeof address, "tls:127.0.0.1:%d", port);
    for (int named = 0; named < 2; named++) {
        tly_status status = TLY_IO;
        snprintf(format, sizeof format,
                 "timeout 5 openssl s_server -accept 127.0.0.1:%%d -cert $D/server.pem "
                 "-key $D/server.key -tls1_3 -www -naccept 1 %s & ",
                 named ? "-alpn h2" : "");
        assert_int_equal(shell(&s, format, port), 0);
        for (int i = 0; i < 200; i++) { /* until it listens */
            status = connect_as(&s, address, &trust, &made, &error);
            if (status != TLY_OK && strstr(error.message, "refused") == NULL) {
                break;
            }
            usleep(10000);
        }
        if (status != TLY_IO || strcmp(error.rule, "tls") != 0) {
            fail_msg("%s (%s): %s", tly_status_name(status), error.rule, error.message);
        }
        if (strstr(error.message, "hurray/1") == NULL &&
            strstr(error.message, "application protocol") == NULL) {
            fail_msg("\"%s\" does not name the protocol", error.message);
        }
    }
    secured_cleanup(&s);
}

static void files_that_are_wrong(void **state) {
    tly_server *server;
    tly_server_options options = {.size = sizeof options};
    tly_error error;
    secured s;
    (void)state;
    if (!secured_init(&s)) {
        skip();
    }
    options.tls = &s.tls;
    s.tls.key = s.client_key; /* of another certificate */
    CHECK_OK(tly_server_new(s.f.context, s.f.catalogue, &options, &server, &error), &error);
    CHECK_RULE(tly_server_listen(server, "tls:127.0.0.1:0", &error), &error, TLY_IO, "tls-key");
    s.tls.key = "/nowhere/key.pem";
    CHECK_RULE(tly_server_listen(server, "tls:127.0.0.1:0", &error), &error, TLY_IO, "tls-key");
    s.tls.certificate = "/nowhere/cert.pem";
    CHECK_RULE(tly_server_listen(server, "tls:127.0.0.1:0", &error), &error, TLY_IO,
               "tls-certificate");
    tly_server_free(server);
    secured_cleanup(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delivers),
        cmocka_unit_test(strangers_stay_outside),
        cmocka_unit_test(client_certificates),
        cmocka_unit_test(plain_server),
        cmocka_unit_test(half_a_record),
        cmocka_unit_test(silent_peer_over_the_limit),
        cmocka_unit_test(other_protocols_are_refused),
        cmocka_unit_test(files_that_are_wrong),
    };
    return cmocka_run_group_tests_name("serve/tls", tests, NULL, NULL);
}
