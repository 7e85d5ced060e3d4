/* SPDX-License-Identifier: Apache-2.0 */
#define KERNELS quant_kernels_portable

#include "tensor/quant_template.h"
