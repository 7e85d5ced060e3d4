/* SPDX-License-Identifier: Apache-2.0 */
/* What a matrix operation's header must say and what its operands must be, in the order of the
 * architecture (asl/block/model/dispatch/cube-tmatmul, shared-cube-matrix;
 * asl/tile/model/legality/matrix-*). */
#include "pto/tile/cube.h"

#include "base/checked.h"
#include "pto/registers.h"
#include "pto/tile/allocate.h"
#include "pto/tile/header.h"
#include "pto/tile/legal.h"
#include "pto/tile/matrix.h"
#include "pto/tile/shared.h"
#include "pto/tile/transfer.h"

/* Types that matrix operations multiply. */
#define ORDINARY_TYPES                                                                             \
    ((TLY_PTO_TYPES_FLOATING & ~TLY_PTO_TYPE(TLY_PTO_FP64) & ~TLY_PTO_TYPE(TLY_PTO_E8M0) &         \
      ~TLY_PTO_TYPE(TLY_PTO_HIF4X2)) |                                                             \
     TLY_PTO_TYPE(TLY_PTO_S16) | TLY_PTO_TYPE(TLY_PTO_S8) | TLY_PTO_TYPE(TLY_PTO_S4X2) |           \
     TLY_PTO_TYPE(TLY_PTO_U16) | TLY_PTO_TYPE(TLY_PTO_U8) | TLY_PTO_TYPE(TLY_PTO_U4X2))
#define UNSCALED_TYPES (TLY_PTO_TYPE(TLY_PTO_FP16) | TLY_PTO_TYPE(TLY_PTO_BF16))
#define SCALED_TYPES                                                                               \
    (TLY_PTO_TYPE(TLY_PTO_E4M3) | TLY_PTO_TYPE(TLY_PTO_E5M2) | TLY_PTO_TYPE(TLY_PTO_E2M1X2) |      \
     TLY_PTO_TYPE(TLY_PTO_E1M2X2))

enum { MAX_M16 = 16, MAX_M32 = 32, ALL_ELEMENTS = 15 };

static bool is_scaled(uint32_t function, uint32_t dtype) {
    return tly_pto_matrix_is_mx(function) && tly_pto_dtype_in(dtype, SCALED_TYPES);
}

static uint32_t group_size(uint32_t function, uint32_t dtype) {
    return is_scaled(function, dtype) ? 2 : 1;
}

static bool left_is_shared(const tly_pto_matrix *x) {
    return x->num_shared != 0 && x->num_shared != group_size(x->function, x->right_type);
}

static uint32_t scale_blocks(const tly_pto_matrix *x) {
    return (x->k + TLY_PTO_MX_BLOCK - 1) / TLY_PTO_MX_BLOCK;
}

/* Whether a layout can hold the rows of A or of the result. */
static bool m_layout_legal(uint32_t layout, uint32_t m) {
    return (layout == TLY_PTO_LAYOUT_CUBE_M16 && m <= MAX_M16) ||
           (layout == TLY_PTO_LAYOUT_CUBE_M32 && m <= MAX_M32);
}

static const tly_pto_fixed_point *attributes(const tly_pto_machine *m) {
    return &m->core.context.header.fixed_point;
}

/* ---- header --------------------------------------------------------------------------------- */

static bool types_legal(const tly_pto_matrix *x) {
    uint32_t left = x->left_type, right = x->right_type;
    if (tly_pto_matrix_is_mx(x->function)) {
        return tly_pto_dtype_in(left, SCALED_TYPES | UNSCALED_TYPES) &&
               tly_pto_dtype_in(right, SCALED_TYPES | UNSCALED_TYPES);
    }
    return tly_pto_dtype_in(left, ORDINARY_TYPES) && tly_pto_dtype_in(right, ORDINARY_TYPES) &&
           tly_pto_dtype_is_integer(left) == tly_pto_dtype_is_integer(right) &&
           tly_pto_dtype_is_signed(left) == tly_pto_dtype_is_signed(right);
}

static bool check_types(const tly_pto_machine *m, tly_pto_plan *plan, tly_pto_matrix *x) {
    const tly_pto_header *header = &m->core.context.header;
    x->left_type = plan->data_type;
    x->right_type = header->data_attributes_present ? header->data.data_type : plan->data_type;
    if (!types_legal(x)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_TYPES, plan->operation, x->left_type,
                                   x->right_type, 0);
    }
    bool exact = !tly_pto_matrix_is_mx(x->function) && tly_pto_dtype_is_integer(x->left_type);
    x->accumulator_type = !exact                                  ? TLY_PTO_FP32
                          : tly_pto_dtype_is_signed(x->left_type) ? TLY_PTO_S32
                                                                  : TLY_PTO_U32;
    return true;
}

static bool check_counts(const tly_pto_machine *m, tly_pto_plan *plan, tly_pto_matrix *x) {
    const tly_pto_fixed_point *a = attributes(m);
    uint32_t left = group_size(x->function, x->left_type);
    uint32_t right = group_size(x->function, x->right_type);
    x->num_shared = tly_pto_num_shared_bindings(&m->core.context.header);
    bool shared_legal =
        x->num_shared == 0 || (!tly_pto_matrix_is_gemv(x->function) &&
                               (x->num_shared == right || x->num_shared == left + right));
    if (!shared_legal) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_SHARED_COUNT, plan->operation,
                                   x->num_shared, right, left + right);
    }
    uint32_t sources =
        left + right - x->num_shared +
        (tly_pto_matrix_has_bias(x->function) || tly_pto_matrix_accumulates(x->function)) +
        (a->row_max_en && a->row_max_init) +
        (tly_pto_quant_modes[a->pre_quant_mode].parameter == TLY_PTO_QUANT_VECTOR) +
        (a->relu_mode == TLY_PTO_RELU_VECTOR);
    uint32_t destinations = 1u + a->row_max_en + a->group_max_en;
    if (plan->num_sources != sources) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SOURCE_COUNT, plan->operation,
                                   plan->num_sources, sources, 0);
    }
    if (plan->num_destinations != destinations) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_DESTINATION_COUNT, plan->operation,
                                   plan->num_destinations, destinations, 0);
    }
    if (!tly_pto_bindings_terminated(&m->core.context.header)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_BINDINGS_OPEN, plan->operation, 0, 0, 0);
    }
    return true;
}

/* Parameters of the post-processing come from B.IOR: quantization first, then activation. */
static bool read_parameters(const tly_pto_machine *m, tly_pto_plan *plan, tly_pto_matrix *x) {
    const tly_pto_scalar_binding *scalar = &m->core.context.header.scalar_bindings[0];
    const tly_pto_fixed_point *a = attributes(m);
    bool quant = tly_pto_quant_modes[a->pre_quant_mode].parameter == TLY_PTO_QUANT_SCALAR;
    bool relu = a->relu_mode == TLY_PTO_RELU_SCALAR;
    uint32_t count = (uint32_t)quant + relu;
    x->quant_param = quant ? 0 : 1;
    x->relu_param = 0;
    if (!scalar->valid) {
        return true;
    }
    if (scalar->destination != 0 || scalar->source2 != 0 || (count < 2 && scalar->source1 != 0) ||
        (count < 1 && scalar->source0 != 0)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_REGISTER_COUNT, plan->operation, count,
                                   0, 0);
    }
    if (quant) {
        x->quant_param = tly_pto_read_source(m, scalar->source0);
        if (!tly_pto_quant_parameter_legal(a->pre_quant_mode, x->quant_param)) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_QUANT_PARAMETER, a->pre_quant_mode,
                                       x->quant_param, 0, 0);
        }
    }
    if (relu) {
        x->relu_param = tly_pto_read_source(m, quant ? scalar->source1 : scalar->source0);
        if (!tly_pto_relu_parameter_legal(x->relu_param)) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_RELU_PARAMETER, x->relu_param, 0, 0,
                                       0);
        }
    }
    return true;
}

/* A dimension that is left out is 1. */
static uint32_t dimension(const tly_pto_header *header, uint32_t index) {
    if (!header->dimension_present[index]) {
        return 1;
    }
    uint64_t value = header->dimensions[index];
    return value <= TLY_PTO_TILE_MAX_EXTENT ? (uint32_t)value : 0;
}

static bool check_dimensions(const tly_pto_machine *m, tly_pto_plan *plan, tly_pto_matrix *x) {
    const tly_pto_header *header = &m->core.context.header;
    const tly_pto_data_attributes *data = &header->data;
    if (header->data_attributes_present && (data->data_layout != 0 || data->pad_value != 0 ||
                                            data->comparison_mode != 0 || data->canonicalize)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_ATTRIBUTES, plan->operation, 0, 0, 0);
    }
    x->m = dimension(header, 0);
    x->n = dimension(header, 1);
    x->k = dimension(header, 2);
    if (x->m == 0 || x->n == 0 || x->k == 0) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_DIMENSIONS, plan->operation, x->m, x->n,
                                   x->k);
    }
    if (x->num_shared != 0 && !(tly_base_is_power_of_two(x->m) && tly_base_is_power_of_two(x->n) &&
                                tly_base_is_power_of_two(x->k))) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_SHARED_DIMENSIONS, x->m, x->n, x->k, 0);
    }
    return true;
}

/* All tiles, local and shared, are for the same processing elements. */
static bool check_masks(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    if (!tly_pto_plan_check_masks(m, plan)) {
        return false;
    }
    uint32_t local = 0;
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILE_BINDINGS; i++) {
        local = header->tile_bindings[i].valid ? header->tile_bindings[i].pe_mask : local;
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_BINDINGS; i++) {
        const tly_pto_shared_binding *shared = &header->shared_bindings[i];
        if (shared->valid && shared->pe_mask != local) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_MASKS_DIFFER, local, shared->pe_mask,
                                       0, 0);
        }
    }
    return true;
}

/* ---- shared operands ------------------------------------------------------------------------ */

static bool take_shared(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal,
                        uint32_t rows, uint32_t columns, uint32_t dtype, bool transposed,
                        tly_pto_matrix_operand *out) {
    const tly_pto_shared_binding *binding = &m->core.context.header.shared_bindings[ordinal];
    const tly_pto_shared_tile *shared = &m->core.shared_tiles[binding->shared_id];
    uint32_t stored_rows = transposed ? columns : rows;
    uint32_t stored_columns = transposed ? rows : columns;
    if (binding->size_code != 0 || !tly_pto_shared_tile_legal(m, binding->shared_id) ||
        shared->allocation_mask != ALL_ELEMENTS || shared->initialized_mask != ALL_ELEMENTS ||
        !shared->published || !shared->tile.contents_defined) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_SHARED_READY, plan->operation,
                                   binding->shared_id, 0, 0);
    }
    if (shared->tile.columns != stored_columns || stored_rows > shared->tile.valid_rows ||
        stored_columns > shared->tile.valid_columns || shared->tile.data_type != dtype ||
        shared->tile.layout != TLY_PTO_LAYOUT_ROW_MAJOR) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_SHARED_SHAPE, binding->shared_id,
                                   stored_rows, stored_columns, dtype);
    }
    *out = (tly_pto_matrix_operand){.present = true,
                                    .is_shared = true,
                                    .transposed = transposed,
                                    .tile = &shared->tile,
                                    .elements = &m->tiles->shared[binding->shared_id],
                                    .rows = rows,
                                    .columns = columns};
    return true;
}

static bool take_all_shared(const tly_pto_machine *m, tly_pto_plan *plan, tly_pto_matrix *x) {
    const tly_pto_fixed_point *a = attributes(m);
    uint32_t ordinal = 0;
    if ((a->trans_a && !left_is_shared(x)) || (a->trans_b && x->num_shared == 0)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_TRANSPOSE, plan->operation, a->trans_a,
                                   a->trans_b, 0);
    }
    if (x->num_shared == 0) {
        return true;
    }
    if (left_is_shared(x)) {
        if (!take_shared(m, plan, ordinal++, x->m, x->k, x->left_type, a->trans_a, &x->left)) {
            return false;
        }
        if (is_scaled(x->function, x->left_type) &&
            !take_shared(m, plan, ordinal++, x->m, scale_blocks(x), TLY_PTO_E8M0, false,
                         &x->left_scale)) {
            return false;
        }
    }
    if (!take_shared(m, plan, ordinal++, x->k, x->n, x->right_type, a->trans_b, &x->right)) {
        return false;
    }
    return !is_scaled(x->function, x->right_type) ||
           take_shared(m, plan, ordinal, scale_blocks(x), x->n, TLY_PTO_E8M0, false,
                       &x->right_scale);
}

/* ---- local operands ------------------------------------------------------------------------- */

static tly_pto_matrix_operand local_operand(const tly_pto_machine *m, uint32_t tile) {
    return (tly_pto_matrix_operand){.present = true,
                                    .tile = &m->core.tiles[tile],
                                    .elements = &m->tiles->local[tile],
                                    .rows = m->core.tiles[tile].valid_rows,
                                    .columns = m->core.tiles[tile].valid_columns};
}

/* A tile by rows, whole, that brings numbers to the result: bias, scales, parameters. */
static bool take_rows(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal, uint32_t rows,
                      uint32_t columns, uint32_t dtype, tly_pto_rule rule,
                      tly_pto_matrix_operand *out) {
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, ordinal);
    if (!tly_pto_tile_defined(m, tile) || tile->valid_rows != rows ||
        tile->valid_columns != columns || tile->data_type != dtype ||
        tile->layout != TLY_PTO_LAYOUT_ROW_MAJOR) {
        return tly_pto_plan_refuse(plan, rule, plan->sources[ordinal], rows, columns, dtype);
    }
    *out = local_operand(m, plan->sources[ordinal]);
    return true;
}

/* The same for what post-processing reads, which may not belong to the matrix unit. */
static bool take_auxiliary(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal,
                           uint32_t rows, uint32_t columns, uint32_t dtype,
                           tly_pto_matrix_operand *out) {
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, ordinal);
    if (tile->location != TLY_PTO_LOCATION_ANY) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_AUXILIARY, plan->sources[ordinal], rows,
                                   columns, dtype);
    }
    return take_rows(m, plan, ordinal, rows, columns, dtype, TLY_PTO_RULE_CUBE_AUXILIARY, out);
}

static bool check_vector(tly_pto_plan *plan, uint32_t tile, const tly_pto_matrix_operand *vector,
                         uint32_t mode) {
    for (uint32_t column = 0; column < vector->columns; column++) {
        uint64_t word = tly_pto_element_read(vector->elements, vector->tile, column);
        bool legal = mode == 0 ? tly_pto_relu_parameter_legal(word)
                               : tly_pto_quant_parameter_legal(mode, word);
        if (!legal) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_VECTOR_PARAMETER, tile, column, word,
                                       mode);
        }
    }
    return true;
}

/* Sources of the post-processing stand behind the mathematical ones. */
static bool take_post_process(const tly_pto_machine *m, tly_pto_plan *plan, tly_pto_matrix *x,
                              uint32_t ordinal) {
    const tly_pto_fixed_point *a = attributes(m);
    if (!tly_pto_quant_accumulator_legal(a->pre_quant_mode, x->accumulator_type)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_QUANT_MODE, a->pre_quant_mode,
                                   x->accumulator_type, 0, 0);
    }
    if (a->row_max_en && a->row_max_init &&
        !take_auxiliary(m, plan, ordinal++, x->m, 1, x->accumulator_type, &x->row_max)) {
        return false;
    }
    if (tly_pto_quant_modes[a->pre_quant_mode].parameter == TLY_PTO_QUANT_VECTOR) {
        if (!take_auxiliary(m, plan, ordinal, 1, x->n, TLY_PTO_U64, &x->quant_vector) ||
            !check_vector(plan, plan->sources[ordinal], &x->quant_vector, a->pre_quant_mode)) {
            return false;
        }
        ordinal++;
    }
    return a->relu_mode != TLY_PTO_RELU_VECTOR ||
           (take_auxiliary(m, plan, ordinal, 1, x->n, TLY_PTO_U64, &x->relu_vector) &&
            check_vector(plan, plan->sources[ordinal], &x->relu_vector, 0));
}

/* A tile in cells with exactly this region and type. */
static bool cells_fit(const tly_pto_machine *m, const tly_pto_tile *tile, uint32_t rows,
                      uint32_t columns, uint32_t dtype, uint32_t layout) {
    return tly_pto_cube_tile_legal(m, tile) && tile->contents_defined && tile->valid_rows == rows &&
           tile->valid_columns == columns && tile->data_type == dtype && tile->layout == layout;
}

static bool take_accumulator(const tly_pto_machine *m, tly_pto_plan *plan, tly_pto_matrix *x,
                             uint32_t layout) {
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, 0);
    const tly_pto_tile_binding *result =
        &m->core.context.header.tile_bindings[plan->destination_bindings[0]];
    if (!cells_fit(m, tile, x->m, x->n, x->accumulator_type, layout)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_ACCUMULATOR, plan->sources[0], x->m,
                                   x->n, x->accumulator_type);
    }
    uint32_t capacity = tly_pto_size_code_bytes(result->destination_size);
    if (attributes(m)->pre_quant_mode == 0 && tile->capacity_bytes != capacity) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_ACCUMULATOR_CAPACITY, plan->sources[0],
                                   tile->capacity_bytes, capacity, 0);
    }
    x->accumulator = local_operand(m, plan->sources[0]);
    return true;
}

static bool take_left(const tly_pto_machine *m, tly_pto_plan *plan, tly_pto_matrix *x,
                      uint32_t *ordinal) {
    uint32_t source = plan->sources[*ordinal];
    const tly_pto_tile *tile = &m->core.tiles[source];
    if (!m_layout_legal(tile->layout, x->m)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_LEFT_LAYOUT, plan->operation, source,
                                   tile->layout, x->m);
    }
    if (!cells_fit(m, tile, x->m, x->k, x->left_type, tile->layout)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_LEFT, source, x->m, x->k, x->left_type);
    }
    x->left = local_operand(m, source);
    ++*ordinal;
    if (is_scaled(x->function, x->left_type)) {
        return take_rows(m, plan, (*ordinal)++, x->m, scale_blocks(x), TLY_PTO_E8M0,
                         TLY_PTO_RULE_CUBE_SCALE, &x->left_scale);
    }
    return true;
}

static bool take_right(const tly_pto_machine *m, tly_pto_plan *plan, tly_pto_matrix *x,
                       uint32_t *ordinal) {
    uint32_t source = plan->sources[*ordinal];
    if (!cells_fit(m, &m->core.tiles[source], x->k, x->n, x->right_type, TLY_PTO_LAYOUT_CUBE_N8)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_RIGHT, source, x->k, x->n,
                                   x->right_type);
    }
    x->right = local_operand(m, source);
    ++*ordinal;
    if (is_scaled(x->function, x->right_type)) {
        return take_rows(m, plan, (*ordinal)++, scale_blocks(x), x->n, TLY_PTO_E8M0,
                         TLY_PTO_RULE_CUBE_SCALE, &x->right_scale);
    }
    return true;
}

static bool take_local(const tly_pto_machine *m, tly_pto_plan *plan, tly_pto_matrix *x) {
    uint32_t ordinal = 0;
    bool accumulates = tly_pto_matrix_accumulates(x->function);
    if (!left_is_shared(x)) {
        x->layout = tly_pto_plan_source(m, plan, accumulates ? 1 : 0)->layout;
    } else if (accumulates) {
        x->layout = tly_pto_plan_source(m, plan, 0)->layout;
    } else {
        x->layout = x->m <= MAX_M16   ? TLY_PTO_LAYOUT_CUBE_M16
                    : x->m <= MAX_M32 ? TLY_PTO_LAYOUT_CUBE_M32
                                      : TLY_PTO_LAYOUT_ROW_MAJOR;
    }
    if (accumulates) {
        if (!take_accumulator(m, plan, x, x->layout)) {
            return false;
        }
        ordinal++;
    }
    if (!left_is_shared(x) && !take_left(m, plan, x, &ordinal)) {
        return false;
    }
    if (x->num_shared == 0 && !take_right(m, plan, x, &ordinal)) {
        return false;
    }
    if (tly_pto_matrix_has_bias(x->function) &&
        !take_rows(m, plan, ordinal, 1, x->n, x->accumulator_type, TLY_PTO_RULE_CUBE_BIAS,
                   &x->bias)) {
        return false;
    }
    /* the reference compares the accumulator's number with that of the result's hand */
    const tly_pto_tile_binding *result =
        &m->core.context.header.tile_bindings[plan->destination_bindings[0]];
    if (accumulates && plan->sources[0] == result->destination_hand) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_ACCUMULATOR_HAND, plan->sources[0], 0, 0,
                                   0);
    }
    if (!m_layout_legal(x->layout, x->m)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_LEFT_LAYOUT, plan->operation,
                                   plan->sources[0], x->layout, x->m);
    }
    return true;
}

/* ---- results -------------------------------------------------------------------------------- */

static uint32_t group_count(const tly_pto_fixed_point *a, uint32_t n) {
    uint32_t group = tly_pto_group_columns[a->group_n_code];
    return (n + group - 1) / group;
}

/* The product in cells, then the row maxima, then the maxima of groups. */
static bool resolve(const tly_pto_machine *m, tly_pto_plan *plan, const tly_pto_matrix *x) {
    const tly_pto_header *header = &m->core.context.header;
    const tly_pto_fixed_point *a = &header->fixed_point;
    tly_pto_fault fault;
    uint32_t output = a->pre_quant_mode == 0 ? x->accumulator_type
                                             : tly_pto_quant_modes[a->pre_quant_mode].output;
    if (!tly_pto_plan_reserve(m, plan, &fault)) {
        return false;
    }
    for (uint32_t i = 0; i < plan->num_destinations; i++) {
        uint32_t capacity = tly_pto_size_code_bytes(
            header->tile_bindings[plan->destination_bindings[i]].destination_size);
        if (i == 0) {
            plan->results[0] = tly_pto_cube_tile(m, capacity, x->m, x->n, output, x->layout);
            if (!plan->results[0].allocated) {
                return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_RESULT, x->m, x->n, output,
                                           capacity);
            }
            continue;
        }
        uint32_t columns = i == 1 && a->row_max_en ? 1 : group_count(a, x->n);
        if (!tly_pto_shape_legal(capacity, columns, x->m, columns, x->accumulator_type)) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_MAXIMA, x->m, columns,
                                       x->accumulator_type, capacity);
        }
        plan->results[i] = tly_pto_numeric_tile(capacity, columns, x->m, columns,
                                                x->accumulator_type, TLY_PTO_LAYOUT_ROW_MAJOR);
    }
    return true;
}

static bool check(const tly_pto_machine *m, tly_pto_plan *plan, tly_pto_matrix *x) {
    if (!check_types(m, plan, x) || !check_counts(m, plan, x) || !read_parameters(m, plan, x) ||
        !check_dimensions(m, plan, x) || !check_masks(m, plan)) {
        return false;
    }
    if (tly_pto_matrix_is_gemv(x->function) && x->m != 1) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_CUBE_GEMV, plan->operation, x->m, 0, 0);
    }
    uint32_t mathematical =
        group_size(x->function, x->left_type) + group_size(x->function, x->right_type) -
        x->num_shared +
        (tly_pto_matrix_has_bias(x->function) || tly_pto_matrix_accumulates(x->function));
    return take_all_shared(m, plan, x) && take_post_process(m, plan, x, mathematical) &&
           take_local(m, plan, x);
}

static bool shared_masks_zero(const tly_pto_header *header) {
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_BINDINGS; i++) {
        if (header->shared_bindings[i].valid && header->shared_bindings[i].pe_mask != 0) {
            return false;
        }
    }
    return true;
}

bool tly_pto_execute_matrix(tly_pto_machine *m) {
    tly_pto_header *header = &m->core.context.header;
    tly_pto_matrix x = {.function = header->operation.selector & 31};
    tly_pto_plan plan;
    tly_pto_plan_begin(m, tly_pto_select_tile_operation(m), &plan);
    if (tly_pto_plan_is_idle(m, &plan) && shared_masks_zero(header)) {
        return true;
    }
    if (!header->fixed_point.valid) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_CUBE_NO_FPATR,
                              plan.operation, 0, 0, 0);
    }
    if (!check(m, &plan, &x)) {
        return tly_pto_plan_raise(m, &plan, TLY_PTO_FAULT_TILE_LEGALITY);
    }
    if (!resolve(m, &plan, &x)) {
        return tly_pto_plan_raise(m, &plan, TLY_PTO_FAULT_TILE_ALLOCATION);
    }
    tly_pto_run_matrix(m, &plan, &x);
    tly_pto_plan_commit(m, &plan);
    for (uint32_t i = 0; i < x.num_shared; i++) {
        header->shared_bindings[i].consumed = true;
    }
    return true;
}
