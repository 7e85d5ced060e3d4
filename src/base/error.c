/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void set_head(tly_error *error, tly_status status, uint64_t offset, const char *rule) {
    memset(error, 0, sizeof *error);
    error->status = status;
    error->offset = offset;
    snprintf(error->rule, sizeof error->rule, "%s", rule);
}

tly_status tly_base_fail(tly_error *error, tly_status status, uint64_t offset, const char *rule,
                         const char *format, ...) {
    if (error != NULL) {
        va_list args;
        set_head(error, status, offset, rule);
        va_start(args, format);
        vsnprintf(error->message, sizeof error->message, format, args);
        va_end(args);
    }
    return status;
}

tly_status tly_base_fail_errno(tly_error *error, int errnum, const char *format, ...) {
    if (error != NULL) {
        va_list args;
        char buffer[128];
        const char *reason = strerror_r(errnum, buffer, sizeof buffer);
        size_t used;
        set_head(error, TLY_IO, TLY_NO_OFFSET, "");
        va_start(args, format);
        vsnprintf(error->message, sizeof error->message, format, args);
        va_end(args);
        used = strlen(error->message);
        snprintf(error->message + used, sizeof error->message - used, ": %s", reason);
    }
    return TLY_IO;
}

const char *tly_base_printable(char *out, size_t capacity, const void *text, size_t len) {
    const unsigned char *bytes = text;
    size_t used = 0;
    for (size_t i = 0; i < len; i++) {
        int plain = bytes[i] >= 0x20 && bytes[i] < 0x7F && bytes[i] != '\\';
        size_t need = plain ? 1 : 4;
        if (used + need + 4 > capacity) { /* room for "..." and the NUL */
            if (capacity >= used + 4) {
                memcpy(out + used, "...", 3);
                used += 3;
            }
            break;
        }
        if (plain) {
            out[used] = (char)bytes[i];
        } else {
            snprintf(out + used, 5, "\\x%02X", bytes[i]);
        }
        used += need;
    }
    if (capacity != 0) {
        out[used < capacity ? used : capacity - 1] = '\0';
    }
    return out;
}
