/* SPDX-License-Identifier: Apache-2.0 */
/* Running programs: fetch, entry of bodies, and why a run ends. The types are public. */
#ifndef TLY_PTO_RUN_H
#define TLY_PTO_RUN_H

#include <tilery/pto.h>

#include "pto/machine.h"

#endif
