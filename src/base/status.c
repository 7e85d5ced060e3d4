/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include <tilery/status.h>
#include <tilery/version.h>

#include "base/status_table.h"

static const struct tly_status_row *find(tly_status status) {
    if (status < 0 || status >= (tly_status)(sizeof tly_status_rows / sizeof tly_status_rows[0])) {
        return NULL;
    }
    return &tly_status_rows[status];
}

const char *tly_status_name(tly_status status) {
    const struct tly_status_row *row = find(status);
    return row != NULL ? row->name : "?";
}

const char *tly_status_text(tly_status status) {
    const struct tly_status_row *row = find(status);
    return row != NULL ? row->text : "unknown status";
}

int tly_status_exit_code(tly_status status) {
    const struct tly_status_row *row = find(status);
    return row != NULL ? row->exit_code : 70;
}

const char *tly_version(void) {
    return TLY_VERSION_STRING;
}
