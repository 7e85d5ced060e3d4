/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses at the edges: of alignment, of what a ring sees, of memory and of the address space;
 * pairs and copies are whole or not at all; reservations are lines. One path for 4 KiB and for 1
 * GiB. */
#include "pto/guest.h"

#include "pto/memory.h"

enum { A0 = 2, A1 = 3, A2 = 4, A3 = 5 };

typedef struct size_case {
    uint64_t memory_len;
    uint64_t app_limit;
} size_case;

static const size_case sizes[] = {
    {4096, 3072}, {4100, 3075}, {1 << 16, 1 << 15}, {UINT64_C(1) << 30, UINT64_C(3) << 28}};
enum { NUM_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static guest make(const size_case *size) {
    guest g = guest_make(size->memory_len, TLY_SIMD_AUTO);
    g.m->memory.app_limit = size->app_limit;
    return g;
}

/* Executes one instruction at TPC 0 in a ring; returns the fault. */
static uint32_t fault_of(guest *g, uint32_t ring, const char *text) {
    g->m->core.context.tpc = 0;
    g->m->core.current_acr = (uint8_t)ring;
    guest_step(g, text);
    return g->m->core.last_fault;
}

/* A slow and obvious model of what an access may touch. */
static uint32_t expected_fault(uint64_t limit, uint64_t address, uint32_t size) {
    unsigned __int128 end = (unsigned __int128)address + size;
    if (address % size != 0) {
        return TLY_PTO_FAULT_DATA_ALIGNMENT;
    }
    return end <= limit ? TLY_PTO_FAULT_NONE : TLY_PTO_FAULT_DATA_PAGE;
}

static void test_every_edge_is_kept(void **state) {
    static const struct {
        const char *load;
        const char *store;
        uint32_t size;
    } accesses[] = {{"lbui [a0, 0], ->a3", "sbi a1, [a0, 0]", 1},
                    {"lhui [a0, 0], ->a3", "shi a1, [a0, 0]", 2},
                    {"lwui [a0, 0], ->a3", "swi a1, [a0, 0]", 4},
                    {"ldi [a0, 0], ->a3", "sdi a1, [a0, 0]", 8}};
    for (uint32_t s = 0; s < NUM_SIZES; s++) {
        guest g = make(&sizes[s]);
        const uint64_t edges[] = {0, sizes[s].app_limit, sizes[s].memory_len, UINT64_MAX - 7,
                                  UINT64_C(1) << 63};
        for (uint32_t ring = 0; ring < 4; ring++) {
            uint64_t limit = ring >= 2 ? sizes[s].app_limit : sizes[s].memory_len;
            for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); e++) {
                for (int64_t off = -10; off <= 10; off++) {
                    for (size_t k = 0; k < 4; k++) {
                        uint64_t address = edges[e] + (uint64_t)off;
                        uint32_t wanted = expected_fault(limit, address, accesses[k].size);
                        guest_set(&g, A0, address);
                        guest_set(&g, A1, 0x1122334455667788);
                        guest_set(&g, A3, 77);
                        assert_int_equal(fault_of(&g, ring, accesses[k].store), wanted);
                        assert_int_equal(fault_of(&g, ring, accesses[k].load), wanted);
                        if (wanted == TLY_PTO_FAULT_NONE) {
                            uint64_t mask = UINT64_MAX >> (64 - 8 * accesses[k].size);
                            assert_int_equal(g.m->core.gprs[0][A3], 0x1122334455667788 & mask);
                        } else {
                            assert_int_equal(g.m->core.gprs[0][A3], 77);
                            assert_int_equal(g.m->core.fault_address, address);
                        }
                    }
                }
            }
        }
        guest_free(&g);
    }
}

static void test_a_pair_is_whole_or_nothing(void **state) {
    for (uint32_t s = 0; s < NUM_SIZES; s++) {
        guest g = make(&sizes[s]);
        uint64_t limit = sizes[s].app_limit & ~UINT64_C(7);
        memset(g.m->memory.bytes + limit - 8, 0xEE, 8);
        guest_set(&g, A0, limit - 8); /* the second half lies outside */
        guest_set(&g, A1, 1);
        guest_set(&g, A2, 2);
        assert_int_equal(fault_of(&g, 2, "hl.sdip a1, a2, [a0, 0]"), TLY_PTO_FAULT_DATA_PAGE);
        assert_int_equal(g.m->core.fault_address, limit);
        assert_int_equal(g.m->memory.bytes[limit - 8], 0xEE);
        assert_int_equal(fault_of(&g, 2, "hl.ldip [a0, 0], ->a1, a2"), TLY_PTO_FAULT_DATA_PAGE);
        assert_int_equal(g.m->core.gprs[0][A1], 1);
        assert_int_equal(fault_of(&g, 0, "hl.sdip a1, a2, [a0, 0]"), TLY_PTO_FAULT_NONE);
        assert_int_equal(tly_pto_peek(g.m, limit - 8, 8), 1);
        assert_int_equal(tly_pto_peek(g.m, limit, 8), 2);
        guest_free(&g);
    }
}

/* The address that is written back, or not. */
static void test_a_fault_leaves_the_base(void **state) {
    guest g = make(&sizes[0]);
    guest_set(&g, A0, 4096);
    assert_int_equal(fault_of(&g, 0, "hl.ldi.po [a0, 8], ->a1, a0"), TLY_PTO_FAULT_DATA_PAGE);
    assert_int_equal(g.m->core.gprs[0][A0], 4096);
    guest_set(&g, A0, 64);
    assert_int_equal(fault_of(&g, 0, "hl.ldi.pr [a0, 8], ->a1, a0"), TLY_PTO_FAULT_NONE);
    assert_int_equal(g.m->core.gprs[0][A0], 72);
    assert_int_equal(fault_of(&g, 0, "hl.sdi.po a1, [a0, 16], ->a0"), TLY_PTO_FAULT_NONE);
    assert_int_equal(g.m->core.gprs[0][A0], 88);
    guest_free(&g);
}

static void test_a_reservation_is_a_line(void **state) {
    guest g = make(&sizes[2]);
    guest_set(&g, A0, 0x104);
    guest_set(&g, A1, 0x138); /* the same line, another size and place */
    guest_set(&g, A2, 5);
    guest_run(&g, "lr.w [a0], ->a3\nsc.d a2, [a1], ->a3\n");
    assert_int_equal(g.m->core.gprs[0][A3], 0);
    assert_int_equal(tly_pto_peek(g.m, 0x138, 8), 5);
    guest_run(&g, "sc.d a2, [a1], ->a3\n"); /* used up */
    assert_int_equal(g.m->core.gprs[0][A3], 1);
    guest_set(&g, A1, UINT64_MAX); /* a miss does not look at the address */
    guest_run(&g, "sc.d a2, [a1], ->a3\n");
    assert_int_equal(g.m->core.gprs[0][A3], 1);
    guest_run(&g, "lr.w [a0], ->a3\nsbi a2, [a0, 59]\n"); /* the last byte of the line */
    assert_false(g.m->core.reservation.valid);
    guest_run(&g, "lr.w [a0], ->a3\nsbi a2, [a0, 60]\n"); /* the first one behind it */
    assert_true(g.m->core.reservation.valid);
    guest_set(&g, A1, 0x13C); /* the line fits, the alignment does not: the fault uses it up */
    assert_int_equal(fault_of(&g, 0, "sc.d a2, [a1], ->a3"), TLY_PTO_FAULT_DATA_ALIGNMENT);
    assert_false(g.m->core.reservation.valid);
    guest_free(&g);
}

static void test_a_copied_line_overlaps_itself(void **state) {
    guest g = make(&sizes[2]);
    uint8_t wanted[64];
    for (uint32_t i = 0; i < 256; i++) {
        g.m->memory.bytes[0x200 + i] = (uint8_t)(i * 7);
    }
    memcpy(wanted, g.m->memory.bytes + 0x200, 64);
    guest_set(&g, A0, 0x200);
    guest_set(&g, A1, 0x213);
    guest_run(&g, "dma [a0], a1\n");
    assert_memory_equal(g.m->memory.bytes + 0x213, wanted, 64);
    guest_set(&g, A1, sizes[2].memory_len - 63);
    assert_int_equal(fault_of(&g, 0, "dma [a0], a1"), TLY_PTO_FAULT_DATA_PAGE);
    guest_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_edge_is_kept),
        cmocka_unit_test(test_a_pair_is_whole_or_nothing),
        cmocka_unit_test(test_a_fault_leaves_the_base),
        cmocka_unit_test(test_a_reservation_is_a_line),
        cmocka_unit_test(test_a_copied_line_overlaps_itself),
    };
    return cmocka_run_group_tests_name("pto/memory", tests, NULL, NULL);
}
