/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/fields.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "pto/tile/allocate.h"

/* Where offsets count from. */
enum { HOME_CONTEXT, HOME_CORE, HOME_MACHINE, HOME_SAVED, HOME_QUEUES, HOME_ENTRIES };

static const char *const kind_names[] = {"Standard",   "Floating",   "System",       "TileElement",
                                         "TileMemory", "TileMatrix", "FrameTemplate"};
static const char *const transfer_names[] = {"Fallthrough", "Direct",   "Conditional", "Call",
                                             "Return",      "Indirect", "IndirectCall"};
static const char *const class_names[] = {"Control", "TileElement", "TileMemory", "TileMatrix",
                                          "FixedPoint"};
static const char *const frame_names[] = {"Entry", "Exit", "ReturnAddress", "ReturnStack"};
static const char *const fault_names[TLY_PTO_NUM_FAULTS] = {"None",
                                                            "ExecutionStateCheck",
                                                            "IllegalInstruction",
                                                            "InstructionPC",
                                                            "InstructionPage",
                                                            "DataAlignment",
                                                            "DataPage",
                                                            "SoftwareBreakpoint",
                                                            "HardwareBreakpoint",
                                                            "HardwareWatchpoint",
                                                            "Assert",
                                                            "TileLegality",
                                                            "TileAllocation",
                                                            "BundleControl",
                                                            "BundlePostCommit",
                                                            "ServiceRequest"};
static const char *const maintenance_names[] = {
    "DC_IALL", "DC_IVA", "DC_ISW",  "DC_ZVA", "DC_CVA", "DC_CIVA", "DC_CSW", "DC_CISW",
    "IC_IALL", "IC_IVA", "BC_IALL", "BC_IVA", "TLB_IV", "TLB_IAV", "TLB_IA", "TLB_IALL"};
static const char *const control_names[] = {"SendEvent", "WaitEvent", "WaitInterrupt",
                                            "WaitTimeout"};
static const char *const dtype_names[] = {
    "FP64", "FP32",   "TF32",   "HF32", "FP16",   "BF16", "HiF8", "E4M3", "E5M2", "E3M2",
    "E2M3", "E2M1X2", "E1M2X2", "E8M0", "HiF4X2", NULL,   "S64",  "S32",  "S16",  "S8",
    "S4X2", NULL,     NULL,     NULL,   "U64",    "U32",  "U16",  "U8",   "U4X2"};
static const char *const layout_names[] = {
    "RowMajor", "ColumnMajor", "ZN",      "NZ",
    "CUBE_M16", "CUBE_M32",    "CUBE_N8", "ImplementationDefined"};
static const char *const location_names[] = {"Vector", "Matrix", "Memory", "Any"};
static const char *const storage_names[] = {"Numeric", "Predicate"};
static const char *const feature_layout_names[] = {"NC1HWC0", "NDC1HWC0"};

#define NUM(array)      (uint32_t)(sizeof(array) / sizeof((array)[0]))
#define SIZE(T, member) sizeof(((T *)0)->member)
#define COUNT(T, array) (uint32_t)(SIZE(T, array) / SIZE(T, array[0]))

/* One value. */
#define ONE(home, T, name, member, kind, saved)                                                    \
    { name, kind, SIZE(T, member), 0, home, offsetof(T, member), {0}, {0}, NULL, 0, saved }
/* One value with names. */
#define NAMED(home, T, name, member, list, saved)                                                  \
    {                                                                                              \
        name, TLY_PTO_FIELD_NAMED, SIZE(T, member), 0, home, offsetof(T, member), {0}, {0}, list,  \
            NUM(list), saved                                                                       \
    }
/* `rest` of each element of an array. */
#define MANY(home, T, name, array, rest, kind, saved)                                              \
    {                                                                                              \
        name, kind, SIZE(T, array[0] rest), 1, home, offsetof(T, array[0] rest),                   \
            {COUNT(T, array)}, {SIZE(T, array[0])}, NULL, 0, saved                                 \
    }
#define MANY_NAMED(home, T, name, array, rest, list, saved)                                        \
    {                                                                                              \
        name, TLY_PTO_FIELD_NAMED, SIZE(T, array[0] rest), 1, home, offsetof(T, array[0] rest),    \
            {COUNT(T, array)}, {SIZE(T, array[0])}, list, NUM(list), saved                         \
    }
#define GRID(home, T, name, array, kind)                                                           \
    {                                                                                              \
        name, kind, SIZE(T, array[0][0]), 2, home, offsetof(T, array),                             \
            {COUNT(T, array), COUNT(T, array[0])}, {SIZE(T, array[0]), SIZE(T, array[0][0])},      \
            NULL, 0, 0                                                                             \
    }

#define FLAG  TLY_PTO_FIELD_FLAG
#define TIMES TLY_PTO_FIELD_COUNT
#define WORD  TLY_PTO_FIELD_WORD

/* Fields of the context, which traps save. */
#define C(name, member, kind)       ONE(HOME_CONTEXT, tly_pto_context, name, member, kind, 1)
#define CN(name, member, list)      NAMED(HOME_CONTEXT, tly_pto_context, name, member, list, 1)
#define CA(name, array, rest, kind) MANY(HOME_CONTEXT, tly_pto_context, name, array, rest, kind, 1)
#define H(name, member, kind)       C(name, header.member, kind)
#define HN(name, member, list)      CN(name, header.member, list)
#define HA(name, array, rest, kind) CA(name, header.array, rest, kind)
/* Fields of the core, which they do not. */
#define K(name, member, kind)        ONE(HOME_CORE, tly_pto_core, name, member, kind, 0)
#define KN(name, member, list)       NAMED(HOME_CORE, tly_pto_core, name, member, list, 0)
#define KA(name, array, rest, kind)  MANY(HOME_CORE, tly_pto_core, name, array, rest, kind, 0)
#define KAN(name, array, rest, list) MANY_NAMED(HOME_CORE, tly_pto_core, name, array, rest, list, 0)
#define S(name, member, kind)        ONE(HOME_SAVED, tly_pto_saved_context, name, member, kind, 2)
#define M(name, member, kind)        ONE(HOME_MACHINE, tly_pto_machine, name, member, kind, 0)
#define Q(name, member, kind)                                                                      \
    {                                                                                              \
        name, kind, SIZE(tly_pto_gqm_queue, member), 1, HOME_QUEUES,                               \
            offsetof(tly_pto_gqm_queue, member), {0}, {sizeof(tly_pto_gqm_queue)}, NULL, 0, 0      \
    }
#define E(name, member, kind)                                                                      \
    {                                                                                              \
        name, kind, SIZE(tly_pto_gqm_entry, member), 2, HOME_ENTRIES,                              \
            offsetof(tly_pto_gqm_entry, member), {0, TLY_PTO_GQM_MAX_CAPACITY},                    \
            {sizeof(tly_pto_gqm_entry) * TLY_PTO_GQM_MAX_CAPACITY, sizeof(tly_pto_gqm_entry)},     \
            NULL, 0, 0                                                                             \
    }

/* A tile descriptor inside an array of tiles or of shared tiles. */
#define TILE(name, array, at)                                                                      \
    KA(name "allocated", array, at.allocated, FLAG),                                               \
        KA(name "contents_defined", array, at.contents_defined, FLAG),                             \
        KAN(name "storage_kind", array, at.storage_kind, storage_names),                           \
        KAN(name "data_type", array, at.data_type, dtype_names),                                   \
        KAN(name "layout", array, at.layout, layout_names),                                        \
        KAN(name "location", array, at.location, location_names),                                  \
        KA(name "capacity_bytes", array, at.capacity_bytes, TIMES),                                \
        KA(name "rows", array, at.rows, TIMES), KA(name "columns", array, at.columns, TIMES),      \
        KA(name "valid_rows", array, at.valid_rows, TIMES),                                        \
        KA(name "valid_columns", array, at.valid_columns, TIMES),                                  \
        KA(name "cube_k_repeat", array, at.cube_k_repeat, TIMES),                                  \
        KA(name "cube_n_repeat", array, at.cube_n_repeat, TIMES),                                  \
        KA(name "cube_cell_count", array, at.cube_cell_count, TIMES),                              \
        KA(name "cube_storage_bytes", array, at.cube_storage_bytes, TIMES),                        \
        KA(name "defined_valid_elements", array, at.defined_valid_elements, TIMES)

/* clang-format off */
static const tly_pto_field fields[] = {
    C("tpc", tpc, WORD),
    C("bpc", bpc, WORD),
    C("bundle_active", bundle_active, FLAG),
    C("bundle_body_active", bundle_body_active, FLAG),
    CN("barg.block_type", barg.block_type, kind_names),
    CN("barg.transfer_type", barg.transfer_type, transfer_names),
    C("barg.taken", barg.taken, FLAG),
    C("barg.bpcn", barg.bpcn, WORD),
    C("bundle_sequential_pc", bundle_sequential_pc, WORD),
    C("frame_stack_return_target", frame_stack_return_target, WORD),
    C("return_address", return_address, WORD),
    C("commit_argument", commit_argument, WORD),
    CA("t_queue[]", t_queue, , WORD),
    CA("u_queue[]", u_queue, , WORD),
    CA("t_queue_valid[]", t_queue_valid, , FLAG),
    CA("u_queue_valid[]", u_queue_valid, , FLAG),
    CA("predicates[]", predicates, , WORD),
    H("bundle_commit_target_set", commit_target_set, FLAG),
    H("bundle_condition_set", condition_set, FLAG),
    H("system_block_terminal_pending", system_terminal_pending, FLAG),
    H("bundle_zero_participation_seen", zero_participation_seen, FLAG),
    H("bundle_data_attributes_present", data_attributes_present, FLAG),
    H("bundle_argument_kind", argument_kind, WORD),
    H("bundle_argument", argument, WORD),
    HA("bundle_dimension_present[]", dimension_present, , FLAG),
    HA("bundle_dimensions[]", dimensions, , WORD),
    H("bundle_operation.valid", operation.valid, FLAG),
    H("bundle_operation.form_identity", operation.form_identity, WORD),
    HN("bundle_operation.operation_class", operation.operation_class, class_names),
    H("bundle_operation.selector_valid", operation.selector_valid, FLAG),
    H("bundle_operation.selector", operation.selector, WORD),
    H("bundle_operation.data_type_valid", operation.data_type_valid, FLAG),
    H("bundle_operation.data_type", operation.data_type, WORD),
    H("bundle_operation.mode_valid", operation.mode_valid, FLAG),
    H("bundle_operation.mode", operation.mode, WORD),
    H("bundle_operation.branch_type_valid", operation.branch_type_valid, FLAG),
    H("bundle_operation.branch_type", operation.branch_type, WORD),
    H("bundle_control_attributes.present", control.present, FLAG),
    H("bundle_control_attributes.trap_enabled", control.trap_enabled, FLAG),
    H("bundle_control_attributes.atomic", control.atomic, FLAG),
    H("bundle_control_attributes.acquire", control.acquire, FLAG),
    H("bundle_control_attributes.release", control.release, FLAG),
    H("bundle_control_attributes.far", control.far, FLAG),
    H("bundle_control_attributes.dimension_reduction", control.dimension_reduction, FLAG),
    H("bundle_data_attributes.data_type_present", data.data_type_present, FLAG),
    H("bundle_data_attributes.data_type", data.data_type, WORD),
    H("bundle_data_attributes.data_layout", data.data_layout, WORD),
    H("bundle_data_attributes.pad_value", data.pad_value, WORD),
    H("bundle_data_attributes.comparison_mode", data.comparison_mode, WORD),
    H("bundle_data_attributes.rounding_mode", data.rounding_mode, WORD),
    H("bundle_data_attributes.saturating", data.saturating, FLAG),
    H("bundle_data_attributes.canonicalize", data.canonicalize, FLAG),
    H("bundle_hint.present", hint.present, FLAG),
    H("bundle_hint.trace", hint.trace, FLAG),
    H("bundle_hint.trace_end", hint.trace_end, FLAG),
    H("bundle_hint.branch_valid", hint.branch_valid, FLAG),
    H("bundle_hint.branch_likely", hint.branch_likely, FLAG),
    H("bundle_hint.temperature", hint.temperature, WORD),
    H("bundle_hint.prefetch_size", hint.prefetch_size, WORD),
    H("bundle_fixed_point_attributes.valid", fixed_point.valid, FLAG),
    H("bundle_fixed_point_attributes.pre_quant_mode", fixed_point.pre_quant_mode, WORD),
    H("bundle_fixed_point_attributes.relu_mode", fixed_point.relu_mode, WORD),
    H("bundle_fixed_point_attributes.group_n_code", fixed_point.group_n_code, WORD),
    H("bundle_fixed_point_attributes.row_max_en", fixed_point.row_max_en, FLAG),
    H("bundle_fixed_point_attributes.group_max_en", fixed_point.group_max_en, FLAG),
    H("bundle_fixed_point_attributes.row_max_init", fixed_point.row_max_init, FLAG),
    H("bundle_fixed_point_attributes.max_abs_en", fixed_point.max_abs_en, FLAG),
    H("bundle_fixed_point_attributes.trans_a", fixed_point.trans_a, FLAG),
    H("bundle_fixed_point_attributes.trans_b", fixed_point.trans_b, FLAG),
    HA("bundle_scalar_bindings[].valid", scalar_bindings, .valid, FLAG),
    HA("bundle_scalar_bindings[].destination", scalar_bindings, .destination, TIMES),
    HA("bundle_scalar_bindings[].source0", scalar_bindings, .source0, TIMES),
    HA("bundle_scalar_bindings[].source1", scalar_bindings, .source1, TIMES),
    HA("bundle_scalar_bindings[].source2", scalar_bindings, .source2, TIMES),
    HA("bundle_scalar_bindings[].source_count", scalar_bindings, .source_count, TIMES),
    HA("bundle_tile_bindings[].valid", tile_bindings, .valid, FLAG),
    HA("bundle_tile_bindings[].destination_valid", tile_bindings, .destination_valid, FLAG),
    HA("bundle_tile_bindings[].destination", tile_bindings, .destination, TIMES),
    HA("bundle_tile_bindings[].destination_hand", tile_bindings, .destination_hand, WORD),
    HA("bundle_tile_bindings[].destination_allocated_by_bundle", tile_bindings,
       .destination_allocated_by_bundle, FLAG),
    HA("bundle_tile_bindings[].destination_size", tile_bindings, .destination_size, TIMES),
    HA("bundle_tile_bindings[].pe_mask", tile_bindings, .pe_mask, WORD),
    HA("bundle_tile_bindings[].source0_valid", tile_bindings, .source0_valid, FLAG),
    HA("bundle_tile_bindings[].source1_valid", tile_bindings, .source1_valid, FLAG),
    HA("bundle_tile_bindings[].source0", tile_bindings, .source0, TIMES),
    HA("bundle_tile_bindings[].source1", tile_bindings, .source1, TIMES),
    HA("bundle_tile_bindings[].last", tile_bindings, .last, FLAG),
    HA("bundle_shared_bindings[].valid", shared_bindings, .valid, FLAG),
    HA("bundle_shared_bindings[].shared_id", shared_bindings, .shared_id, WORD),
    HA("bundle_shared_bindings[].size_code", shared_bindings, .size_code, TIMES),
    HA("bundle_shared_bindings[].pe_mask", shared_bindings, .pe_mask, WORD),
    HA("bundle_shared_bindings[].consumed", shared_bindings, .consumed, FLAG),
    C("memory_copy_template.active", memory_copy_template.active, FLAG),
    C("memory_copy_template.instruction_pc", memory_copy_template.instruction_pc, WORD),
    C("memory_copy_template.destination", memory_copy_template.destination, WORD),
    C("memory_copy_template.source", memory_copy_template.source, WORD),
    C("memory_copy_template.length", memory_copy_template.length, WORD),
    C("memory_copy_template.progress", memory_copy_template.progress, WORD),
    C("frame_template.active", frame_template.active, FLAG),
    CN("frame_template.kind", frame_template.kind, frame_names),
    C("frame_template.instruction_pc", frame_template.instruction_pc, WORD),
    C("frame_template.begin_reg", frame_template.begin_reg, TIMES),
    C("frame_template.end_reg", frame_template.end_reg, TIMES),
    C("frame_template.register_count", frame_template.register_count, TIMES),
    C("frame_template.frame_size", frame_template.frame_size, WORD),
    C("frame_template.caller_sp", frame_template.caller_sp, WORD),
    C("frame_template.stack_adjusted", frame_template.stack_adjusted, FLAG),
    C("frame_template.progress", frame_template.progress, TIMES),
    C("frame_template.return_target", frame_template.return_target, WORD),
    C("frame_template.return_target_valid", frame_template.return_target_valid, FLAG),
    CA("frame_template.source_values[]", frame_template.source_values, , WORD),
    S("valid", valid, FLAG),
    S("source_acr", source_acr, TIMES),
    S("core_state", core_state, WORD),
    GRID(HOME_CORE, tly_pto_core, "gpr[][]", gprs, WORD),
    K("current_memory_agent", current_pe, TIMES),
    K("current_acr", current_acr, TIMES),
    KN("last_fault", last_fault, fault_names),
    K("fault_address", fault_address, WORD),
    K("reservation_valid", reservation.valid, FLAG),
    K("reservation_size", reservation.size, TIMES),
    K("reservation_address", reservation.address, WORD),
    K("thread_ptr", base.thread_ptr, WORD),
    K("global_ptr", base.global_ptr, WORD),
    K("core_state", base.core_state, WORD),
    K("core_id", base.core_id, WORD),
    K("thread_id", base.thread_id, WORD),
    K("vendor", base.vendor, WORD),
    K("version", base.version, WORD),
    K("core_feature", base.core_feature, WORD),
    K("core_feature_enable", base.core_feature_enable, WORD),
    K("tile_capacity", base.tile_capacity, WORD),
    K("blocknum", base.blocknum, WORD),
    K("blockid", base.blockid, WORD),
    K("cycle", base.cycle, WORD),
    K("last_fence_predecessor", requests.fence_predecessor, WORD),
    K("last_fence_successor", requests.fence_successor, WORD),
    K("data_cache_epoch", requests.data_cache_epoch, TIMES),
    K("instruction_cache_epoch", requests.instruction_cache_epoch, TIMES),
    K("bundle_cache_epoch", requests.bundle_cache_epoch, TIMES),
    K("tlb_epoch", requests.tlb_epoch, TIMES),
    KN("last_maintenance_operation", requests.maintenance_operation, maintenance_names),
    K("last_maintenance_operand", requests.maintenance_operand, WORD),
    K("bundle_hint_epoch", requests.bundle_hint_epoch, TIMES),
    K("architecture_request_epoch", requests.architecture_request_epoch, TIMES),
    KN("last_control_request", requests.control_request, control_names),
    K("control_request_operand", requests.control_operand, WORD),
    K("frame_depth", requests.frame_depth, TIMES),
    K("last_frame_begin", requests.frame_begin, TIMES),
    K("last_frame_end", requests.frame_end, TIMES),
    K("last_frame_size", requests.frame_size, WORD),
    K("last_queue_left", requests.queue_left, WORD),
    K("last_queue_right", requests.queue_right, WORD),
    K("last_queue_flags", requests.queue_flags, WORD),
    K("last_memory_command_address", requests.memory_command_address, WORD),
    K("last_memory_command_size", requests.memory_command_size, WORD),
    K("last_cross_block_acr", requests.cross_block_acr, WORD),
    K("last_cross_block_id", requests.cross_block_id, WORD),
    K("last_bundle_hint_payload", requests.bundle_hint_payload, WORD),
    K("tile_data_layout_capabilities", requests.tile_data_layout_capabilities, WORD),
    KA("trap[].asynchronous", traps, .asynchronous, FLAG),
    KA("trap[].argument_valid", traps, .argument_valid, FLAG),
    KA("trap[].number", traps, .number, WORD),
    KA("trap[].cause", traps, .cause, WORD),
    KA("trap[].argument0", traps, .argument0, WORD),
    GRID(HOME_CORE, tly_pto_core, "context_register[][]", context_registers, WORD),
    Q("gqm_queue_valid[]", valid, FLAG),
    Q("gqm_queue_suspended[]", suspended, FLAG),
    Q("gqm_queue_corrupt[]", corrupt, FLAG),
    Q("gqm_queue_capacity[]", capacity, TIMES),
    Q("gqm_queue_count[]", count, TIMES),
    Q("gqm_queue_head[]", head, TIMES),
    Q("gqm_queue_address[]", address, WORD),
    E("gqm_queue_entries[][].value", value, WORD),
    E("gqm_queue_entries[][].release_epoch", release_epoch, TIMES),
    K("gqm_release_epoch", gqm.release, TIMES),
    K("last_gqm_acquire_epoch", gqm.last_acquire, TIMES),
    K("gqm_event_epoch", gqm.event, TIMES),
    K("last_gqm_event_address", gqm.last_event_address, WORD),
    M("memory_event_capture_enabled", capture_enabled, FLAG),
    M("memory_event_count", num_events, TIMES),
    KA("tile_allocation_masks[]", tile_allocation_masks, , WORD),
    TILE("tile[].", tiles, ),
    KA("shared[].descriptor_valid", shared_tiles, .descriptor_valid, FLAG),
    KA("shared[].published", shared_tiles, .published, FLAG),
    KA("shared[].allocation_mask", shared_tiles, .allocation_mask, WORD),
    KA("shared[].initialized_mask", shared_tiles, .initialized_mask, WORD),
    TILE("shared[].tile.", shared_tiles, .tile),
    KA("tile_feature_map_descriptors[].valid", feature_maps, .valid, FLAG),
    KA("tile_feature_map_descriptors[].transposed", feature_maps, .transposed, FLAG),
    KAN("tile_feature_map_descriptors[].layout", feature_maps, .layout, feature_layout_names),
    KA("tile_feature_map_descriptors[].batches", feature_maps, .batches, TIMES),
    KA("tile_feature_map_descriptors[].depth", feature_maps, .depth, TIMES),
    KA("tile_feature_map_descriptors[].channel_groups", feature_maps, .channel_groups, TIMES),
    KA("tile_feature_map_descriptors[].height", feature_maps, .height, TIMES),
    KA("tile_feature_map_descriptors[].width", feature_maps, .width, TIMES),
    KA("tile_feature_map_descriptors[].channels_per_group", feature_maps, .channels_per_group,
       TIMES),
    KA("tile_feature_map_descriptors[].filter_height", feature_maps, .filter_height, TIMES),
    KA("tile_feature_map_descriptors[].filter_width", feature_maps, .filter_width, TIMES),
    KA("tile_feature_map_descriptors[].stride_height", feature_maps, .stride_height, TIMES),
    KA("tile_feature_map_descriptors[].stride_width", feature_maps, .stride_width, TIMES),
    KA("tile_feature_map_descriptors[].dilation_height", feature_maps, .dilation_height, TIMES),
    KA("tile_feature_map_descriptors[].dilation_width", feature_maps, .dilation_width, TIMES),
    KA("tile_feature_map_descriptors[].pad_left", feature_maps, .pad_left, TIMES),
    KA("tile_feature_map_descriptors[].pad_right", feature_maps, .pad_right, TIMES),
    KA("tile_feature_map_descriptors[].pad_top", feature_maps, .pad_top, TIMES),
    KA("tile_feature_map_descriptors[].pad_bottom", feature_maps, .pad_bottom, TIMES),
    KA("tile_feature_map_descriptors[].logical_channels", feature_maps, .logical_channels, TIMES),
    KA("tile_feature_map_descriptors[].padding", feature_maps, .padding, WORD),
};
/* clang-format on */

uint32_t tly_pto_num_fields(void) {
    return NUM(fields);
}

const tly_pto_field *tly_pto_field_at(uint32_t index) {
    return index < NUM(fields) ? &fields[index] : NULL;
}

uint32_t tly_pto_field_count(const tly_pto_machine *m, const tly_pto_field *field, uint32_t i) {
    bool by_slot = field->home == HOME_QUEUES || field->home == HOME_ENTRIES;
    return by_slot && i == 0 ? m->num_queues : field->counts[i];
}

const char *tly_pto_fault_name(uint32_t fault) {
    return fault < TLY_PTO_NUM_FAULTS ? fault_names[fault] : "";
}

/* Reads "[12]" at *at. */
static bool read_index(const char **at, const char *end, uint32_t count, uint32_t *out_index) {
    uint32_t value = 0;
    const char *p = *at;
    if (p == end || *p++ != '[' || p == end || *p < '0' || *p > '9') {
        return false;
    }
    for (; p != end && *p >= '0' && *p <= '9'; p++) {
        value = value * 10 + (uint32_t)(*p - '0');
        if (value >= count) {
            return false;
        }
    }
    if (p == end || *p != ']') {
        return false;
    }
    *at = p + 1;
    *out_index = value;
    return true;
}

static bool match(const tly_pto_machine *m, const tly_pto_field *field, const char *name,
                  const char *end, uint32_t indexes[TLY_PTO_FIELD_MAX_INDEXES]) {
    uint32_t i = 0;
    const char *pattern = field->name;
    while (*pattern != '\0') {
        if (*pattern == '[') {
            if (!read_index(&name, end, tly_pto_field_count(m, field, i), &indexes[i])) {
                return false;
            }
            i++;
            pattern += 2;
        } else if (name == end || *name++ != *pattern++) {
            return false;
        }
    }
    return name == end;
}

bool tly_pto_place_find(const tly_pto_machine *m, const char *name, size_t len,
                        tly_pto_place *out_place) {
    static const char SAVED[] = "trap_context";
    const char *end = name + len;
    memset(out_place, 0, sizeof(*out_place));
    out_place->saved_ring = -1;
    if (len > sizeof(SAVED) && memcmp(name, SAVED, sizeof(SAVED) - 1) == 0) {
        uint32_t ring = 0;
        name += sizeof(SAVED) - 1;
        if (!read_index(&name, end, TLY_PTO_NUM_RINGS, &ring) || name == end || *name++ != '.') {
            return false;
        }
        out_place->saved_ring = (int32_t)ring;
    }
    for (uint32_t i = 0; i < NUM(fields); i++) {
        const tly_pto_field *field = &fields[i];
        bool fits = out_place->saved_ring >= 0 ? field->in_saved != 0 : field->in_saved != 2;
        if (fits && match(m, field, name, end, out_place->indexes)) {
            out_place->field = field;
            return true;
        }
    }
    return false;
}

static uint8_t *home_of(const tly_pto_machine *m, const tly_pto_place *place) {
    tly_pto_machine *machine = (tly_pto_machine *)(uintptr_t)m;
    switch (place->field->home) {
    case HOME_CONTEXT:
        return (uint8_t *)(place->saved_ring < 0 ? &machine->core.context
                                                 : &machine->core.saved[place->saved_ring].context);
    case HOME_CORE:
        return (uint8_t *)&machine->core;
    case HOME_SAVED:
        return (uint8_t *)&machine->core.saved[place->saved_ring];
    case HOME_QUEUES:
        return (uint8_t *)machine->queues;
    case HOME_ENTRIES:
        return (uint8_t *)machine->queue_entries;
    default:
        return (uint8_t *)machine;
    }
}

static uint8_t *address_of(const tly_pto_machine *m, const tly_pto_place *place) {
    uint8_t *at = home_of(m, place) + place->field->offset;
    for (uint32_t i = 0; i < place->field->num_indexes; i++) {
        at += (size_t)place->indexes[i] * place->field->strides[i];
    }
    return at;
}

uint64_t tly_pto_place_read(const tly_pto_machine *m, const tly_pto_place *place) {
    const uint8_t *at = address_of(m, place);
    uint16_t half = 0;
    uint32_t word = 0;
    uint64_t value = 0;
    switch (place->field->len) {
    case 1:
        return *at;
    case 2:
        memcpy(&half, at, sizeof(half));
        return half;
    case 4:
        memcpy(&word, at, sizeof(word));
        return word;
    default:
        memcpy(&value, at, sizeof(value));
        return value;
    }
}

/* The largest value of fields that stand for a place somewhere else. */
static const struct {
    const char *name;
    uint64_t max;
} limits[] = {
    {"current_acr", TLY_PTO_NUM_RINGS - 1},
    {"source_acr", TLY_PTO_NUM_RINGS - 1},
    {"current_memory_agent", TLY_PTO_NUM_PES - 1},
    {"bundle_scalar_bindings[].destination", TLY_PTO_NUM_GPRS - 1},
    {"bundle_scalar_bindings[].source0", TLY_PTO_NUM_GPRS - 1},
    {"bundle_scalar_bindings[].source1", TLY_PTO_NUM_GPRS - 1},
    {"bundle_scalar_bindings[].source2", TLY_PTO_NUM_GPRS - 1},
    {"bundle_tile_bindings[].destination", TLY_PTO_NUM_TILES - 1},
    {"bundle_tile_bindings[].destination_hand", 3},
    {"bundle_tile_bindings[].destination_size", 15},
    {"bundle_tile_bindings[].pe_mask", 15},
    {"bundle_tile_bindings[].source0", TLY_PTO_NUM_TILES - 1},
    {"bundle_tile_bindings[].source1", TLY_PTO_NUM_TILES - 1},
    {"bundle_shared_bindings[].size_code", 12},
    {"bundle_shared_bindings[].pe_mask", 15},
    {"bundle_operation.selector", 1023},
    {"bundle_operation.data_type", TLY_PTO_DTYPE_NONE},
    {"bundle_operation.mode", 3},
    {"bundle_data_attributes.data_type", TLY_PTO_DTYPE_NONE},
    {"bundle_data_attributes.data_layout", 31},
    {"bundle_data_attributes.pad_value", 3},
    {"bundle_data_attributes.comparison_mode", 7},
    {"bundle_data_attributes.rounding_mode", 7},
    {"bundle_fixed_point_attributes.pre_quant_mode", 63},
    {"bundle_fixed_point_attributes.relu_mode", 7},
    {"bundle_fixed_point_attributes.group_n_code", 9},
    {"frame_template.begin_reg", TLY_PTO_NUM_GPRS - 1},
    {"frame_template.end_reg", TLY_PTO_NUM_GPRS - 1},
    {"frame_template.register_count", TLY_PTO_NUM_FRAME_REGISTERS},
    {"frame_template.progress", TLY_PTO_NUM_FRAME_REGISTERS},
    {"gqm_queue_capacity[]", TLY_PTO_GQM_MAX_CAPACITY},
    {"gqm_queue_count[]", TLY_PTO_GQM_MAX_CAPACITY},
    {"gqm_queue_head[]", TLY_PTO_GQM_MAX_CAPACITY - 1},
    {"tile_allocation_masks[]", 15},
    {"shared[].allocation_mask", 15},
    {"shared[].initialized_mask", 15},
    {"memory_event_count", TLY_PTO_NUM_EVENTS},
};

bool tly_pto_place_admits(const tly_pto_place *place, uint64_t value) {
    if (place->field->kind == TLY_PTO_FIELD_NAMED) {
        return tly_pto_field_value_name(place->field, value) != NULL;
    }
    for (uint32_t i = 0; i < NUM(limits); i++) {
        if (strcmp(limits[i].name, place->field->name) == 0) {
            return value <= limits[i].max;
        }
    }
    return true;
}

void tly_pto_place_write(tly_pto_machine *m, const tly_pto_place *place, uint64_t value) {
    uint8_t *at = address_of(m, place);
    uint8_t byte = place->field->kind == TLY_PTO_FIELD_FLAG ? value != 0 : (uint8_t)value;
    uint16_t half = (uint16_t)value;
    uint32_t word = (uint32_t)value;
    switch (place->field->len) {
    case 1:
        *at = byte;
        break;
    case 2:
        memcpy(at, &half, sizeof(half));
        break;
    case 4:
        memcpy(at, &word, sizeof(word));
        break;
    default:
        memcpy(at, &value, sizeof(value));
        break;
    }
    tly_pto_context *context =
        place->saved_ring >= 0 ? &m->core.saved[place->saved_ring].context : &m->core.context;
    context->header.untouched = false;
    context->header.in_order = false;
    tly_pto_capacity_changed(m);
    for (uint32_t pe = 0; pe < TLY_PTO_NUM_PES; pe++) {
        m->core.gprs[pe][0] = 0; /* R0 reads zero whatever was asked */
    }
}

const char *tly_pto_field_value_name(const tly_pto_field *field, uint64_t value) {
    return field->names != NULL && value < field->num_names ? field->names[value] : NULL;
}

bool tly_pto_field_value_find(const tly_pto_field *field, const char *name, size_t len,
                              uint64_t *out_value) {
    for (uint32_t i = 0; i < field->num_names; i++) {
        const char *candidate = field->names[i];
        if (candidate != NULL && strlen(candidate) == len &&
            strncasecmp(candidate, name, len) == 0) {
            *out_value = i;
            return true;
        }
    }
    return false;
}

size_t tly_pto_place_name(const tly_pto_place *place, char *out_name, size_t capacity) {
    size_t len = 0;
    uint32_t i = 0;
    if (capacity == 0) {
        return 0;
    }
    out_name[0] = '\0';
    if (place->saved_ring >= 0) {
        len += (size_t)snprintf(out_name, capacity, "trap_context[%d].", (int)place->saved_ring);
    }
    for (const char *p = place->field->name; *p != '\0' && len + 1 < capacity; p++) {
        if (*p == '[') {
            len += (size_t)snprintf(out_name + len, capacity - len, "[%u", place->indexes[i++]);
        } else {
            out_name[len++] = *p;
            out_name[len] = '\0';
        }
    }
    return len < capacity ? len : capacity - 1;
}

/* Steps the indexes of a field like an odometer. */
static bool next_index(const tly_pto_machine *m, tly_pto_place *place) {
    for (uint32_t i = place->field->num_indexes; i-- > 0;) {
        if (++place->indexes[i] < tly_pto_field_count(m, place->field, i)) {
            return true;
        }
        place->indexes[i] = 0;
    }
    return false;
}

/* The first field at or after `index` that the live state (ring -1) or a saved context has. */
static const tly_pto_field *field_from(uint32_t index, int32_t ring) {
    for (; index < NUM(fields); index++) {
        if (ring >= 0 ? fields[index].in_saved != 0 : fields[index].in_saved != 2) {
            return &fields[index];
        }
    }
    return NULL;
}

bool tly_pto_place_next(const tly_pto_machine *m, tly_pto_place *place) {
    if (place->field == NULL) {
        place->saved_ring = -1;
        place->field = &fields[0];
        return true;
    }
    if (next_index(m, place)) {
        return true;
    }
    const tly_pto_field *field =
        field_from((uint32_t)(place->field - fields) + 1, place->saved_ring);
    if (field == NULL && place->saved_ring + 1 < TLY_PTO_NUM_RINGS) {
        place->saved_ring++;
        field = field_from(0, place->saved_ring);
    }
    if (field == NULL) {
        return false;
    }
    place->field = field;
    return true;
}
