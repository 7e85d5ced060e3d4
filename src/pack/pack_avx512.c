/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/kernels.h"

#include <immintrin.h>

#define LANES   4
#define KERNELS pack_kernels_avx512

#include "pack/ops_avx2.h"
#include "pack/ops_avx512.h"

#include "pack/kernels_template.h"
