# SPDX-License-Identifier: Apache-2.0
# Counts how often each of 16 values occurs in 8192 words, by gather and scatter. The words lie in 8 rows
# of 1024. Two equal words of a row must not meet in the same counter, so each of the 1024 columns has 16
# counters of its own:
#
#     where    = 64 * column + 4 * value          bytes
#     counters[where] += 1                        MGATHER, TADD, MSCATTER, row after row
#
# In the end the 1024 x 16 counters are a tile, and TCOLSUM adds them up. No instruction gives a tile
# back, so every row has tiles of its own: 236 of 256 KiB are taken in the end.

        .text
        .globl _start
_start: C.BSTART.STD FALL
        ld.pcr [at_words], ->a1
        hl.addi zero, 8192, ->a2
        c.movi 1, ->a3                  # state of the generator
        C.BSTOP

fill:   C.BSTART COND, fill             # smaller values are more frequent
        xor a3, a3<<13, ->a3
        srli a3, 7, ->t
        xor a3, t#1, ->a3
        xor a3, a3<<17, ->a3
        srli a3, 60, ->t
        srli a3, 10, ->u
        and t#1, u#1, ->t
        andi t#1, 15, ->t
        swi t#1, [a1, 0]
        addi a1, 4, ->a1
        subi a2, 1, ->a2
        setc.ne a2, zero
        C.BSTOP

        C.BSTART.STD FALL
        ld.pcr [at_constants], ->a1
        hl.addi zero, 4096, ->t
        add a1, t#1, ->a2
        add a2, t#1, ->a3
        addi zero, 1024, ->a4
        c.movi 0, ->a5
        c.movi 1, ->a6
        c.movi 2, ->a7
        C.BSTOP
constants:
        C.BSTART COND, constants        # 64 times the column; 1; 2
        swi a5, [a1, 0]
        swi a6, [a2, 0]
        swi a7, [a3, 0]
        addi a1, 4, ->a1
        addi a2, 4, ->a2
        addi a3, 4, ->a3
        addi a5, 64, ->a5
        subi a4, 1, ->a4
        setc.ne a4, zero
        C.BSTOP

        C.BSTART.STD FALL
        ld.pcr [at_words], ->a1
        ld.pcr [at_counters], ->a2
        ld.pcr [at_constants], ->a3
        hl.addi a3, 4096, ->a4
        hl.addi a4, 4096, ->a5
        ld.pcr [at_result], ->a6
        addi zero, 64, ->a7             # bytes from row to row of the counters
        C.BSTOP

        BSTART.TLOAD U32                # t#1: 64 times the column
        B.DIM zero, 1024, ->lb0
        B.IOR [a3, zero, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        BSTART.TLOAD U32                # t#2: 1 everywhere
        B.DIM zero, 1024, ->lb0
        B.IOR [a4, zero, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        BSTART.TLOAD U32                # t#3: 2 everywhere
        B.DIM zero, 1024, ->lb0
        B.IOR [a5, zero, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        C.BSTOP

        BSTART.TLOAD U32                # row 0
        B.DIM zero, 1024, ->lb0
        B.IOR [a1, zero, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        BSTART.VEC TSHL, U32            # 4 * value
        B.DIM zero, 1024, ->lb0
        B.IOT t#4, t#3, mask=1000, last, ->u<4KB>
        BSTART.VEC TADD, U32            # where
        B.DIM zero, 1024, ->lb0
        B.IOT u#1, t#1, mask=1000, last, ->m<4KB>
        BSTART.MGATHER U32              # the counters there
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT m#1, mask=1000, last, ->n<4KB>
        BSTART.VEC TADD, U32
        B.DIM zero, 1024, ->lb0
        B.IOT n#1, t#2, mask=1000, last, ->n<4KB>
        BSTART.MSCATTER U32
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT n#2, m#1, mask=1000, last
        C.BSTOP
        C.BSTART.STD FALL
        hl.addi a1, 4096, ->a1
        C.BSTOP

        BSTART.TLOAD U32                # row 1
        B.DIM zero, 1024, ->lb0
        B.IOR [a1, zero, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        BSTART.VEC TSHL, U32            # 4 * value
        B.DIM zero, 1024, ->lb0
        B.IOT t#5, t#3, mask=1000, last, ->u<4KB>
        BSTART.VEC TADD, U32            # where
        B.DIM zero, 1024, ->lb0
        B.IOT u#2, t#1, mask=1000, last, ->m<4KB>
        BSTART.MGATHER U32              # the counters there
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT m#2, mask=1000, last, ->n<4KB>
        BSTART.VEC TADD, U32
        B.DIM zero, 1024, ->lb0
        B.IOT n#3, t#2, mask=1000, last, ->n<4KB>
        BSTART.MSCATTER U32
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT n#4, m#2, mask=1000, last
        C.BSTOP
        C.BSTART.STD FALL
        hl.addi a1, 4096, ->a1
        C.BSTOP

        BSTART.TLOAD U32                # row 2
        B.DIM zero, 1024, ->lb0
        B.IOR [a1, zero, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        BSTART.VEC TSHL, U32            # 4 * value
        B.DIM zero, 1024, ->lb0
        B.IOT t#6, t#3, mask=1000, last, ->u<4KB>
        BSTART.VEC TADD, U32            # where
        B.DIM zero, 1024, ->lb0
        B.IOT u#3, t#1, mask=1000, last, ->m<4KB>
        BSTART.MGATHER U32              # the counters there
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT m#3, mask=1000, last, ->n<4KB>
        BSTART.VEC TADD, U32
        B.DIM zero, 1024, ->lb0
        B.IOT n#5, t#2, mask=1000, last, ->n<4KB>
        BSTART.MSCATTER U32
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT n#6, m#3, mask=1000, last
        C.BSTOP
        C.BSTART.STD FALL
        hl.addi a1, 4096, ->a1
        C.BSTOP

        BSTART.TLOAD U32                # row 3
        B.DIM zero, 1024, ->lb0
        B.IOR [a1, zero, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        BSTART.VEC TSHL, U32            # 4 * value
        B.DIM zero, 1024, ->lb0
        B.IOT t#7, t#3, mask=1000, last, ->u<4KB>
        BSTART.VEC TADD, U32            # where
        B.DIM zero, 1024, ->lb0
        B.IOT u#4, t#1, mask=1000, last, ->m<4KB>
        BSTART.MGATHER U32              # the counters there
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT m#4, mask=1000, last, ->n<4KB>
        BSTART.VEC TADD, U32
        B.DIM zero, 1024, ->lb0
        B.IOT n#7, t#2, mask=1000, last, ->n<4KB>
        BSTART.MSCATTER U32
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT n#8, m#4, mask=1000, last
        C.BSTOP
        C.BSTART.STD FALL
        hl.addi a1, 4096, ->a1
        C.BSTOP

        BSTART.TLOAD U32                # row 4
        B.DIM zero, 1024, ->lb0
        B.IOR [a1, zero, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        BSTART.VEC TSHL, U32            # 4 * value
        B.DIM zero, 1024, ->lb0
        B.IOT t#8, t#3, mask=1000, last, ->u<4KB>
        BSTART.VEC TADD, U32            # where
        B.DIM zero, 1024, ->lb0
        B.IOT u#5, t#1, mask=1000, last, ->m<4KB>
        BSTART.MGATHER U32              # the counters there
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT m#5, mask=1000, last, ->n<4KB>
        BSTART.VEC TADD, U32
        B.DIM zero, 1024, ->lb0
        B.IOT n#9, t#2, mask=1000, last, ->n<4KB>
        BSTART.MSCATTER U32
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT n#10, m#5, mask=1000, last
        C.BSTOP
        C.BSTART.STD FALL
        hl.addi a1, 4096, ->a1
        C.BSTOP

        BSTART.TLOAD U32                # row 5
        B.DIM zero, 1024, ->lb0
        B.IOR [a1, zero, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        BSTART.VEC TSHL, U32            # 4 * value
        B.DIM zero, 1024, ->lb0
        B.IOT t#9, t#3, mask=1000, last, ->u<4KB>
        BSTART.VEC TADD, U32            # where
        B.DIM zero, 1024, ->lb0
        B.IOT u#6, t#1, mask=1000, last, ->m<4KB>
        BSTART.MGATHER U32              # the counters there
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT m#6, mask=1000, last, ->n<4KB>
        BSTART.VEC TADD, U32
        B.DIM zero, 1024, ->lb0
        B.IOT n#11, t#2, mask=1000, last, ->n<4KB>
        BSTART.MSCATTER U32
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT n#12, m#6, mask=1000, last
        C.BSTOP
        C.BSTART.STD FALL
        hl.addi a1, 4096, ->a1
        C.BSTOP

        BSTART.TLOAD U32                # row 6
        B.DIM zero, 1024, ->lb0
        B.IOR [a1, zero, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        BSTART.VEC TSHL, U32            # 4 * value
        B.DIM zero, 1024, ->lb0
        B.IOT t#10, t#3, mask=1000, last, ->u<4KB>
        BSTART.VEC TADD, U32            # where
        B.DIM zero, 1024, ->lb0
        B.IOT u#7, t#1, mask=1000, last, ->m<4KB>
        BSTART.MGATHER U32              # the counters there
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT m#7, mask=1000, last, ->n<4KB>
        BSTART.VEC TADD, U32
        B.DIM zero, 1024, ->lb0
        B.IOT n#13, t#2, mask=1000, last, ->n<4KB>
        BSTART.MSCATTER U32
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT n#14, m#7, mask=1000, last
        C.BSTOP
        C.BSTART.STD FALL
        hl.addi a1, 4096, ->a1
        C.BSTOP

        BSTART.TLOAD U32                # row 7
        B.DIM zero, 1024, ->lb0
        B.IOR [a1, zero, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        BSTART.VEC TSHL, U32            # 4 * value
        B.DIM zero, 1024, ->lb0
        B.IOT t#11, t#3, mask=1000, last, ->u<4KB>
        BSTART.VEC TADD, U32            # where
        B.DIM zero, 1024, ->lb0
        B.IOT u#8, t#1, mask=1000, last, ->m<4KB>
        BSTART.MGATHER U32              # the counters there
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT m#8, mask=1000, last, ->n<4KB>
        BSTART.VEC TADD, U32
        B.DIM zero, 1024, ->lb0
        B.IOT n#15, t#2, mask=1000, last, ->n<4KB>
        BSTART.MSCATTER U32
        B.DIM zero, 1024, ->lb0
        B.IOR [a2, zero, zero], ->zero
        B.IOT n#16, m#8, mask=1000, last
        C.BSTOP

        BSTART.TLOAD U32                # m#9: all counters
        B.DIM zero, 16, ->lb0
        B.DIM zero, 1024, ->lb1
        B.IOR [a2, a7, zero], ->zero
        B.IOT mask=1000, last, ->m<64KB>
        BSTART.SFU TCOLSUM, U32         # u#9: their sums
        B.DIM zero, 16, ->lb0
        B.DIM zero, 1024, ->lb1
        B.IOT m#9, mask=1000, last, ->u<128B>
        BSTART.TSTORE U32
        B.DIM zero, 16, ->lb0
        B.IOR [a6, a7, zero], ->zero
        B.IOT u#9, mask=1000, last
        C.BSTOP

        .globl cross_model_stop
cross_model_stop:
        C.BSTOP

        .data
        .balign 8
at_words:       .quad words
at_constants:   .quad constants_rows
at_counters:    .quad counters
at_result:      .quad cross_model_result

        .bss
        .balign 8
words:          .space 32768
constants_rows: .space 12288
counters:       .space 65536
        .globl cross_model_result, cross_model_result_size
cross_model_result:
        .space 64
        .set cross_model_result_size, 64
