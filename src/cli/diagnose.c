/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/diagnose.h"

#include <stdio.h>
#include <string.h>

#include "cli/text.h"

void tly_cli_show_diagnostic(void *user, const tly_asm_diagnostic *d) {
    char file[300], text[400];
    uint32_t *shown = user;
    (*shown)++;
    fprintf(stderr, "%s:%u:", tly_text_safe(file, sizeof file, d->file, strlen(d->file)), d->line);
    if (d->column != 0) {
        fprintf(stderr, "%u:", d->column);
    }
    fprintf(stderr, " %s: %s [%s]\n", d->severity == TLY_ASM_ERROR ? "error" : "warning",
            d->message, d->rule);
    if (d->text_len != 0) {
        fprintf(stderr, "    %s\n", tly_text_safe(text, sizeof text, d->text, d->text_len));
        if (d->column != 0 && d->column < 200) {
            fprintf(stderr, "    ");
            for (uint32_t i = 1; i < d->column; i++) {
                fputc(i <= d->text_len && d->text[i - 1] == '\t' ? '?' : ' ', stderr);
            }
            fprintf(stderr, "^\n");
        }
    }
}
