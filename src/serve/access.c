/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/access.h"

#include <string.h>

#include "base/arena.h"
#include "base/context.h"
#include "base/error.h"
#include "base/utf8.h"
#include "serve/secret.h"

#define MAX_WORDS     4
#define MIN_TOKEN_LEN 16
#define MAX_TOKEN_LEN 1024

typedef enum proof_kind { PROOF_TOKEN = 0, PROOF_CERTIFICATE = 1 } proof_kind;

/* One way to be somebody. */
typedef struct proof {
    struct proof *next;
    proof_kind kind;
    uint32_t who;
    const uint8_t *bytes;
    size_t len;
} proof;

typedef struct rule {
    struct rule *next;
    uint32_t who;
    tly_access_verb verb;
    const char *prefix;
    size_t prefix_len;
    size_t line;
} rule;

typedef struct name {
    struct name *next;
    const char *text;
    uint32_t number;
    int proven; /* has a token or a certificate */
    size_t line;
} name;

struct tly_access {
    const tly_context *context;
    tly_arena arena;
    name *names;
    proof *proofs;
    rule *rules;
    uint32_t num_names, num_rules;
};

/* ---- reading ---- */

typedef struct word {
    const char *at;
    size_t len;
} word;

static tly_status refuse(size_t line, const char *rule_name, const char *what, tly_error *error) {
    return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, rule_name, "line %zu: %s", line,
                         what);
}

static tly_status no_memory(tly_error *error) {
    return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for access rules");
}

static int is(const word *w, const char *text) {
    return w->len == strlen(text) && memcmp(w->at, text, w->len) == 0;
}

/* Takes the words of a line apart; returns their number, MAX_WORDS + 1 if there are more. */
static uint32_t split(const char *at, size_t len, word out[MAX_WORDS]) {
    uint32_t num = 0;
    size_t i = 0;
    for (;;) {
        size_t from;
        while (i < len && (at[i] == ' ' || at[i] == '\t' || at[i] == '\r')) {
            i++;
        }
        if (i == len || at[i] == '#') {
            return num;
        }
        from = i;
        while (i < len && at[i] != ' ' && at[i] != '\t' && at[i] != '\r') {
            i++;
        }
        if (num == MAX_WORDS) {
            return MAX_WORDS + 1;
        }
        out[num].at = at + from;
        out[num++].len = i - from;
    }
}

static name *find_name(tly_access *a, const word *w, size_t line) {
    name *n;
    for (n = a->names; n != NULL; n = n->next) {
        if (is(w, n->text)) {
            return n;
        }
    }
    n = tly_arena_alloc(&a->arena, sizeof *n, _Alignof(name));
    if (n == NULL) {
        return NULL;
    }
    n->text = tly_arena_string(&a->arena, w->at, w->len);
    n->number = a->num_names;
    n->proven = 0;
    n->line = line;
    if (n->text == NULL) {
        return NULL;
    }
    n->next = a->names;
    a->names = n;
    a->num_names++;
    return n;
}

static int digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Hexadecimal digits in pairs, colons between them or not. */
static int read_fingerprint(const word *w, uint8_t out[TLY_FINGERPRINT_LEN]) {
    size_t num = 0, i = 0;
    while (i < w->len) {
        if (w->at[i] == ':' && num != 0) {
            i++;
        }
        if (w->len - i < 2 || num == TLY_FINGERPRINT_LEN || digit(w->at[i]) < 0 ||
            digit(w->at[i + 1]) < 0) {
            return 0;
        }
        out[num++] = (uint8_t)(digit(w->at[i]) * 16 + digit(w->at[i + 1]));
        i += 2;
    }
    return num == TLY_FINGERPRINT_LEN;
}

static tly_status take_proof(tly_access *a, proof_kind kind, const word *words, size_t line,
                             tly_error *error) {
    uint8_t fingerprint[TLY_FINGERPRINT_LEN];
    const void *bytes = words[2].at;
    size_t len = words[2].len;
    name *n;
    proof *p;
    if (is(&words[1], "anyone")) {
        return refuse(line, "access-anyone", "`anyone` is everybody and shows nothing", error);
    }
    if (kind == PROOF_CERTIFICATE) {
        if (!read_fingerprint(&words[2], fingerprint)) {
            return refuse(line, "access-fingerprint",
                          "a fingerprint is SHA-256: 64 hexadecimal digits", error);
        }
        bytes = fingerprint;
        len = sizeof fingerprint;
    } else if (len < MIN_TOKEN_LEN || len > MAX_TOKEN_LEN) {
        return refuse(line, "access-token", "a token has 16 to 1024 characters", error);
    }
    for (const proof *other = a->proofs; other != NULL; other = other->next) {
        if (other->kind == kind && other->len == len && memcmp(other->bytes, bytes, len) == 0) {
            return refuse(line, "access-twice", "this proof stands for a name already", error);
        }
    }
    n = find_name(a, &words[1], line);
    p = tly_arena_alloc(&a->arena, sizeof *p, _Alignof(proof));
    if (n == NULL || p == NULL) {
        return no_memory(error);
    }
    n->proven = 1;
    p->kind = kind;
    p->who = n->number;
    p->bytes = (const uint8_t *)tly_arena_string(&a->arena, bytes, len);
    p->len = len;
    if (p->bytes == NULL) {
        return no_memory(error);
    }
    p->next = a->proofs;
    a->proofs = p;
    return TLY_OK;
}

static tly_status take_rule(tly_access *a, const word *words, size_t line, tly_error *error) {
    const word *prefix = &words[3];
    name *n;
    rule *r;
    if (!is(&words[2], "get") && !is(&words[2], "put")) {
        return refuse(line, "access-verb", "what is allowed is `get` or `put`", error);
    }
    n = find_name(a, &words[1], line);
    r = tly_arena_alloc(&a->arena, sizeof *r, _Alignof(rule));
    if (n == NULL || r == NULL) {
        return no_memory(error);
    }
    r->who = n->number;
    r->verb = is(&words[2], "put") ? TLY_ACCESS_PUT : TLY_ACCESS_GET;
    r->prefix_len = is(prefix, "*") ? 0 : prefix->len;
    r->prefix = tly_arena_string(&a->arena, prefix->at, r->prefix_len);
    r->line = line;
    if (r->prefix == NULL) {
        return no_memory(error);
    }
    r->next = a->rules;
    a->rules = r;
    a->num_rules++;
    return TLY_OK;
}

static tly_status take_line(tly_access *a, const char *at, size_t len, size_t line,
                            tly_error *error) {
    word words[MAX_WORDS];
    uint32_t num = split(at, len, words);
    if (num == 0) {
        return TLY_OK;
    }
    if (num == 3 && is(&words[0], "token")) {
        return take_proof(a, PROOF_TOKEN, words, line, error);
    }
    if (num == 3 && is(&words[0], "certificate")) {
        return take_proof(a, PROOF_CERTIFICATE, words, line, error);
    }
    if (num == 4 && is(&words[0], "allow")) {
        return take_rule(a, words, line, error);
    }
    return refuse(
        line, "access-line",
        "it is none of: token NAME TOKEN; certificate NAME SHA256; allow NAME get PREFIX; "
        "allow NAME put PREFIX",
        error);
}

static tly_status parse(tly_access *a, const char *text, size_t len, tly_error *error) {
    const word anyone = {"anyone", 6};
    size_t line = 0;
    if (tly_base_utf8_check(text, len) != len || memchr(text, 0, len) != NULL) {
        return tly_base_fail(error, TLY_MALFORMED, tly_base_utf8_check(text, len), "access-utf8",
                             "the access rules are not UTF-8 text");
    }
    if (find_name(a, &anyone, 0) == NULL) { /* number TLY_ACCESS_ANYONE */
        return no_memory(error);
    }
    while (len != 0) {
        const char *end = memchr(text, '\n', len);
        size_t n = end != NULL ? (size_t)(end - text) : len;
        tly_status status = take_line(a, text, n, ++line, error);
        if (status != TLY_OK) {
            return status;
        }
        n += end != NULL;
        text += n;
        len -= n;
    }
    for (const name *n = a->names; n != NULL; n = n->next) {
        if (!n->proven && n->number != TLY_ACCESS_ANYONE) {
            return refuse(n->line, "access-unproven",
                          "this name has neither a token nor a certificate", error);
        }
    }
    return TLY_OK;
}

tly_status tly_access_parse(const tly_context *context, const char *text, size_t len,
                            tly_access **out_access, tly_error *error) {
    tly_access *a = tly_base_calloc(context, sizeof *a, _Alignof(tly_access));
    tly_status status;
    *out_access = NULL;
    if (a == NULL) {
        return no_memory(error);
    }
    a->context = context;
    tly_arena_init(&a->arena, context);
    status = parse(a, text, len, error);
    if (status != TLY_OK) {
        tly_access_free(a);
        return status;
    }
    *out_access = a;
    return TLY_OK;
}

tly_status tly_access_load(const tly_context *context, const char *path, tly_access **out_access,
                           tly_error *error) {
    char *text = NULL;
    size_t len = 0;
    tly_status status;
    *out_access = NULL;
    status = tly_serve_read_secret(context, path, "tokens", "access-mode", &text, &len, error);
    if (status != TLY_OK) {
        return status;
    }
    status = tly_access_parse(context, text, len, out_access, error);
    tly_serve_free_secret(context, text, len);
    return status;
}

void tly_access_free(tly_access *access) {
    if (access != NULL) {
        tly_arena_cleanup(&access->arena);
        tly_base_free(access->context, access, sizeof *access, _Alignof(tly_access));
    }
}

uint32_t tly_access_num_names(const tly_access *access) {
    return access->num_names;
}

uint32_t tly_access_num_rules(const tly_access *access) {
    return access->num_rules;
}

/* ---- asking ---- */

/* Compares every byte, whatever the first ones say. */
static int same(const uint8_t *a, const uint8_t *b, size_t len) {
    uint8_t differs = 0;
    for (size_t i = 0; i < len; i++) {
        differs |= a[i] ^ b[i];
    }
    return differs == 0;
}

static uint32_t who_shows(const tly_access *access, proof_kind kind, const void *bytes,
                          size_t len) {
    uint32_t who = TLY_ACCESS_NOBODY;
    for (const proof *p = access->proofs; p != NULL; p = p->next) {
        if (p->kind == kind && p->len == len && same(p->bytes, bytes, len)) {
            who = p->who;
        }
    }
    return who;
}

uint32_t tly_access_by_token(const tly_access *access, const void *token, size_t len) {
    return who_shows(access, PROOF_TOKEN, token, len);
}

uint32_t tly_access_by_certificate(const tly_access *access,
                                   const uint8_t fingerprint[TLY_FINGERPRINT_LEN]) {
    return who_shows(access, PROOF_CERTIFICATE, fingerprint, TLY_FINGERPRINT_LEN);
}

const char *tly_access_name(const tly_access *access, uint32_t who) {
    for (const name *n = access->names; n != NULL; n = n->next) {
        if (n->number == who) {
            return n->text;
        }
    }
    return "nobody";
}

int tly_access_allows(const tly_access *access, uint32_t who, tly_access_verb verb, const char *key,
                      size_t key_len) {
    for (const rule *r = access->rules; r != NULL; r = r->next) {
        if (r->verb == verb && (r->who == who || r->who == TLY_ACCESS_ANYONE) &&
            key_len >= r->prefix_len && memcmp(key, r->prefix, r->prefix_len) == 0) {
            return 1;
        }
    }
    return 0;
}
