/* SPDX-License-Identifier: Apache-2.0 */
#include "asm/expr.h"

#include <string.h>

#include "base/error.h"

#define MAX_DEPTH 32 /* nested brackets and signs */

typedef struct parser {
    tly_asm_reader *r;
    const tly_asm_env *env;
    tly_error *error;
    int depth;
} parser;

static tly_status fail(parser *p, const char *message) {
    return tly_base_fail(p->error, TLY_MALFORMED, p->r->at, "asm-expression", "%s", message);
}

static tly_status level(parser *p, int lowest, tly_asm_value *out);

static tly_status symbol(parser *p, tly_asm_value *out) {
    const char *name;
    size_t start, len;
    tly_asm_peek(p->r);
    start = p->r->at;
    len = tly_asm_word(p->r, &name);
    if (len == 0) {
        return tly_asm_expected(p->r, "a number or a symbol", p->error);
    }
    if (len == 1 && name[0] == '.') {
        *out = (tly_asm_value){(int64_t)p->env->address, p->env->here, 0};
        return TLY_OK;
    }
    if (p->env->resolve == NULL) {
        p->r->at = start;
        return tly_base_fail(p->error, TLY_MALFORMED, start, "asm-symbol",
                             "there are no symbols here, only numbers");
    }
    if (p->env->guessed != NULL) {
        *p->env->guessed = 1;
    }
    if (p->env->resolve(p->env->user, name, len, out, p->error) != TLY_OK) {
        if (p->error != NULL) {
            p->error->offset = start;
        }
        return TLY_MALFORMED;
    }
    return TLY_OK;
}

/* Local numeric labels: 1b, 2f. The resolver knows them by those names. */
static int local_label(parser *p, tly_asm_value *out, tly_status *out_status) {
    tly_asm_reader *r = p->r;
    size_t at, start;
    char side;
    tly_asm_peek(r);
    start = at = r->at;
    while (at < r->len && r->text[at] >= '0' && r->text[at] <= '9') {
        at++;
    }
    side = at < r->len ? r->text[at] : '\0';
    if (at == start || at - start > 9 || (side != 'b' && side != 'f') || p->env->resolve == NULL) {
        return 0;
    }
    if (at + 1 < r->len && (r->text[at + 1] == '_' || (r->text[at + 1] | 32) >= 'a') &&
        (r->text[at + 1] | 32) <= 'z') {
        return 0;
    }
    if (at + 1 < r->len && r->text[at + 1] >= '0' && r->text[at + 1] <= '9') {
        return 0; /* 0b101 */
    }
    r->at = at + 1;
    if (p->env->guessed != NULL) {
        *p->env->guessed = 1;
    }
    *out_status = p->env->resolve(p->env->user, r->text + start, at + 1 - start, out, p->error);
    if (*out_status != TLY_OK && p->error != NULL) {
        p->error->offset = start;
    }
    return 1;
}

static tly_status character(parser *p, tly_asm_value *out) {
    tly_asm_reader *r = p->r;
    char ch;
    r->at++;
    ch = tly_asm_next(r);
    if (ch == '\\' && r->at + 1 < r->len) {
        static const char from[] = "nrt0\\'\"", to[] = "\n\r\t\0\\'\"";
        const char *found = strchr(from, r->text[++r->at]);
        if (found == NULL || *found == '\0') {
            return fail(p, "unknown escape in a character");
        }
        ch = to[found - from];
    } else if (ch == '\0') {
        return fail(p, "a character without its closing quote");
    }
    r->at++;
    if (tly_asm_next(r) != '\'') {
        return fail(p, "a character without its closing quote");
    }
    r->at++;
    *out = (tly_asm_value){(unsigned char)ch, 0, 0};
    return TLY_OK;
}

static tly_status primary(parser *p, tly_asm_value *out) {
    tly_status status;
    uint64_t number;
    char ch = tly_asm_peek(p->r);
    if (++p->depth > MAX_DEPTH) {
        return fail(p, "the expression is nested too deeply");
    }
    if (ch == '-' || ch == '~' || ch == '+') {
        p->r->at++;
        status = primary(p, out);
        if (status == TLY_OK && ch != '+') {
            if (out->symbol != 0) {
                return fail(p, "a symbol can be added or subtracted, nothing else");
            }
            out->number = ch == '-' ? (int64_t) - (uint64_t)out->number : ~out->number;
        }
    } else if (ch == '(') {
        p->r->at++;
        status = level(p, 0, out);
        if (status == TLY_OK && !tly_asm_accept(p->r, ")")) {
            status = tly_asm_expected(p->r, "a closing bracket", p->error);
        }
    } else if (ch == '\'') {
        status = character(p, out);
    } else if (local_label(p, out, &status)) {
        /* done */
    } else {
        int found = tly_asm_number(p->r, &number);
        if (found < 0) {
            return fail(p, "the number does not fit in 64 bits");
        }
        if (found > 0) {
            *out = (tly_asm_value){(int64_t)number, 0, 0};
            status = TLY_OK;
        } else {
            status = symbol(p, out);
        }
    }
    p->depth--;
    return status;
}

/* Operators by precedence, weakest first. */
static int operator_level(parser *p, char *out_op) {
    static const uint8_t levels[256] = {['|'] = 1, ['^'] = 2, ['&'] = 3, ['<'] = 4, ['>'] = 4,
                                        ['+'] = 5, ['-'] = 5, ['*'] = 6, ['/'] = 6, ['%'] = 6};
    char ch = tly_asm_peek(p->r);
    int found = levels[(unsigned char)ch] - 1;
    if (found >= 0) {
        char next = p->r->at + 1 < p->r->len ? p->r->text[p->r->at + 1] : '\0';
        if ((ch == '-' && next == '>') || /* an arrow, not a minus */
            ((ch == '<' || ch == '>') && next != ch)) {
            return -1;
        }
        *out_op = ch;
    }
    return found;
}

static tly_status combine(parser *p, char op, tly_asm_value *left, const tly_asm_value *right) {
    uint64_t a = (uint64_t)left->number, b = (uint64_t)right->number;
    left->unknown |= right->unknown;
    if (op == '+' && (left->symbol == 0 || right->symbol == 0)) {
        left->number = (int64_t)(a + b);
        left->symbol |= right->symbol;
        return TLY_OK;
    }
    if (op == '-' && right->symbol != 0) {
        int64_t distance = 0;
        if (left->symbol != right->symbol &&
            (left->symbol == 0 || p->env->difference == NULL ||
             !p->env->difference(p->env->user, left->symbol, right->symbol, &distance)) &&
            !left->unknown) {
            return fail(p, "the difference of symbols in different sections is not known");
        }
        left->number = (int64_t)(a - b + (uint64_t)distance);
        left->symbol = 0;
        return TLY_OK;
    }
    if (op == '-') {
        left->number = (int64_t)(a - b);
        return TLY_OK;
    }
    if ((left->symbol | right->symbol) != 0) {
        return fail(p, "a symbol can be added or subtracted, nothing else");
    }
    switch (op) {
    case '*':
        a *= b;
        break;
    case '/':
    case '%':
        if (b == 0) {
            if (left->unknown) {
                return TLY_OK;
            }
            return fail(p, "division by zero");
        }
        if (left->number == INT64_MIN && right->number == -1) {
            a = op == '/' ? a : 0;
        } else {
            a = (uint64_t)(op == '/' ? left->number / right->number : left->number % right->number);
        }
        break;
    case '<':
        a = b < 64 ? a << b : 0;
        break;
    case '>':
        a = b < 64 ? a >> b : 0;
        break;
    case '&':
        a &= b;
        break;
    case '^':
        a ^= b;
        break;
    default:
        a |= b;
        break;
    }
    left->number = (int64_t)a;
    return TLY_OK;
}

static tly_status level(parser *p, int lowest, tly_asm_value *out) {
    tly_status status = primary(p, out);
    char op = 0;
    int found;
    while (status == TLY_OK && (found = operator_level(p, &op)) >= lowest) {
        tly_asm_value right;
        p->r->at += op == '<' || op == '>' ? 2 : 1;
        status = level(p, found + 1, &right);
        if (status == TLY_OK) {
            status = combine(p, op, out, &right);
        }
    }
    return status;
}

tly_status tly_asm_expr(tly_asm_reader *r, const tly_asm_env *env, tly_asm_value *out_value,
                        tly_error *error) {
    parser p = {r, env, error, 0};
    return level(&p, 0, out_value);
}

tly_status tly_asm_constant(tly_asm_reader *r, const tly_asm_env *env, int64_t *out_value,
                            tly_error *error) {
    tly_asm_value value;
    size_t start = (tly_asm_peek(r), r->at);
    tly_status status = tly_asm_expr(r, env, &value, error);
    if (status != TLY_OK) {
        return status;
    }
    if (value.symbol != 0 || value.unknown) {
        return tly_base_fail(error, TLY_MALFORMED, start, "asm-expression",
                             "this must be a number that is known here");
    }
    *out_value = value.number;
    return TLY_OK;
}
