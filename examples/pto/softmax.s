# SPDX-License-Identifier: Apache-2.0
# Softmax over the rows of a matrix of 32 x 40 words, to the base of 2 and in whole numbers:
#
#     weight(x) = 2^16 >> min(max of the row - x, 20)
#     result(x) = 2^14 * weight(x) / sum of the row's weights
#
# so that the results of a row add up to a little less than 2^14. Rows have room for 64 words (LB2), of
# which 40 count. A constant is a tile whose rows are all loaded from the same place: the distance of its
# rows is zero.

        .text
        .globl _start
_start: C.BSTART.STD FALL
        ld.pcr [at_x], ->a1
        addi zero, 1280, ->a2
        c.movi 1, ->a3                  # state of the generator
        C.BSTOP

fill:   C.BSTART COND, fill             # words from 0 to 63
        xor a3, a3<<13, ->a3
        srli a3, 7, ->t
        xor a3, t#1, ->a3
        xor a3, a3<<17, ->a3
        srli a3, 58, ->t
        swi t#1, [a1, 0]
        addi a1, 4, ->a1
        subi a2, 1, ->a2
        setc.ne a2, zero
        C.BSTOP

        C.BSTART.STD FALL
        ld.pcr [at_constants], ->a1
        ld.pcr [at_constants], ->a2
        addi a2, 160, ->a2
        addi a2, 160, ->a3
        addi zero, 40, ->a4
        addi zero, 20, ->a5
        hl.addi zero, 65536, ->a6
        addi zero, 14, ->a7
        C.BSTOP
constants:
        C.BSTART COND, constants        # 40 times 20, 40 times 65536, 40 times 14
        swi a5, [a1, 0]
        swi a6, [a2, 0]
        swi a7, [a3, 0]
        addi a1, 4, ->a1
        addi a2, 4, ->a2
        addi a3, 4, ->a3
        subi a4, 1, ->a4
        setc.ne a4, zero
        C.BSTOP

        C.BSTART.STD FALL
        ld.pcr [at_x], ->a1
        addi zero, 160, ->a2            # bytes from row to row
        ld.pcr [at_constants], ->a3
        addi a3, 160, ->a4
        addi a4, 160, ->a5
        ld.pcr [at_result], ->a6
        C.BSTOP

        BSTART.TLOAD S32                # t#1: the matrix
        B.DIM zero, 40, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<8KB>
        BSTART.TLOAD S32                # t#2: 20 everywhere
        B.DIM zero, 40, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOR [a3, zero, zero], ->zero
        B.IOT mask=1000, last, ->t<8KB>
        BSTART.TLOAD S32                # t#3: 2^16 everywhere
        B.DIM zero, 40, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOR [a4, zero, zero], ->zero
        B.IOT mask=1000, last, ->t<8KB>
        BSTART.TLOAD S32                # t#4: 14 everywhere
        B.DIM zero, 40, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOR [a5, zero, zero], ->zero
        B.IOT mask=1000, last, ->t<8KB>

        BSTART.SFU TROWMAX, S32         # u#1: the largest word of each row
        B.DIM zero, 40, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOT t#1, mask=1000, last, ->u<128B>
        BSTART.SFU TROWEXPANDSUB, S32   # m#1: how far each word lies above it, which is below
        B.DIM zero, 40, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOT t#1, u#1, mask=1000, last, ->m<8KB>
        BSTART.VEC TNEG, S32            # m#2: how far below
        B.DIM zero, 40, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOT m#1, mask=1000, last, ->m<8KB>
        BSTART.VEC TMIN, S32            # m#3: 20 at most
        B.DIM zero, 40, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOT m#2, t#2, mask=1000, last, ->m<8KB>
        BSTART.VEC TSHR, S32            # n#1: the weights
        B.DIM zero, 40, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOT t#3, m#3, mask=1000, last, ->n<8KB>
        BSTART.SFU TROWSUM, S32         # u#2: their sums
        B.DIM zero, 40, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOT n#1, mask=1000, last, ->u<128B>
        BSTART.VEC TSHL, S32            # n#2: the weights times 2^14
        B.DIM zero, 40, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOT n#1, t#4, mask=1000, last, ->n<8KB>
        BSTART.SFU TROWEXPANDDIV, S32   # n#3: divided by the sums
        B.DIM zero, 40, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOT n#2, u#2, mask=1000, last, ->n<8KB>

        BSTART.TSTORE S32
        B.DIM zero, 40, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOR [a6, a2, zero], ->zero
        B.IOT n#3, mask=1000, last
        C.BSTOP

        .globl cross_model_stop
cross_model_stop:
        C.BSTOP

        .data
        .balign 8
at_x:           .quad x
at_constants:   .quad constants_row
at_result:      .quad cross_model_result

        .bss
        .balign 8
x:              .space 5120
constants_row:  .space 480
        .globl cross_model_result, cross_model_result_size
cross_model_result:
        .space 5120
        .set cross_model_result_size, 5120
