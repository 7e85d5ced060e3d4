/* SPDX-License-Identifier: Apache-2.0 */
/* What the assembler has to say, on standard error as compilers show it. */
#ifndef TLY_CLI_DIAGNOSE_H
#define TLY_CLI_DIAGNOSE_H

#include <tilery/asm.h>

/* Kind, message, the line and a mark below the column. `user` is a uint32_t that counts what was
 * shown. A tly_asm_diagnostic_fn. */
void tly_cli_show_diagnostic(void *user, const tly_asm_diagnostic *diagnostic);

#endif
