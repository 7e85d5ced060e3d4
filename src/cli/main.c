/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

int main(int argc, char **argv) {
    return tly_cli_main(argc, argv);
}
