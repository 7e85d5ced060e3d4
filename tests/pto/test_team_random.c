/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs for four elements: work of their own, and everything by which they can reach each
 * other in an order that the architecture gives. One to four threads, predecoded and plain, leave
 * the same bits everywhere. Where a sum or a lock says what must come out, that is checked too. */
#include "pto/team_rig.h"

/* Common data, from a2 on. Counters are added to; the lock guards two words that are equal. */
enum {
    NUM_COUNTERS = 4,
    RESERVED_AT = 256, /* a word that is incremented by LR and SC */
    LOCK_AT = 512,
    GUARDED_AT = 576,
    SWAPPED_AT = 640, /* words of MGATHER.CAS */
    QUEUE_AT = 1024,
    PUBLISHED_AT = 1088
};

enum { TEXT_LEN = 1 << 16, MAX_TILES = 12, MAX_PHASES = 4, MAX_ACTS = 10 };
enum { MAX_PRODUCTS = 4 };

typedef struct program {
    check_rng *rng;
    char text[TEXT_LEN];
    size_t len;
    uint32_t num_labels;
    uint32_t num_tiles; /* of hand t */
    uint32_t num_in_m;
    uint32_t num_products; /* in n, with what came from peers */
    uint32_t num_moves;
    uint32_t element;
} program;

/* What the programs together have to leave. */
typedef struct outcome {
    uint64_t sums[NUM_COUNTERS];
    uint64_t reserved;
    uint64_t guarded;
} outcome;

__attribute__((format(printf, 2, 3))) static void put(program *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(p->text + p->len, sizeof(p->text) - p->len, format, arguments);
    va_end(arguments);
    assert_true(len > 0 && p->len + (size_t)len < sizeof(p->text));
    p->len += (size_t)len;
}

static uint32_t below(program *p, uint32_t bound) {
    return (uint32_t)check_below(p->rng, bound);
}

static uint32_t own_place(program *p) {
    return 8 * below(p, 64);
}

/* a3 to a7 and s0 to s8 are for acts; what they leave goes to the element's own memory. */
static void put_own_work(program *p) {
    uint32_t label = p->num_labels++;
    put(p, "C.BSTART.STD FALL\naddi zero, %u, ->a3\nldi [a1, %u], ->a4\nC.BSTOP\n",
        1 + below(p, 300), own_place(p));
    put(p,
        "L%u: C.BSTART COND, L%u\nxor a4, a3<<%u, ->a4\nadd a4, a3, ->t\nsdi t#1, [a1, %u]\n"
        "subi a3, 1, ->a3\nsetc.ne a3, zero\nC.BSTOP\n",
        label, label, below(p, 20), own_place(p));
}

static void put_addition(program *p, outcome *o) {
    uint32_t counter = below(p, NUM_COUNTERS);
    uint32_t amount = 1 + below(p, 100);
    o->sums[counter] += amount;
    put(p,
        "C.BSTART.STD FALL\naddi a2, %u, ->a3\naddi zero, %u, ->a4\nld.add [a3], a4, ->a5\n"
        "sdi a5, [a1, %u]\nC.BSTOP\n",
        8 * counter, amount, own_place(p));
}

/* Changes whose result is kept, of words that nobody sums up. */
static void put_atomic(program *p) {
    static const char *const forms[] = {"ld.xor [a3], a4, ->a5",   "ld.smax [a3], a4, ->a5",
                                        "swapd [a3], a4, ->a5",    "lw.or [a3], a4, ->a5",
                                        "casd [a3], a4, a3, ->a5", "lr.d [a3], ->a5"};
    put(p,
        "C.BSTART.STD FALL\naddi a2, %u, ->a3\nldi [a1, %u], ->a4\n%s\nsdi a5, [a1, %u]\nC.BSTOP\n",
        64 + 8 * below(p, 8), own_place(p), forms[below(p, 6)], own_place(p));
}

static void put_reserved_increment(program *p, outcome *o) {
    uint32_t label = p->num_labels++;
    o->reserved++;
    put(p,
        "L%u: C.BSTART COND, L%u\naddi a2, %u, ->a3\nlr.d [a3], ->a4\naddi a4, 1, ->a4\n"
        "sc.d a4, [a3], ->a5\nsetc.ne a5, zero\nC.BSTOP\n",
        label, label, RESERVED_AT);
}

/* Plain loads and stores between two turns: a lock. */
static void put_locked_work(program *p, outcome *o) {
    uint32_t label = p->num_labels++;
    uint32_t amount = 1 + below(p, 50);
    o->guarded += amount;
    put(p,
        "L%u: C.BSTART COND, L%u\nc.movi 1, ->a3\naddi a2, %u, ->a4\nswapd [a4], a3, ->a5\n"
        "setc.ne a5, zero\nC.BSTOP\n",
        label, label, LOCK_AT);
    put(p,
        "C.BSTART.STD FALL\nldi [a2, %u], ->a5\naddi a5, %u, ->a5\nsdi a5, [a2, %u]\n"
        "ldi [a2, %u], ->a6\naddi a6, %u, ->a6\nsdi a6, [a2, %u]\nswapd [a4], zero, "
        "->a7\nC.BSTOP\n",
        GUARDED_AT, amount, GUARDED_AT, GUARDED_AT + 8, amount, GUARDED_AT + 8);
}

static void put_fence(program *p) {
    put(p, "C.BSTART.SYS FALL\n%s\nC.BSTOP\n", below(p, 2) == 0 ? "fence.d 3, 3" : "fence.i");
}

static void put_queue(program *p) {
    put(p, "C.BSTART.STD FALL\naddi a2, %u, ->a3\nldi [a1, %u], ->a4\nC.BSTOP\n", QUEUE_AT,
        own_place(p));
    switch (below(p, 4)) {
    case 0:
        put(p, "HL.QMT a3, zero, ->a5\n");
        break;
    case 1:
        put(p, "HL.QPOP a3, ->a4, a5\n");
        break;
    default:
        put(p, "HL.QPUSH%s a3, a4, ->a5\n", below(p, 2) == 0 ? ".h" : "");
        break;
    }
    put(p, "C.BSTART.STD FALL\nsdi a5, [a1, %u]\nsdi a4, [a1, %u]\nC.BSTOP\n", own_place(p),
        own_place(p));
}

/* Own memory through a tile and back; with B.CATR it takes turns. */
static void put_tile(program *p) {
    static const struct {
        const char *start;
        const char *dtype;
        bool binary;
    } operations[] = {{"VEC TADD", "U32", true},  {"VEC TMUL", "U32", true},
                      {"VEC TXOR", "U32", true},  {"VEC TMAX", "U32", true},
                      {"VEC TADD", "FP32", true}, {"VEC TMUL", "FP32", true},
                      {"SFU TDIV", "FP32", true}, {"SFU TEXP", "FP32", false}};
    uint32_t which = below(p, sizeof(operations) / sizeof(operations[0]));
    const char *dtype = operations[which].dtype;
    const char *ordered = below(p, 4) == 0 ? "B.CATR aqrl\n" : "";
    char second[16] = "";
    if (p->num_tiles + 2 > MAX_TILES) {
        return;
    }
    uint32_t tile = ++p->num_tiles;
    uint32_t result = ++p->num_tiles;
    if (operations[which].binary) {
        snprintf(second, sizeof(second), ", t#%u", tile);
    }
    put(p, "C.BSTART.STD FALL\naddi zero, 64, ->a3\naddi a1, %u, ->a4\nC.BSTOP\n",
        1024 + 8 * below(p, 64));
    put(p,
        "BSTART.TLOAD %s\n%sB.DIM zero, 16, ->lb0\nB.DIM zero, 4, ->lb1\n"
        "B.IOR [a4, a3, zero], ->zero\nB.IOT mask=1111, last, ->t<256B>\n",
        dtype, ordered);
    put(p,
        "BSTART.%s, %s\nB.DIM zero, 16, ->lb0\nB.DIM zero, 4, ->lb1\n"
        "B.IOT t#%u%s, mask=1111, last, ->t<256B>\n",
        operations[which].start, dtype, tile, second);
    put(p,
        "BSTART.TSTORE %s\n%sB.DIM zero, 16, ->lb0\nB.DIM zero, 4, ->lb1\n"
        "B.IOR [a4, a3, zero], ->zero\nB.IOT t#%u, mask=1111, last\nC.BSTOP\n",
        dtype, ordered, result);
}

/* Own memory times own memory, 16 x 16 each. */
static void put_product(program *p) {
    const char *dtype = below(p, 2) == 0 ? "FP32" : "BF16";
    if (p->num_products == MAX_PRODUCTS) {
        return;
    }
    uint32_t product = ++p->num_products;
    put(p, "C.BSTART.STD FALL\naddi zero, 64, ->a3\naddi a1, %u, ->a4\nC.BSTOP\n",
        1024 + 8 * below(p, 64));
    put(p,
        "BSTART.TLOAD %s\nB.DATR ND2M16, DTYPE_NONE, Zero\nB.DIM zero, 16, ->lb0\n"
        "B.DIM zero, 16, ->lb1\nB.IOR [a4, a3, zero], ->zero\nB.IOT mask=1111, last, ->m<1KB>\n",
        dtype);
    put(p,
        "BSTART.TLOAD %s\nB.DATR ND2N8, DTYPE_NONE, Zero\nB.DIM zero, 16, ->lb0\n"
        "B.DIM zero, 16, ->lb1\nB.IOR [a4, a3, zero], ->zero\nB.IOT mask=1111, last, ->m<1KB>\n",
        dtype);
    put(p,
        "BSTART.TMATMUL %s\nB.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0\nB.DIM zero, 16, ->lb0\n"
        "B.DIM zero, 16, ->lb1\nB.DIM zero, 16, ->lb2\n"
        "B.IOT m#%u, m#%u, mask=1111, last, ->n<1KB>\n",
        dtype, p->num_in_m + 1, p->num_in_m + 2);
    p->num_in_m += 2;
    put(p,
        "BSTART.TSTORE FP32\nB.DATR M162ND, DTYPE_NONE, Zero\nB.DIM zero, 16, ->lb0\n"
        "B.DIM zero, 16, ->lb1\nB.IOR [a4, a3, zero], ->zero\nB.IOT n#%u, mask=1111, last\n"
        "C.BSTOP\n",
        product + p->num_moves);
}

/* What all four do together: in every program at the same place. */
static void put_together(program *p, uint32_t phase, uint32_t kind) {
    put(p,
        "C.BSTART.STD FALL\naddi zero, 32, ->a3\nldi [a1, %u], ->a4\naddi a0, %u, ->a5\n"
        "andi a5, 3, ->a5\nC.BSTOP\n",
        own_place(p), 1 + phase);
    put(p, "BSTART.VEC TEXPANDS, U32\nB.DIM zero, 8, ->lb0\nB.DIM zero, 16, ->lb1\n"
           "B.IOR [a4, zero, zero], ->zero\nB.IOT mask=1111, last, ->u<512B>\n");
    if (kind == 0) {
        put(p,
            "BSTART.GMOV U32\nB.IOR [a5, zero, zero], ->zero\n"
            "B.IOT u#%u, mask=1111, last, ->n<512B>\nC.BSTOP\n",
            phase + 1);
        p->num_moves++;
        return;
    }
    put(p, "BSTART.TMOV.L2S.%s U32\nB.IOS mask=1111, ->S%u<512B>\nB.IOT u#%u, mask=1111, last\n",
        kind == 1 ? "PUBLISH" : "INSERT", phase, phase + 1);
    if (kind == 1) {
        put(p,
            "BSTART.TMOV.S2L.BROADCAST U32\nB.DIM zero, 8, ->lb0\nB.DIM zero, 16, ->lb1\n"
            "B.IOS S%u, mask=1111\nB.IOT mask=1111, last, ->m<512B>\n",
            phase);
        p->num_in_m++;
    }
    put(p,
        "BSTART.TSTORE U32\nB.DIM zero, 8, ->lb0\nB.DIM zero, 16, ->lb1\n"
        "B.IOR [a6, a3, zero], ->zero\nB.IOS S%u, mask=1111\nC.BSTOP\n",
        phase);
}

static void put_act(program *p, outcome *o) {
    switch (below(p, 10)) {
    case 0:
        put_addition(p, o);
        break;
    case 1:
        put_atomic(p);
        break;
    case 2:
        put_reserved_increment(p, o);
        break;
    case 3:
        put_locked_work(p, o);
        break;
    case 4:
        put_fence(p);
        break;
    case 5:
        put_queue(p);
        break;
    case 6:
        put_tile(p);
        break;
    case 7:
        put_product(p);
        break;
    default:
        put_own_work(p);
        break;
    }
}

/* Phases that end together; element 0 initialises the queue before the others can reach it. */
static void make_programs(program *programs, check_rng *rng, outcome *o) {
    uint32_t num_phases = 1 + (uint32_t)check_below(rng, MAX_PHASES);
    uint32_t kinds[MAX_PHASES];
    memset(o, 0, sizeof(*o));
    for (uint32_t phase = 0; phase < num_phases; phase++) {
        kinds[phase] = (uint32_t)check_below(rng, 3);
    }
    for (uint32_t i = 0; i < TLY_PTO_TEAM_MAX; i++) {
        program *p = &programs[i];
        *p = (program){.rng = rng, .element = i};
        put(p,
            "C.BSTART.STD FALL\naddi a2, %u, ->a3\naddi zero, %u, ->a4\nhl.addi a2, %u, ->a6\n"
            "C.BSTOP\n",
            QUEUE_AT, 1 + below(p, 20), PUBLISHED_AT);
        if (i == 0) {
            put(p, "HL.QMT.i a3, a4, ->zero\n");
        }
        for (uint32_t phase = 0; phase < num_phases; phase++) {
            uint32_t num_acts = below(p, MAX_ACTS);
            for (uint32_t act = 0; act < num_acts; act++) {
                put_act(p, o);
            }
            put(p, "C.BSTART.STD FALL\nhl.addi a2, %u, ->a6\nC.BSTOP\n",
                PUBLISHED_AT + 512 * phase);
            put_together(p, phase, kinds[phase]);
        }
    }
}

static void load(const rig *r, const program *programs, uint64_t seed) {
    check_rng rng = {seed};
    tly_pto_team_reset(r->team);
    for (uint32_t i = 0; i < TLY_PTO_TEAM_MAX; i++) {
        tly_pto_machine *m = rig_machine(r, i);
        rig_load(r, i, programs[i].text);
        for (uint32_t at = 0; at < 4096; at += 8) {
            uint64_t word = check_random(&rng);
            uint64_t address = RIG_OWN + (uint64_t)i * RIG_OWN_LEN + at;
            tly_base_store_u64(m->memory.bytes + address, word);
        }
    }
}

static void check_outcome(const rig *r, const outcome *o) {
    for (uint32_t i = 0; i < NUM_COUNTERS; i++) {
        assert_int_equal(rig_word(r, RIG_COMMON + 8 * i), o->sums[i]);
    }
    assert_int_equal(rig_word(r, RIG_COMMON + RESERVED_AT), o->reserved);
    assert_int_equal(rig_word(r, RIG_COMMON + GUARDED_AT), o->guarded);
    assert_int_equal(rig_word(r, RIG_COMMON + GUARDED_AT + 8), o->guarded);
}

static void random_programs_give_the_same_bits(void **state) {
    (void)state;
    static program programs[TLY_PTO_TEAM_MAX];
    static const char *const profiles[] = {"pto-v0", "ieee"};
    const uint64_t rounds = check_rounds(20);
    check_rng rng = {check_seed(20261130)};
    outcome wanted;
    for (uint32_t i = 0; i < 2; i++) {
        rig one = rig_make(TLY_PTO_TEAM_MAX, profiles[i]);
        rig many = rig_make(TLY_PTO_TEAM_MAX, profiles[i]);
        for (uint64_t round = 0; round < rounds; round++) {
            const uint64_t seed = check_random(&rng);
            /* where parts of a round end decides the order, so it is the same in all runs */
            const uint64_t round_steps = check_below(&rng, 2) == 0 ? 0 : 1 + check_below(&rng, 400);
            make_programs(programs, &rng, &wanted);
            load(&one, programs, seed);
            rig_finish(&one, (rig_run_how){.threads = 1, .round_steps = round_steps});
            check_outcome(&one, &wanted);
            for (uint32_t threads = 1; threads <= TLY_PTO_TEAM_MAX; threads++) {
                load(&many, programs, seed);
                rig_finish(&many, (rig_run_how){.threads = threads,
                                                .plain = threads == 1 || round % 4 == 0,
                                                .round_steps = round_steps});
                rig_compare(&one, &many);
            }
        }
        rig_free(&one);
        rig_free(&many);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
