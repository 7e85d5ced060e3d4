/* SPDX-License-Identifier: Apache-2.0 */
#define FAST_TABLE num_fast_portable

#include "num/fast_template.h"
