/* SPDX-License-Identifier: Apache-2.0 */
/* Made by tools/generate.py from tables/status.toml: do not edit. */
static const struct tly_status_row {
    const char *name;
    const char *text;
    int exit_code;
} tly_status_rows[] = {
    {"OK", "success", 0},
    {"INVALID_ARGUMENT", "an argument is outside what the function takes", 2},
    {"OUT_OF_MEMORY", "the allocator has no memory left", 5},
    {"OVERFLOW", "a size or an offset does not fit in 64 bits", 3},
    {"TRUNCATED", "the input ends before what it announces", 3},
    {"MALFORMED", "the input breaks a rule of its format", 3},
    {"UNSUPPORTED", "the input is legal but this build does not handle it", 4},
    {"LIMIT", "the input goes beyond a limit that the caller set", 3},
    {"NOT_FOUND", "there is no tensor, profile or file of that name", 6},
    {"EXISTS", "the name is taken", 2},
    {"IO", "the operating system refused a read, a write or a connection", 5},
    {"CLOSED", "the peer closed the connection before the end", 7},
    {"PEER", "the peer answered with an error", 7},
    {"PROTOCOL", "the peer broke a rule of the protocol", 7},
    {"LAYOUT_UNAVAILABLE", "the requested layout cannot be produced from this tensor", 6},
    {"MISMATCH", "two things that must agree differ", 1},
    {"TIMEOUT", "the peer made no progress in the time allowed", 7},
    {"CANCELLED", "the caller stopped the operation", 5},
    {"NO_PANEL", "the kernel wants the plain layout for this problem, no panel", 6},
    {"MODULE", "a module that this needs is missing or does not fit this version", 4},
    {"INTERNAL", "a defect in Tilery: please report it", 70},
    {"GUEST_FAULT", "a program for the PTO machine broke a rule of the architecture, and nothing in it took the trap", 8},
    {"STEP_LIMIT", "a program for the PTO machine did not end within the number of steps that it was given", 9},
};
