/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody else's program: knows only what is installed. Its argument is the version that
 * pkg-config reports. */
#include <stdio.h>
#include <string.h>

#include <tilery/tilery.h>

int main(int argc, char **argv) {
    tly_context *context = NULL;
    tly_error error;
    if (argc != 2 || strcmp(argv[1], tly_version()) != 0) {
        fprintf(stderr, "the library says %s, pkg-config %s\n", tly_version(), argv[argc - 1]);
        return 1;
    }
    if (tly_context_new(NULL, &context, &error) != TLY_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("tilery %s, %s\n", tly_version(), tly_simd_name(tly_context_simd(context)));
    tly_context_free(context);
    return 0;
}
