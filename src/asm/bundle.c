/* SPDX-License-Identifier: Apache-2.0 */
#include "asm/bundle.h"

#include <stdio.h>
#include <string.h>

#include "asm/operand.h"
#include "isa/table.h"

/* Operands of an operation whose field begins with `prefix`. */
static uint32_t operands(const tly_isa_tileop *op, const char *prefix) {
    uint32_t count = 0;
    size_t len = strlen(prefix);
    for (const char *at = op->operands; at != NULL; at = strchr(at, ',')) {
        at += *at == ',' ? 2 : 0;
        count += strncmp(at, prefix, len) == 0;
    }
    return count;
}

/* The operation that a block start names, NULL for scalar blocks and unknown selectors. */
static const tly_isa_tileop *operation(const tly_isa_insn *insn, const tly_isa_form_row *form) {
    if (insn->form == TLY_FORM_BSTART_TEPL) {
        return tly_isa_tileop_find((uint32_t)tly_asm_field(insn, form, "Mode"),
                                   (uint32_t)tly_asm_field(insn, form, "Function"));
    }
    return form->tileop != 0 ? tly_isa_tileop_at(form->tileop - 1u) : NULL;
}

static void check_end(tly_bundle *b, tly_bundle_warn_fn warn, void *user) {
    char text[200];
    if (!b->open || b->op == NULL) {
        return;
    }
    if (b->op->mode != 0xFF) { /* operands of TLSU and CUBE depend on more */
        uint32_t sources = operands(b->op, "source"), made = operands(b->op, "destination");
        if (b->sources != sources) {
            snprintf(text, sizeof text, "%s takes %u source tile%s, the bundle binds %u",
                     b->op->name, sources, sources == 1 ? "" : "s", b->sources);
            warn(user, "bundle-sources", text);
        }
        if (b->destinations != made) {
            snprintf(text, sizeof text, "%s makes %u tile%s, the bundle binds %u", b->op->name,
                     made, made == 1 ? "" : "s", b->destinations);
            warn(user, "bundle-destinations", text);
        }
    }
    if (b->binders != 0 && !b->last) {
        snprintf(text, sizeof text, "no binder of this %s bundle is the last one", b->op->name);
        warn(user, "bundle-last", text);
    }
}

static void start(tly_bundle *b, const tly_isa_insn *insn, const tly_isa_form_row *form,
                  uint32_t line, tly_bundle_warn_fn warn, void *user) {
    char text[160];
    const tly_isa_tileop *op = operation(insn, form);
    *b = (tly_bundle){.open = 1, .op = op, .line = line};
    if (insn->form == TLY_FORM_BSTART_TEPL && op == NULL) {
        warn(user, "bundle-operation", "no tile operation has this mode and function");
    }
    if (op != NULL && tly_isa_field_at(form, 0) != NULL) {
        b->dtype = (uint32_t)tly_asm_field(insn, form, "DataType");
        if ((op->dtypes >> b->dtype & 1) == 0 && b->dtype != 31) {
            snprintf(text, sizeof text, "%s does not take %s elements", op->name,
                     tly_isa_name_of(TLY_NAMES_DTYPE, b->dtype));
            warn(user, "bundle-dtype", text);
        }
    }
}

static void attributes(const tly_bundle *b, const tly_isa_insn *insn, const tly_isa_form_row *form,
                       tly_bundle_warn_fn warn, void *user) {
    char text[160];
    for (uint32_t i = 0; i < form->num_fields; i++) {
        const char *name = tly_isa_field_name(form, i);
        int64_t value = insn->fields[i];
        if (strcmp(name, "DataType") == 0 && value == 31) {
            continue; /* none */
        }
        if (value != 0 && strstr(b->op->attributes, name) == NULL) {
            snprintf(text, sizeof text, "%s takes no %s in B.DATR", b->op->name, name);
            warn(user, "bundle-attribute", text);
        }
    }
}

static void binder(tly_bundle *b, const tly_isa_insn *insn, const tly_isa_form_row *form,
                   int shared) {
    b->binders++;
    for (uint32_t i = 0; i < form->num_fields; i++) {
        const char *name = tly_isa_field_name(form, i);
        b->sources += strncmp(name, "SrcTile", 7) == 0;
        b->destinations += strcmp(name, "DstTile") == 0;
        b->last |= strcmp(name, "L") == 0 && insn->fields[i] != 0;
        if (shared && (strcmp(name, "SizeCode") == 0 || strcmp(name, "TSize") == 0)) {
            b->sources += insn->fields[i] == 0;
            b->destinations += insn->fields[i] != 0;
        }
    }
    b->last |= (uint32_t)shared; /* B.IOS has no such bit */
}

void tly_bundle_step(tly_bundle *b, const tly_isa_insn *insn, uint32_t line,
                     tly_bundle_warn_fn warn, void *user) {
    const tly_isa_form_row *form = tly_isa_form_at(insn->form);
    switch (form->bundle) {
    case TLY_BUNDLE_START:
        check_end(b, warn, user); /* a start ends the bundle before it */
        start(b, insn, form, line, warn, user);
        break;
    case TLY_BUNDLE_STOP:
        check_end(b, warn, user);
        b->open = 0;
        break;
    case TLY_BUNDLE_TILES:
    case TLY_BUNDLE_SHARED:
        binder(b, insn, form, form->bundle == TLY_BUNDLE_SHARED);
        break;
    case TLY_BUNDLE_DATA:
    case TLY_BUNDLE_HEADER:
        if (!b->open) {
            warn(user, "bundle-header", "this belongs behind a block start; no block is open");
        } else if (form->bundle == TLY_BUNDLE_DATA && b->op != NULL) {
            attributes(b, insn, form, warn, user);
        }
        break;
    default:
        break;
    }
}

void tly_bundle_end(tly_bundle *b, tly_bundle_warn_fn warn, void *user) {
    check_end(b, warn, user);
    if (b->open && b->op != NULL) {
        char text[120];
        snprintf(text, sizeof text,
                 "the %s bundle of line %u is never committed: BSTOP or another start is missing",
                 b->op->name, b->line);
        warn(user, "bundle-terminator", text);
    }
    b->open = 0;
}
