/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/kernels.h"

#include <immintrin.h>

#define LANES   2
#define KERNELS pack_kernels_avx2

#include "pack/ops_avx2.h"

#include "pack/kernels_template.h"
