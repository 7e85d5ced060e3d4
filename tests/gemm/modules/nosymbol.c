/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object that is no module. */
int something_else(void);

int something_else(void) {
    return 0;
}
