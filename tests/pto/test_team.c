/* SPDX-License-Identifier: Apache-2.0 */
/* What elements of a team have in common and what they have not, and in which order they reach it.
 * Each case runs on one to four threads. */
#include "pto/team_rig.h"

static void turns_go_by_number(void **state) {
    (void)state;
    for (uint32_t num_elements = 1; num_elements <= TLY_PTO_TEAM_MAX; num_elements++) {
        rig r = rig_make(num_elements, NULL);
        rig_on_all(&r, rig_count_in, rig_check_count, NULL);
        rig_free(&r);
    }
}

/* ------------------------------------------------------------------------------------------ */

/* 16 x 8 words: a quarter of 128 bytes for each element, filled with its number plus one. */
static const char publish[] = "C.BSTART.STD FALL\n"
                              "addi a0, 1, ->a3\n"
                              "addi zero, 32, ->a5\n"
                              "C.BSTOP\n"
                              "BSTART.VEC TEXPANDS, U32\n"
                              "B.DIM zero, 8, ->lb0\n"
                              "B.DIM zero, 16, ->lb1\n"
                              "B.IOR [a3, zero, zero], ->zero\n"
                              "B.IOT mask=1111, last, ->t<512B>\n"
                              "BSTART.TMOV.L2S.PUBLISH U32\n"
                              "B.IOS mask=1111, ->S7<512B>\n"
                              "B.IOT t#1, mask=1111, last\n"
                              "BSTART.TMOV.S2L.BROADCAST U32\n"
                              "B.DIM zero, 8, ->lb0\n"
                              "B.DIM zero, 16, ->lb1\n"
                              "B.IOS S7, mask=1111\n"
                              "B.IOT mask=1111, last, ->u<512B>\n"
                              "BSTART.TSTORE U32\n"
                              "B.DIM zero, 8, ->lb0\n"
                              "B.DIM zero, 16, ->lb1\n"
                              "B.IOR [a1, a5, zero], ->zero\n"
                              "B.IOT u#1, mask=1111, last\n"
                              "C.BSTOP\n";

static void check_quarters(const rig *r, void *user) {
    (void)user;
    for (uint32_t i = 0; i < r->num_elements; i++) {
        const tly_pto_machine *m = rig_machine(r, i);
        assert_int_equal(m->core.shared_tiles[7].initialized_mask, 15);
        assert_true(m->core.shared_tiles[7].published);
        for (uint32_t at = 0; at < 512; at += 4) {
            assert_int_equal(tly_pto_peek(m, RIG_OWN + i * RIG_OWN_LEN + at, 4), at / 128 + 1);
        }
    }
}

/* An element that comes late is waited for: the others have no tile before it has written. */
static void each_element_writes_its_quarter(void **state) {
    (void)state;
    static char late[4096];
    rig r = rig_make(4, NULL);
    rig_on_all(&r, publish, check_quarters, NULL);
    snprintf(late, sizeof(late),
             "C.BSTART.STD FALL\n"
             "hl.addi zero, 3000, ->a7\n"
             "C.BSTOP\n"
             "around: C.BSTART COND, around\n"
             "subi a7, 1, ->a7\n"
             "setc.ne a7, zero\n"
             "C.BSTOP\n%s",
             publish);
    const char *const programs[] = {publish, publish, late, publish};
    rig_on_every_number_of_threads(&r, programs, check_quarters, NULL);
    rig_free(&r);
}

/* ------------------------------------------------------------------------------------------ */

/* Each element takes the tile of its right neighbour; elements 2 and 3 only give theirs. */
static const char pass_on[] = "C.BSTART.STD FALL\n"
                              "addi a0, 5, ->a3\n"
                              "addi zero, 32, ->a5\n"
                              "addi a0, 1, ->a4\n"
                              "andi a4, 3, ->a4\n"
                              "C.BSTOP\n"
                              "BSTART.VEC TEXPANDS, U32\n"
                              "B.DIM zero, 8, ->lb0\n"
                              "B.IOR [a3, zero, zero], ->zero\n"
                              "B.IOT mask=1111, last, ->t<128B>\n"
                              "BSTART.GMOV U32\n"
                              "B.IOR [a4, zero, zero], ->zero\n"
                              "B.IOT t#1, mask=1100, last, ->u<128B>\n"
                              "C.BSTOP\n";

static void check_neighbours(const rig *r, void *user) {
    (void)user;
    for (uint32_t i = 0; i < 4; i++) {
        const tly_pto_machine *m = rig_machine(r, i);
        const tly_pto_tile *tile = &m->core.tiles[16];
        assert_int_equal(tile->allocated, i < 2);
        if (i < 2) {
            assert_int_equal(m->core.tile_allocation_masks[16], 12);
            assert_int_equal(tly_pto_element_read(&m->tiles->local[16], tile, 3), i + 6);
        }
    }
}

static void gmov_takes_the_tile_of_its_peer(void **state) {
    (void)state;
    rig r = rig_make(4, NULL);
    rig_on_all(&r, pass_on, check_neighbours, NULL);
    rig_free(&r);
}

/* A peer that is not in the team, and one that has no such tile. */
static void gmov_is_refused_without_a_peer(void **state) {
    (void)state;
    rig r = rig_make(3, NULL);
    for (uint32_t threads = 1; threads <= 3; threads++) {
        tly_pto_team_reset(r.team);
        for (uint32_t i = 0; i < 3; i++) {
            rig_load(&r, i, pass_on);
        }
        rig_machine(&r, 2)->core.gprs[2][2] = 2; /* its neighbour would be 3; it only gives */
        tly_pto_team_run_result result = rig_run(&r, (rig_run_how){.threads = threads});
        assert_int_equal(result.first, 2);
        assert_int_equal(result.elements[2].end, TLY_PTO_END_FAULT);
        assert_int_equal(result.elements[0].end, TLY_PTO_END_OTHER);
        assert_int_equal(rig_machine(&r, 2)->reason.rule, TLY_PTO_RULE_TLSU_PEER);
    }
    rig_free(&r);
}

/* ------------------------------------------------------------------------------------------ */

static const char masked[] = "C.BSTART.STD FALL\n"
                             "addi zero, 32, ->a5\n"
                             "C.BSTOP\n"
                             "BSTART.TLOAD U32\n"
                             "B.DIM zero, 8, ->lb0\n"
                             "B.IOR [a1, a5, zero], ->zero\n"
                             "B.IOT mask=1100, last, ->t<128B>\n"
                             "BSTART.TLOAD U32\n"
                             "B.DIM zero, 8, ->lb0\n"
                             "B.IOR [a1, a5, zero], ->zero\n"
                             "B.IOT mask=0010, last, ->t<128B>\n"
                             "C.BSTOP\n";

static void check_masked(const rig *r, void *user) {
    (void)user;
    for (uint32_t i = 0; i < 4; i++) {
        const tly_pto_machine *m = rig_machine(r, i);
        assert_int_equal(m->core.tiles[0].allocated, i < 3);
        assert_false(m->core.tiles[1].allocated);
        assert_int_equal(m->core.tile_allocation_masks[0], i < 2 ? 12 : i == 2 ? 2 : 0);
    }
}

static void a_bundle_is_for_the_elements_of_its_mask(void **state) {
    (void)state;
    rig r = rig_make(4, NULL);
    rig_on_all(&r, masked, check_masked, NULL);
    rig_free(&r);
}

/* ------------------------------------------------------------------------------------------ */

/* Values through a queue: element 0 has 100 of them, the others take what they get, up to 25. */
static const char give[] = "HL.QMT.ie a2, a3, ->zero\n"
                           "C.BSTART.STD FALL\n"
                           "addi zero, 100, ->a5\n"
                           "c.movi 0, ->a4\n"
                           "C.BSTOP\n"
                           "again: HL.QPUSH a2, a4, ->a6\n"
                           "C.BSTART COND, again\n"
                           "srli a6, 62, ->a7\n" /* 1: full */
                           "setc.ne a7, zero\n"
                           "C.BSTOP\n"
                           "C.BSTART COND, again\n"
                           "addi a4, 1, ->a4\n"
                           "setc.ne a4, a5\n"
                           "C.BSTOP\n";
static const char get[] = "C.BSTART.STD FALL\n"
                          "addi zero, 25, ->a5\n"
                          "C.BSTOP\n"
                          "again: HL.QPOP a2, ->a4, a6\n"
                          "C.BSTART COND, again\n"
                          "srli a6, 62, ->a7\n"
                          "setc.ne a7, zero\n"
                          "C.BSTOP\n"
                          "C.BSTART COND, again\n"
                          "sdi a4, [a1, 0]\n"
                          "addi a1, 8, ->a1\n"
                          "subi a5, 1, ->a5\n"
                          "setc.ne a5, zero\n"
                          "C.BSTOP\n";

/* Who got which value; the first run decides, the others have to be like it. */
typedef struct received {
    bool known;
    uint64_t values[3][25];
} received;

static void check_received(const rig *r, void *user) {
    received *first = user;
    received now = {.known = true};
    bool seen[100] = {false};
    for (uint32_t i = 0; i < 75; i++) {
        uint64_t value = rig_word(r, RIG_OWN + (i / 25 + 1) * RIG_OWN_LEN + i % 25 * 8);
        now.values[i / 25][i % 25] = value;
        assert_true(value < 100 && !seen[value]);
        assert_true(i % 25 == 0 || value > now.values[i / 25][i % 25 - 1]);
        seen[value] = true;
    }
    if (!first->known) {
        *first = now;
    }
    assert_memory_equal(first->values, now.values, sizeof(now.values));
}

static void queues_join_elements(void **state) {
    (void)state;
    static char giver[2048];
    rig r = rig_make(4, NULL);
    received first = {0};
    snprintf(giver, sizeof(giver), "C.BSTART.STD FALL\naddi zero, 30, ->a3\nC.BSTOP\n%s", give);
    const char *const programs[] = {giver, get, get, get};
    rig_on_every_number_of_threads(&r, programs, check_received, &first);
    rig_free(&r);
}

/* ------------------------------------------------------------------------------------------ */

/* Element 0 reserves and stores later; in between, in turns that a counter hands on, element 1
 * stores what stands there already to the same line, or to the next one. */
static const char reserve[] = "C.BSTART.STD FALL\n"
                              "c.movi 1, ->a3\n"
                              "lr.d [a2], ->a4\n"
                              "addi a2, 512, ->a5\n"
                              "sd.add [a5], a3\n"
                              "C.BSTOP\n"
                              "around: C.BSTART COND, around\n"
                              "ld.add [a5], zero, ->a6\n"
                              "setc.ltui a6, 2\n"
                              "C.BSTOP\n"
                              "C.BSTART.STD FALL\n"
                              "sc.d a3, [a2], ->a6\n"
                              "sdi a6, [a1, 0]\n"
                              "C.BSTOP\n";
static const char disturb[] = "C.BSTART.STD FALL\n"
                              "c.movi 1, ->a3\n"
                              "addi a2, 512, ->a5\n"
                              "C.BSTOP\n"
                              "around: C.BSTART COND, around\n"
                              "ld.add [a5], zero, ->a6\n"
                              "setc.ltui a6, 1\n"
                              "C.BSTOP\n"
                              "C.BSTART.STD FALL\n"
                              "sdi zero, [a2, %d]\n"
                              "sd.add [a5], a3\n"
                              "C.BSTOP\n";

static void check_reserved(const rig *r, void *user) {
    const bool lost = *(const bool *)user;
    assert_int_equal(rig_word(r, RIG_OWN), lost);
    assert_int_equal(rig_word(r, RIG_COMMON), !lost);
}

static void a_store_of_another_ends_a_reservation(void **state) {
    (void)state;
    static char text[1024];
    for (uint32_t lost = 0; lost < 2; lost++) {
        rig r = rig_make(2, NULL);
        bool wanted = lost != 0;
        snprintf(text, sizeof(text), disturb, wanted ? 56 : 64);
        const char *const programs[] = {reserve, text};
        rig_on_every_number_of_threads(&r, programs, check_reserved, &wanted);
        rig_free(&r);
    }
}

/* ------------------------------------------------------------------------------------------ */

/* Element 0 writes `addi zero, N, ->a4` over an instruction of element 1, again and again, and
 * waits until that has run it. a5 is where to, a6 the word for N = 0, a7 what one more adds to it.
 */
static const char patch[] = "C.BSTART.STD FALL\n"
                            "addi zero, 50, ->s1\n"
                            "c.movi 1, ->s2\n"
                            "C.BSTOP\n"
                            "next: C.BSTART.STD FALL\n"
                            "add a6, a7, ->a6\n"
                            "swi a6, [a5, 0]\n"
                            "sd.add [a2], s2\n"
                            "C.BSTOP\n"
                            "wait: C.BSTART COND, wait\n"
                            "ld.add [a2], zero, ->s0\n"
                            "andi s0, 1, ->s0\n"
                            "setc.ne s0, zero\n"
                            "C.BSTOP\n"
                            "C.BSTART COND, next\n"
                            "subi s1, 1, ->s1\n"
                            "setc.ne s1, zero\n"
                            "C.BSTOP\n";
static uint64_t word_of(const char *text) {
    tly_isa_insn insn;
    tly_error err = {0};
    CHECK_OK(tly_asm_parse_insn(text, strlen(text), 0, TLY_ISA_0_58_3, &insn, &err), &err);
    return insn.word;
}

/* The loop of element 1 begins anew at its first block as long as there are patches. */
static void code_of_another_element_can_be_written(void **state) {
    (void)state;
    static const char runner[] = "C.BSTART DIRECT, begin\n"
                                 "C.BSTOP\n"
                                 "block: C.BSTART.STD FALL\n"
                                 "c.movi 0, ->a7\n"
                                 "addi zero, 0, ->a4\n" /* 8 bytes behind the start */
                                 "add a3, a4, ->a3\n"
                                 "sd.add [a2], s2\n"
                                 "C.BSTOP\n"
                                 "C.BSTART COND, wait\n"
                                 "subi s1, 1, ->s1\n"
                                 "setc.ne s1, zero\n"
                                 "C.BSTOP\n"
                                 "C.BSTART DIRECT, end\n"
                                 "C.BSTOP\n"
                                 "begin: C.BSTART.STD FALL\n"
                                 "addi zero, 50, ->s1\n"
                                 "c.movi 1, ->s2\n"
                                 "C.BSTOP\n"
                                 "wait: C.BSTART COND, wait\n"
                                 "ld.add [a2], zero, ->s0\n"
                                 "andi s0, 1, ->s0\n"
                                 "setc.eq s0, zero\n"
                                 "C.BSTOP\n"
                                 "C.BSTART DIRECT, block\n"
                                 "C.BSTOP\n"
                                 "end: C.BSTART.STD FALL\n"
                                 "C.BSTOP\n";
    const uint64_t zero = word_of("addi zero, 0, ->a4");
    rig r = rig_make(2, NULL);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        tly_pto_team_reset(r.team);
        rig_load(&r, 0, patch);
        rig_load(&r, 1, runner);
        uint64_t *gprs = rig_machine(&r, 0)->core.gprs[0];
        gprs[7] = RIG_CODE + RIG_CODE_LEN + 8;
        assert_int_equal(tly_pto_peek(rig_machine(&r, 0), gprs[7], 4), zero);
        gprs[8] = zero;
        gprs[9] = word_of("addi zero, 1, ->a4") - zero;
        rig_finish(&r, (rig_run_how){.threads = threads});
        assert_int_equal(rig_machine(&r, 1)->core.gprs[1][5], 50 * 51 / 2);
    }
    rig_free(&r);
}

/* ------------------------------------------------------------------------------------------ */

/* A flag in blocks with B.CATR: element 0 looks at it equally often on any number of threads.
 */
static void a_flag_in_ordered_blocks_is_no_race(void **state) {
    (void)state;
    static const char wait[] = "around: C.BSTART COND, around\n"
                               "B.CATR aq\n"
                               "ldi [a2, 0], ->a3\n"
                               "setc.eq a3, zero\n"
                               "C.BSTOP\n"
                               "C.BSTART.STD FALL\n"
                               "ldi [a2, 8], ->a4\n"
                               "C.BSTOP\n";
    static const char tell[] = "C.BSTART.STD FALL\n"
                               "hl.addi zero, 5000, ->a3\n"
                               "C.BSTOP\n"
                               "around: C.BSTART COND, around\n"
                               "subi a3, 1, ->a3\n"
                               "setc.ne a3, zero\n"
                               "C.BSTOP\n"
                               "C.BSTART.STD FALL\n"
                               "sdi a2, [a2, 8]\n"
                               "C.BSTOP\n"
                               "C.BSTART.STD FALL\n"
                               "B.CATR rl\n"
                               "sdi a2, [a2, 0]\n"
                               "C.BSTOP\n";
    rig r = rig_make(2, NULL);
    uint64_t steps = 0;
    for (uint32_t i = 0; i < 6; i++) {
        tly_pto_team_reset(r.team);
        rig_load(&r, 0, wait);
        rig_load(&r, 1, tell);
        tly_pto_team_run_result result =
            rig_run(&r, (rig_run_how){.threads = 1 + i % 2, .plain = i >= 4});
        assert_int_equal(result.elements[0].end, TLY_PTO_END_STOP);
        assert_int_equal(rig_machine(&r, 0)->core.gprs[0][6], RIG_COMMON);
        steps = i == 0 ? result.elements[0].num_steps : steps;
        assert_int_equal(result.elements[0].num_steps, steps);
    }
    rig_free(&r);
}

/* The start of a tile's block that ends an ordered block, which is a turn; from kept instructions
 * as well. */
static void a_tile_follows_an_ordered_block(void **state) {
    (void)state;
    static const char program[] = "around: C.BSTART.STD FALL\n"
                                  "B.CATR aqrl\n"
                                  "addi zero, 32, ->a5\n"
                                  "BSTART.TLOAD U32\n"
                                  "B.DIM zero, 8, ->lb0\n"
                                  "B.IOR [a1, a5, zero], ->zero\n"
                                  "B.IOT mask=1111, last, ->t<128B>\n"
                                  "C.BSTART COND, around\n"
                                  "addi a7, 1, ->a7\n"
                                  "setc.ltui a7, 3\n"
                                  "C.BSTOP\n";
    rig r = rig_make(2, NULL);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        tly_pto_team_reset(r.team);
        rig_load(&r, 0, program);
        rig_load(&r, 1, program);
        rig_finish(&r, (rig_run_how){.threads = threads});
        assert_true(rig_machine(&r, 1)->core.tiles[2].allocated);
    }
    rig_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_go_by_number),
        cmocka_unit_test(each_element_writes_its_quarter),
        cmocka_unit_test(gmov_takes_the_tile_of_its_peer),
        cmocka_unit_test(gmov_is_refused_without_a_peer),
        cmocka_unit_test(a_bundle_is_for_the_elements_of_its_mask),
        cmocka_unit_test(queues_join_elements),
        cmocka_unit_test(a_store_of_another_ends_a_reservation),
        cmocka_unit_test(code_of_another_element_can_be_written),
        cmocka_unit_test(a_flag_in_ordered_blocks_is_no_race),
        cmocka_unit_test(a_tile_follows_an_ordered_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
