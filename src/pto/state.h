/* SPDX-License-Identifier: Apache-2.0 */
/* The architectural state of one core: four processing elements that share everything but their
 * general registers. Names are those of the architecture; pto/fields.c lists every field for
 * access by name. Nothing here is a cache: what the machine derives stands in pto/machine.h. */
#ifndef TLY_PTO_STATE_H
#define TLY_PTO_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TLY_PTO_NUM_PES = 4,
    TLY_PTO_NUM_GPRS = 24,
    TLY_PTO_QUEUE_DEPTH = 4,
    TLY_PTO_NUM_PREDICATES = 8,
    TLY_PTO_NUM_RINGS = 16,
    TLY_PTO_NUM_DIMENSIONS = 3,
    TLY_PTO_NUM_SCALAR_BINDINGS = 32,
    TLY_PTO_NUM_TILE_BINDINGS = 16,
    TLY_PTO_NUM_SHARED_BINDINGS = 4,
    TLY_PTO_NUM_FRAME_REGISTERS = 22,
    TLY_PTO_NUM_TILES = 64,
    TLY_PTO_NUM_SHARED_TILES = 256,
    TLY_PTO_TILE_CAPACITY = 262144, /* bytes of all active allocations */
    TLY_PTO_LOCAL_TILE_MAX = 65536,
    TLY_PTO_SHARED_TILE_MAX = 262144,
    TLY_PTO_NUM_EVENTS = 64,      /* the specification leaves the number to the checker */
    TLY_PTO_MAX_FRAME_DEPTH = 16, /* what frame_depth counts up to */
    TLY_PTO_GQM_MAX_CAPACITY = 1023,
    TLY_PTO_GRANULE = 64, /* bytes of a reservation */
    TLY_PTO_RA = 10,
    TLY_PTO_SP = 2,
    TLY_PTO_DTYPE_NONE = 31,
    TLY_PTO_CONTEXT_BASE = 0xF00, /* context registers: 0xF00 .. 0xFFF of each ring */
    TLY_PTO_NUM_CONTEXT = 256
};

typedef enum tly_pto_fault {
    TLY_PTO_FAULT_NONE,
    TLY_PTO_FAULT_EXECUTION_STATE_CHECK,
    TLY_PTO_FAULT_ILLEGAL_INSTRUCTION,
    TLY_PTO_FAULT_INSTRUCTION_PC,
    TLY_PTO_FAULT_INSTRUCTION_PAGE,
    TLY_PTO_FAULT_DATA_ALIGNMENT,
    TLY_PTO_FAULT_DATA_PAGE,
    TLY_PTO_FAULT_SOFTWARE_BREAKPOINT,
    TLY_PTO_FAULT_HARDWARE_BREAKPOINT,
    TLY_PTO_FAULT_HARDWARE_WATCHPOINT,
    TLY_PTO_FAULT_ASSERT,
    TLY_PTO_FAULT_TILE_LEGALITY,
    TLY_PTO_FAULT_TILE_ALLOCATION,
    TLY_PTO_FAULT_BUNDLE_CONTROL,
    TLY_PTO_FAULT_BUNDLE_POST_COMMIT,
    TLY_PTO_FAULT_SERVICE_REQUEST,
    TLY_PTO_NUM_FAULTS
} tly_pto_fault;

typedef enum tly_pto_kind {
    TLY_PTO_KIND_STANDARD,
    TLY_PTO_KIND_FLOATING,
    TLY_PTO_KIND_SYSTEM,
    TLY_PTO_KIND_TILE_ELEMENT,
    TLY_PTO_KIND_TILE_MEMORY,
    TLY_PTO_KIND_TILE_MATRIX,
    TLY_PTO_KIND_FRAME_TEMPLATE
} tly_pto_kind;

typedef enum tly_pto_transfer {
    TLY_PTO_TRANSFER_FALLTHROUGH,
    TLY_PTO_TRANSFER_DIRECT,
    TLY_PTO_TRANSFER_CONDITIONAL,
    TLY_PTO_TRANSFER_CALL,
    TLY_PTO_TRANSFER_RETURN,
    TLY_PTO_TRANSFER_INDIRECT,
    TLY_PTO_TRANSFER_INDIRECT_CALL
} tly_pto_transfer;

typedef enum tly_pto_class {
    TLY_PTO_CLASS_CONTROL,
    TLY_PTO_CLASS_TILE_ELEMENT,
    TLY_PTO_CLASS_TILE_MEMORY,
    TLY_PTO_CLASS_TILE_MATRIX,
    TLY_PTO_CLASS_FIXED_POINT
} tly_pto_class;

typedef enum tly_pto_frame_kind {
    TLY_PTO_FRAME_ENTRY,
    TLY_PTO_FRAME_EXIT,
    TLY_PTO_FRAME_RETURN_ADDRESS,
    TLY_PTO_FRAME_RETURN_STACK
} tly_pto_frame_kind;

typedef enum tly_pto_order {
    TLY_PTO_ORDER_RELAXED,
    TLY_PTO_ORDER_ACQUIRE,
    TLY_PTO_ORDER_RELEASE,
    TLY_PTO_ORDER_BOTH
} tly_pto_order;

typedef enum tly_pto_layout {
    TLY_PTO_LAYOUT_ROW_MAJOR,
    TLY_PTO_LAYOUT_COLUMN_MAJOR,
    TLY_PTO_LAYOUT_ZN,
    TLY_PTO_LAYOUT_NZ,
    TLY_PTO_LAYOUT_CUBE_M16,
    TLY_PTO_LAYOUT_CUBE_M32,
    TLY_PTO_LAYOUT_CUBE_N8,
    TLY_PTO_LAYOUT_IMPLEMENTATION
} tly_pto_layout;

typedef enum tly_pto_location {
    TLY_PTO_LOCATION_VECTOR,
    TLY_PTO_LOCATION_MATRIX,
    TLY_PTO_LOCATION_MEMORY,
    TLY_PTO_LOCATION_ANY
} tly_pto_location;

typedef enum tly_pto_storage { TLY_PTO_NUMERIC, TLY_PTO_PREDICATE } tly_pto_storage;

/* Block argument register: where the block goes when it is committed. */
typedef struct tly_pto_barg {
    uint8_t block_type;    /* tly_pto_kind */
    uint8_t transfer_type; /* tly_pto_transfer */
    bool taken;
    uint64_t bpcn;
} tly_pto_barg;

typedef struct tly_pto_operation {
    bool valid;
    uint8_t form_identity;
    uint8_t operation_class; /* tly_pto_class */
    bool selector_valid;
    uint16_t selector;
    bool data_type_valid;
    uint8_t data_type;
    bool mode_valid;
    uint8_t mode;
    bool branch_type_valid;
    uint8_t branch_type;
} tly_pto_operation;

typedef struct tly_pto_scalar_binding {
    bool valid;
    uint8_t destination;
    uint8_t source0;
    uint8_t source1;
    uint8_t source2;
    uint8_t source_count;
} tly_pto_scalar_binding;

typedef struct tly_pto_tile_binding {
    bool valid;
    bool destination_valid;
    uint8_t destination;
    uint8_t destination_hand;
    bool destination_allocated_by_bundle;
    uint8_t destination_size;
    uint8_t pe_mask; /* bit 3 is processing element 0 */
    bool source0_valid;
    bool source1_valid;
    uint8_t source0;
    uint8_t source1;
    bool last;
} tly_pto_tile_binding;

typedef struct tly_pto_shared_binding {
    bool valid;
    uint8_t shared_id;
    uint8_t size_code;
    uint8_t pe_mask;
    bool consumed;
} tly_pto_shared_binding;

typedef struct tly_pto_control_attributes {
    bool present;
    bool trap_enabled;
    bool atomic;
    bool acquire;
    bool release;
    bool far;
    bool dimension_reduction;
} tly_pto_control_attributes;

typedef struct tly_pto_data_attributes {
    bool data_type_present;
    uint8_t data_type;
    uint8_t data_layout;
    uint8_t pad_value;
    uint8_t comparison_mode;
    uint8_t rounding_mode;
    bool saturating;
    bool canonicalize;
} tly_pto_data_attributes;

typedef struct tly_pto_hint {
    bool present;
    bool trace;
    bool trace_end;
    bool branch_valid;
    bool branch_likely;
    uint8_t temperature;
    uint16_t prefetch_size;
} tly_pto_hint;

typedef struct tly_pto_fixed_point {
    bool valid;
    uint8_t pre_quant_mode;
    uint8_t relu_mode;
    uint8_t group_n_code;
    bool row_max_en;
    bool group_max_en;
    bool row_max_init;
    bool max_abs_en;
    bool trans_a;
    bool trans_b;
} tly_pto_fixed_point;

typedef struct tly_pto_copy_template {
    bool active;
    uint64_t instruction_pc;
    uint64_t destination;
    uint64_t source;
    uint64_t length;
    uint64_t progress;
} tly_pto_copy_template;

typedef struct tly_pto_frame_template {
    bool active;
    uint8_t kind; /* tly_pto_frame_kind */
    uint64_t instruction_pc;
    uint8_t begin_reg;
    uint8_t end_reg;
    uint8_t register_count;
    uint64_t frame_size;
    uint64_t caller_sp;
    bool stack_adjusted;
    uint8_t progress;
    uint64_t return_target;
    bool return_target_valid;
    uint64_t source_values[TLY_PTO_NUM_FRAME_REGISTERS];
} tly_pto_frame_template;

/* What the header commands of a block say; cleared when a block begins or ends. */
typedef struct tly_pto_header {
    /* Not architectural: nothing but the operation was written since the header was cleared, which
     * makes clearing short. False is always right; who writes a header from outside sets it so. */
    bool untouched;
    /* Not architectural either: only commands wrote since then, which fill one scalar binding and
     * the others from the first on. */
    bool in_order;
    bool commit_target_set;
    bool condition_set;
    bool system_terminal_pending;
    bool zero_participation_seen;
    bool data_attributes_present;
    uint8_t argument_kind;
    bool dimension_present[TLY_PTO_NUM_DIMENSIONS];
    tly_pto_operation operation;
    tly_pto_control_attributes control;
    tly_pto_data_attributes data;
    tly_pto_hint hint;
    tly_pto_fixed_point fixed_point;
    uint64_t argument;
    uint64_t dimensions[TLY_PTO_NUM_DIMENSIONS];
    tly_pto_scalar_binding scalar_bindings[TLY_PTO_NUM_SCALAR_BINDINGS];
    tly_pto_tile_binding tile_bindings[TLY_PTO_NUM_TILE_BINDINGS];
    tly_pto_shared_binding shared_bindings[TLY_PTO_NUM_SHARED_BINDINGS];
} tly_pto_header;

/* The execution state that a trap saves and a recovery restores, all of it in one copy. */
typedef struct tly_pto_context {
    uint64_t tpc;
    uint64_t bpc;
    bool bundle_active;
    bool bundle_body_active;
    tly_pto_barg barg;
    uint64_t bundle_sequential_pc;
    uint64_t frame_stack_return_target;
    uint64_t return_address;
    uint64_t commit_argument;
    uint64_t t_queue[TLY_PTO_QUEUE_DEPTH]; /* 0 is the newest */
    uint64_t u_queue[TLY_PTO_QUEUE_DEPTH];
    bool t_queue_valid[TLY_PTO_QUEUE_DEPTH];
    bool u_queue_valid[TLY_PTO_QUEUE_DEPTH];
    uint32_t predicates[TLY_PTO_NUM_PREDICATES];
    tly_pto_header header;
    tly_pto_copy_template memory_copy_template;
    tly_pto_frame_template frame_template;
} tly_pto_context;

typedef struct tly_pto_saved_context {
    bool valid;
    uint8_t source_acr;
    uint64_t core_state;
    tly_pto_context context;
} tly_pto_saved_context;

typedef struct tly_pto_trap {
    bool asynchronous;
    bool argument_valid;
    uint8_t number;
    uint32_t cause; /* 24 bits */
    uint64_t argument0;
} tly_pto_trap;

typedef struct tly_pto_base_registers {
    uint64_t thread_ptr;
    uint64_t global_ptr;
    uint64_t core_state;
    uint64_t core_id;
    uint64_t thread_id;
    uint64_t vendor;
    uint64_t version;
    uint64_t core_feature;
    uint64_t core_feature_enable;
    uint64_t tile_capacity;
    uint64_t blocknum;
    uint64_t blockid;
    uint64_t cycle;
} tly_pto_base_registers;

typedef struct tly_pto_reservation {
    bool valid;
    uint8_t size; /* bytes: 1, 2, 4 or 8 */
    uint64_t address;
} tly_pto_reservation;

/* What a program, or its host, can see of the caches and of control requests. */
typedef struct tly_pto_requests {
    uint8_t fence_predecessor;
    uint8_t fence_successor;
    uint64_t data_cache_epoch;
    uint64_t instruction_cache_epoch;
    uint64_t bundle_cache_epoch;
    uint64_t tlb_epoch;
    uint8_t maintenance_operation;
    uint64_t maintenance_operand;
    uint64_t bundle_hint_epoch;
    uint64_t architecture_request_epoch;
    uint8_t control_request;
    uint64_t control_operand;
    uint32_t frame_depth;
    uint8_t frame_begin;
    uint8_t frame_end;
    uint64_t frame_size;
    uint64_t queue_left;
    uint64_t queue_right;
    uint8_t queue_flags;
    uint64_t memory_command_address;
    uint64_t memory_command_size;
    uint16_t cross_block_acr;
    uint8_t cross_block_id;
    uint64_t bundle_hint_payload;
    uint32_t tile_data_layout_capabilities;
} tly_pto_requests;

typedef struct tly_pto_gqm_entry {
    uint64_t value;
    uint64_t release_epoch;
} tly_pto_gqm_entry;

/* A general queue. Its entries stand in the machine, TLY_PTO_GQM_MAX_CAPACITY for each slot. */
typedef struct tly_pto_gqm_queue {
    bool valid;
    bool suspended;
    bool corrupt;
    uint16_t capacity;
    uint16_t count;
    uint16_t head;
    uint64_t address;
} tly_pto_gqm_queue;

typedef struct tly_pto_gqm_epochs {
    uint64_t release;
    uint64_t last_acquire;
    uint64_t event;
    uint64_t last_event_address;
} tly_pto_gqm_epochs;

/* Descriptor of a tile: everything but its elements. */
typedef struct tly_pto_tile {
    bool allocated;
    bool contents_defined;
    uint8_t storage_kind; /* tly_pto_storage */
    uint8_t data_type;    /* code of the architecture */
    uint8_t layout;       /* tly_pto_layout */
    uint8_t location;     /* tly_pto_location */
    uint32_t capacity_bytes;
    uint16_t rows;
    uint16_t columns;
    uint16_t valid_rows;
    uint16_t valid_columns;
    uint16_t cube_k_repeat;
    uint16_t cube_n_repeat;
    uint16_t cube_cell_count;
    uint32_t cube_storage_bytes;
    uint32_t defined_valid_elements;
} tly_pto_tile;

typedef struct tly_pto_shared_tile {
    bool descriptor_valid;
    bool published;
    uint8_t allocation_mask;
    uint8_t initialized_mask;
    tly_pto_tile tile;
} tly_pto_shared_tile;

typedef struct tly_pto_feature_map {
    bool valid;
    bool transposed;
    uint8_t layout; /* 0: NC1HWC0, 1: NDC1HWC0 */
    uint16_t batches;
    uint16_t depth;
    uint16_t channel_groups;
    uint16_t height;
    uint16_t width;
    uint16_t channels_per_group;
    uint16_t filter_height;
    uint16_t filter_width;
    uint16_t stride_height;
    uint16_t stride_width;
    uint16_t dilation_height;
    uint16_t dilation_width;
    uint16_t pad_left;
    uint16_t pad_right;
    uint16_t pad_top;
    uint16_t pad_bottom;
    uint16_t logical_channels;
    uint64_t padding;
} tly_pto_feature_map;

/* One event of the memory model, as a capture records it. */
typedef struct tly_pto_event {
    uint8_t kind; /* 0 initial write, 1 load, 2 store, 3 atomic, 4 fence */
    uint8_t agent;
    uint8_t size;
    uint8_t order; /* tly_pto_order */
    bool write_performed;
    uint8_t fence_predecessor;
    uint8_t fence_successor;
    uint32_t read_from;
    uint32_t coherence_rank;
    uint64_t address;
    uint64_t read_value;
    uint64_t write_value;
} tly_pto_event;

typedef struct tly_pto_core {
    tly_pto_context context; /* hot members first */
    uint64_t gprs[TLY_PTO_NUM_PES][TLY_PTO_NUM_GPRS];
    uint8_t current_pe; /* the memory agent */
    uint8_t current_acr;
    uint8_t last_fault; /* tly_pto_fault */
    uint64_t fault_address;
    tly_pto_reservation reservation;
    tly_pto_base_registers base;
    tly_pto_requests requests;
    tly_pto_trap traps[TLY_PTO_NUM_RINGS];
    tly_pto_gqm_epochs gqm;
    uint8_t tile_allocation_masks[TLY_PTO_NUM_TILES];
    tly_pto_tile tiles[TLY_PTO_NUM_TILES];
    tly_pto_shared_tile shared_tiles[TLY_PTO_NUM_SHARED_TILES];
    tly_pto_feature_map feature_maps[TLY_PTO_NUM_TILES];
    uint64_t context_registers[TLY_PTO_NUM_RINGS][TLY_PTO_NUM_CONTEXT];
    tly_pto_saved_context saved[TLY_PTO_NUM_RINGS];
} tly_pto_core;

#endif
