/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of operations.def that work on local tiles alone: what else a header must say
 * (schema), what operands must be (check), and the operation (run). */
#ifndef TLY_PTO_TILE_HANDLERS_H
#define TLY_PTO_TILE_HANDLERS_H

#include "pto/tile/operation.h"

/* Set in the variant of expansions that go along columns. */
enum { TLY_PTO_BY_COLUMN = 16 };

bool tly_pto_check_binary(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_binary(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_unary(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_unary(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_scalar(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_scalar(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_scalar(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_fma(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_fma(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_fill(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_compare(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_compare(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_compare(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_compare_scalar(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_compare_scalar(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_compare_scalar(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_select(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_select(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_select(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_select_scalar(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_select_scalar(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_select_scalar(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_convert(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_convert(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_convert(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_quantize(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_quantize(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_quantize(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_dequantize(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_dequantize(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_dequantize(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_reduction(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_reduction(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_reduction(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_expand(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_expand(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_expand(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_partial(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_partial(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_concat(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_concat(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_extract(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_extract(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_insert(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_insert(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_fill_pad(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_fill_pad(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_transpose(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_transpose(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_gather_rows(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_gather_rows(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_scatter_rows(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_scatter_rows(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_sequence(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_sequence(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_sequence(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_triangle(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_triangle(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_triangle(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_histogram(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_histogram(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_sort(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_sort(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_sort(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_schema_merge_sort(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_merge_sort(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_image(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_image(tly_pto_machine *machine, tly_pto_plan *plan);

#endif
