/* SPDX-License-Identifier: Apache-2.0 */
/* One recorded case of the public PTO model: a state, words and actions of the host, and what must
 * come out. */
#ifndef TLY_CLI_PTO_CASE_H
#define TLY_CLI_PTO_CASE_H

#include <jansson.h>

#include <tilery/status.h>

#include "pto/fields.h"
#include "pto/machine.h"

/* Path of the recordings ("_BundleOperation.form_identity", "_GQMQueueValid[2]") as the name of a
 * field ("bundle_operation.form_identity"). Returns the length, cut to the capacity. */
size_t tly_pto_case_name(const char *path, char *out_name, size_t capacity);

/* Sets the state that `state` lists; what it does not list stays. Errors: MALFORMED. */
tly_status tly_pto_case_apply(tly_pto_machine *machine, json_t *state, tly_error *error);

enum { TLY_PTO_CASE_TEXT = 400 };

/* What a case came to. */
typedef struct tly_pto_verdict_text {
    bool passed;
    char text[TLY_PTO_CASE_TEXT]; /* of the first difference */
} tly_pto_verdict_text;

/* Runs a case on `machine` and compares with `expected`, both of which it resets; both have the
 * memory that the case asks for. Errors: MALFORMED (the case, not its outcome). */
tly_status tly_pto_case_run(json_t *recorded, tly_pto_machine *machine, tly_pto_machine *expected,
                            tly_pto_verdict_text *out_verdict, tly_error *error);

/* Memory and application region that a case runs with. */
void tly_pto_case_memory(json_t *recorded, uint64_t *out_bytes, uint64_t *out_app_limit);

#endif
