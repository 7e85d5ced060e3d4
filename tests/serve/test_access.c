/* SPDX-License-Identifier: Apache-2.0 */
/* Access rules: what they say, and that the server holds to them. */
#include "serve/certificates.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "serve/access.h"

#define TOKEN_A "0123456789abcdef-a"
#define TOKEN_B "0123456789abcdef-b"

static void expect_fault(const tly_context *context, const char *text, const char *rule,
                         const char *words) {
    tly_access *access;
    tly_error error;
    CHECK_RULE(tly_access_parse(context, text, strlen(text), &access, &error), &error,
               TLY_MALFORMED, rule);
    if (strstr(error.message, words) == NULL) {
        fail_msg("%s", error.message);
    }
    assert_null(access);
}

static void faults_name_their_line(void **state) {
    static const char digits[] = "certificate c 00112233445566778899aabbccddeeff";
    tly_context *context;
    (void)state;
    assert_int_equal(tly_context_new(NULL, &context, NULL), TLY_OK);
    expect_fault(context, "\n# remark\nlet me in\n", "access-line", "line 3");
    expect_fault(context, "token a short\n", "access-token", "line 1");
    expect_fault(context, "token anyone " TOKEN_A "\n", "access-anyone", "line 1");
    expect_fault(context, "token a " TOKEN_A "\ntoken b " TOKEN_A, "access-twice", "line 2");
    expect_fault(context, "allow a get *\n", "access-unproven", "line 1");
    expect_fault(context, "allow anyone delete *\n", "access-verb", "line 1");
    expect_fault(context, "allow anyone get a b\n", "access-line", "line 1");
    expect_fault(context, digits, "access-fingerprint", "line 1");
    expect_fault(context, "allow anyone get \xFF\n", "access-utf8", "UTF-8");
    tly_context_free(context);
}

static void prefixes_are_bytes(void **state) {
    static const char text[] = "token a " TOKEN_A "\r\n"
                               "certificate c "
                               "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:"
                               "00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff # us\n"
                               "allow a get models/\n"
                               "allow a put *\n"
                               "allow c get x\n"
                               "allow anyone get public/";
    static const uint8_t print[32] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                      0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF,
                                      0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                      0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF};
    static const struct {
        const char *key;
        tly_access_verb verb;
        int a, c, anyone;
    } rows[] = {
        {"models/w", TLY_ACCESS_GET, 1, 0, 0},   {"models/", TLY_ACCESS_GET, 1, 0, 0},
        {"models", TLY_ACCESS_GET, 0, 0, 0},     {"model", TLY_ACCESS_GET, 0, 0, 0},
        {"", TLY_ACCESS_GET, 0, 0, 0},           {"Models/w", TLY_ACCESS_GET, 0, 0, 0},
        {"models/w", TLY_ACCESS_PUT, 1, 0, 0},   {"", TLY_ACCESS_PUT, 1, 0, 0},
        {"x", TLY_ACCESS_GET, 0, 1, 0},          {"public/..", TLY_ACCESS_GET, 1, 1, 1},
        {"../public/", TLY_ACCESS_GET, 0, 0, 0},
    };
    tly_context *context;
    tly_access *access;
    tly_error error;
    uint32_t a, c;
    (void)state;
    assert_int_equal(tly_context_new(NULL, &context, NULL), TLY_OK);
    CHECK_OK(tly_access_parse(context, text, sizeof text - 1, &access, &error), &error);
    assert_int_equal(tly_access_num_rules(access), 4);
    a = tly_access_by_token(access, TOKEN_A, strlen(TOKEN_A));
    c = tly_access_by_certificate(access, print);
    assert_string_equal(tly_access_name(access, a), "a");
    assert_string_equal(tly_access_name(access, c), "c");
    assert_int_equal(tly_access_by_token(access, TOKEN_A, strlen(TOKEN_A) - 1), TLY_ACCESS_NOBODY);
    assert_int_equal(tly_access_by_token(access, TOKEN_B, strlen(TOKEN_B)), TLY_ACCESS_NOBODY);
    assert_int_equal(tly_access_by_token(access, print, 32), TLY_ACCESS_NOBODY);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t len = strlen(rows[i].key);
        assert_int_equal(tly_access_allows(access, a, rows[i].verb, rows[i].key, len), rows[i].a);
        assert_int_equal(tly_access_allows(access, c, rows[i].verb, rows[i].key, len), rows[i].c);
        assert_int_equal(
            tly_access_allows(access, TLY_ACCESS_ANYONE, rows[i].verb, rows[i].key, len),
            rows[i].anyone);
    }
    tly_access_free(access);
    tly_context_free(context);
}

static void files_are_private(void **state) {
    static const char text[] = "allow anyone get *\n";
    char folder[] = "/tmp/tly-access-XXXXXX", path[64];
    tly_context *context;
    tly_access *access;
    tly_error error;
    int fd;
    (void)state;
    assert_int_equal(tly_context_new(NULL, &context, NULL), TLY_OK);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/access", folder);
    assert_int_equal(tly_access_load(context, path, &access, &error), TLY_IO);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    chmod(path, 0604);
    CHECK_RULE(tly_access_load(context, path, &access, &error), &error, TLY_INVALID_ARGUMENT,
               "access-mode");
    chmod(path, 0660);
    CHECK_RULE(tly_access_load(context, path, &access, &error), &error, TLY_INVALID_ARGUMENT,
               "access-mode");
    chmod(path, 0640);
    CHECK_OK(tly_access_load(context, path, &access, &error), &error);
    tly_access_free(access);
    CHECK_RULE(tly_access_load(context, folder, &access, &error), &error, TLY_INVALID_ARGUMENT,
               "access-mode");
    unlink(path);
    rmdir(folder);
    tly_context_free(context);
}

/* ---- the server ---- */

/* The rules outlive the server, and the context everything. */
static void end(fixture *f, tly_access *access) {
    fixture_stop(f);
    tly_server_free(f->server);
    f->server = NULL;
    tly_access_free(access);
    fixture_cleanup(f);
}

static tly_status connect_with(const fixture *f, const char *token, tly_client **out,
                               tly_error *error) {
    tly_client_options options = {
        .size = sizeof options, .token = token, .progress_timeout_ms = 5000};
    return tly_client_connect(f->context, f->address, &options, out, error);
}

static void expect_refused(tly_client *client, const char *key) {
    tly_fetch_request request = {.size = sizeof request, .key = key};
    tly_fetched *fetched;
    tly_error error;
    assert_int_equal(tly_client_fetch(client, &request, &fetched, &error), TLY_PEER);
    assert_non_null(strstr(error.message, "REFUSED"));
    assert_non_null(strstr(error.message, "this client may not get that tensor"));
}

static void tokens_open_their_keys_only(void **state) {
    static const char text[] = "token a " TOKEN_A "\ntoken b " TOKEN_B "\n"
                               "allow a get a/\nallow anyone get public\n";
    static const uint64_t shape[] = {100};
    tly_server_options options = {.size = sizeof options};
    tly_access *access;
    tly_client *client;
    uint8_t *a, *b, *open;
    tly_error error;
    fixture f;
    (void)state;
    fixture_init(&f);
    CHECK_OK(tly_access_parse(f.context, text, sizeof text - 1, &access, &error), &error);
    options.access = access;
    a = fixture_add(&f, "a/w", TLY_U8, 1, shape);
    b = fixture_add(&f, "b/w", TLY_U8, 1, shape);
    open = fixture_add(&f, "public", TLY_U8, 1, shape);
    (void)b;
    fixture_start(&f, &options);

    CHECK_OK(connect_with(&f, TOKEN_A, &client, &error), &error);
    fixture_expect(client, "a/w", a, 100);
    fixture_expect(client, "public", open, 100);
    expect_refused(client, "b/w");
    expect_refused(client, "is it there?"); /* the same answer as for one that is */
    fixture_expect(client, "a/w", a, 100);
    tly_client_free(client);

    /* What has been answered to one client is not remembered for another. */
    CHECK_OK(connect_with(&f, TOKEN_B, &client, &error), &error);
    expect_refused(client, "a/w");
    fixture_expect(client, "public", open, 100);
    tly_client_free(client);
    CHECK_OK(connect_with(&f, NULL, &client, &error), &error);
    expect_refused(client, "a/w");
    tly_client_free(client);

    assert_int_equal(connect_with(&f, "0123456789abcdef-wrong", &client, &error), TLY_PEER);
    assert_non_null(strstr(error.message, "the token is not known"));
    assert_null(strstr(error.message, "wrong")); /* tokens are not repeated */
    CHECK_RULE(connect_with(&f, "too short", &client, &error), &error, TLY_INVALID_ARGUMENT,
               "token");
    CHECK_RULE(connect_with(&f, "0123456789 abcdef", &client, &error), &error, TLY_INVALID_ARGUMENT,
               "token");
    end(&f, access);
}

/* The fingerprint of a PEM file, by the program openssl. */
static void fingerprint_of(const char *path, char *out, size_t capacity) {
    char command[256];
    FILE *in;
    snprintf(command, sizeof command,
             "openssl x509 -in '%s' -noout -fingerprint -sha256 | sed 's/.*=//'", path);
    in = popen(command, "r");
    assert_non_null(in);
    assert_non_null(fgets(out, (int)capacity, in));
    pclose(in);
    out[strcspn(out, "\n")] = '\0';
}

static void certificates_open_their_keys_only(void **state) {
    static const uint64_t shape[] = {100};
    char server[128], key[128], ca[128], client_pem[128], client_key[128], print[128], text[512];
    tly_tls_options tls = {.size = sizeof tls}, ours = {.size = sizeof ours};
    tly_server_options options = {.size = sizeof options, .tls = &tls};
    tly_client_options with = {.size = sizeof with, .tls = &ours};
    tly_access *access;
    tly_client *client;
    uint8_t *a;
    tly_error error;
    fixture f;
    (void)state;
    fixture_init(&f);
    if (!certificates_make(f.folder)) {
        fixture_cleanup(&f);
        skip();
    }
    snprintf(server, sizeof server, "%s/server.pem", f.folder);
    snprintf(key, sizeof key, "%s/server.key", f.folder);
    snprintf(ca, sizeof ca, "%s/ca.pem", f.folder);
    snprintf(client_pem, sizeof client_pem, "%s/client.pem", f.folder);
    snprintf(client_key, sizeof client_key, "%s/client.key", f.folder);
    fingerprint_of(client_pem, print, sizeof print);
    snprintf(text, sizeof text, "certificate ci %s\nallow ci get a\n", print);
    CHECK_OK(tly_access_parse(f.context, text, strlen(text), &access, &error), &error);
    tls.certificate = server;
    tls.key = key;
    tls.ca = ca;
    options.access = access;
    a = fixture_add(&f, "a", TLY_U8, 1, shape);
    fixture_add(&f, "b", TLY_U8, 1, shape);
    snprintf(f.address, sizeof f.address, "tls:127.0.0.1:0");
    fixture_start(&f, &options);
    ours.ca = ca;
    CHECK_OK(tly_client_connect(f.context, tly_server_address(f.server, 0), &with, &client, &error),
             &error); /* without a certificate: nobody */
    expect_refused(client, "a");
    tly_client_free(client);
    ours.certificate = client_pem;
    ours.key = client_key;
    CHECK_OK(tly_client_connect(f.context, tly_server_address(f.server, 0), &with, &client, &error),
             &error);
    fixture_expect(client, "a", a, 100);
    expect_refused(client, "b");
    tly_client_free(client);
    certificates_remove(f.folder);
    end(&f, access);
}

/* Addresses that others reach: only where they cannot listen in and rules say what they may. */
static void open_addresses(void **state) {
    static const char text[] = "allow anyone get *\n";
    tly_server_options options = {.size = sizeof options};
    tly_access *access;
    tly_server *server;
    tly_error error;
    fixture f;
    (void)state;
    fixture_init(&f);
    CHECK_OK(tly_access_parse(f.context, text, sizeof text - 1, &access, &error), &error);
    CHECK_OK(tly_server_new(f.context, f.catalogue, &options, &server, &error), &error);
    CHECK_RULE(tly_server_listen(server, "tcp:0.0.0.0:0", &error), &error, TLY_UNSUPPORTED,
               "loopback-only");
    CHECK_RULE(tly_server_listen(server, "tls:0.0.0.0:0", &error), &error, TLY_UNSUPPORTED,
               "loopback-only");
    tly_server_free(server);
    options.access = access;
    CHECK_OK(tly_server_new(f.context, f.catalogue, &options, &server, &error), &error);
    CHECK_RULE(tly_server_listen(server, "tcp:[::]:0", &error), &error, TLY_UNSUPPORTED,
               "loopback-only");
    CHECK_RULE(tly_server_listen(server, "tls:0.0.0.0:0", &error), &error, TLY_INVALID_ARGUMENT,
               "tls-certificate"); /* one step further: now a certificate is missing */
    tly_server_free(server);
    options.access = NULL;
    options.flags = TLY_SERVER_OPEN;
    CHECK_OK(tly_server_new(f.context, f.catalogue, &options, &server, &error), &error);
    CHECK_OK(tly_server_listen(server, "tcp:0.0.0.0:0", &error), &error);
    tly_server_free(server);
    end(&f, access);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_name_their_line),
        cmocka_unit_test(prefixes_are_bytes),
        cmocka_unit_test(files_are_private),
        cmocka_unit_test(tokens_open_their_keys_only),
        cmocka_unit_test(certificates_open_their_keys_only),
        cmocka_unit_test(open_addresses),
    };
    return cmocka_run_group_tests_name("serve/access", tests, NULL, NULL);
}
