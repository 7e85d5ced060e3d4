/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/profile/ieee_ops_avx2.h"

#include "pto/profile/ieee_vector_rows_template.h"
