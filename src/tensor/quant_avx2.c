/* SPDX-License-Identifier: Apache-2.0 */
#define KERNELS quant_kernels_avx2

#include "tensor/quant_template.h"
