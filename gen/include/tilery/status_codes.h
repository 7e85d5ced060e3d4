/* SPDX-License-Identifier: Apache-2.0 */
/* Made by tools/generate.py from tables/status.toml: do not edit. */
#ifndef TILERY_STATUS_CODES_H
#define TILERY_STATUS_CODES_H

#define TLY_OK                     0 /* success */
#define TLY_INVALID_ARGUMENT       1 /* an argument is outside what the function takes */
#define TLY_OUT_OF_MEMORY          2 /* the allocator has no memory left */
#define TLY_OVERFLOW               3 /* a size or an offset does not fit in 64 bits */
#define TLY_TRUNCATED              4 /* the input ends before what it announces */
#define TLY_MALFORMED              5 /* the input breaks a rule of its format */
#define TLY_UNSUPPORTED            6 /* the input is legal but this build does not handle it */
#define TLY_LIMIT                  7 /* the input goes beyond a limit that the caller set */
#define TLY_NOT_FOUND              8 /* there is no tensor, profile or file of that name */
#define TLY_EXISTS                 9 /* the name is taken */
#define TLY_IO                    10 /* the operating system refused a read, a write or a connection */
#define TLY_CLOSED                11 /* the peer closed the connection before the end */
#define TLY_PEER                  12 /* the peer answered with an error */
#define TLY_PROTOCOL              13 /* the peer broke a rule of the protocol */
#define TLY_LAYOUT_UNAVAILABLE    14 /* the requested layout cannot be produced from this tensor */
#define TLY_MISMATCH              15 /* two things that must agree differ */
#define TLY_TIMEOUT               16 /* the peer made no progress in the time allowed */
#define TLY_CANCELLED             17 /* the caller stopped the operation */
#define TLY_NO_PANEL              18 /* the kernel wants the plain layout for this problem, no panel */
#define TLY_MODULE                19 /* a module that this needs is missing or does not fit this version */
#define TLY_INTERNAL              20 /* a defect in Tilery: please report it */
#define TLY_GUEST_FAULT           21 /* a program for the PTO machine broke a rule of the architecture, and nothing in it took the trap */
#define TLY_STEP_LIMIT            22 /* a program for the PTO machine did not end within the number of steps that it was given */

#endif
