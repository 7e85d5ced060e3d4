/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/families.h"

tly_status tly_families_from(const tly_cli *cli, uint32_t option, const tly_context *context,
                             tly_families **out_families, tly_error *error) {
    tly_status status = TLY_OK;
    *out_families = NULL;
    for (uint32_t i = 0; i < cli->num_repeats && status == TLY_OK; i++) {
        if (cli->repeats[i].option != option) {
            continue;
        }
        if (*out_families == NULL) {
            status = tly_families_new(context, out_families, error);
        }
        if (status == TLY_OK) {
            status = tly_families_load(*out_families, cli->repeats[i].value, error);
        }
    }
    if (status != TLY_OK) {
        tly_families_free(*out_families);
        *out_families = NULL;
    }
    return status;
}
