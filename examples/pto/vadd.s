# SPDX-License-Identifier: Apache-2.0
# Adds two vectors of 3000 words, in strips: 16 rows of 128 words, 7 rows of 128, and 56 words that are
# left. A strip is loaded into two tiles, added into a third and stored from there.
#
# A tile operation is a block of its own: BSTART names it, the header names what it works on, and it
# runs when the block ends. LB0 is the number of columns that count, LB1 that of the rows; B.IOR has an
# address and the distance of two rows in bytes. A result names a hand (t, u, m or n) and takes the
# lowest free tile of that hand: the first one of hand t is t#1, the second one t#2. No instruction gives
# a tile back, so every strip has tiles of its own.
#
# mask=1000 lets processing element 0 alone take part, which is charged for the tiles. Loads and stores
# use the registers of the element that runs the program, whichever it is.

        .text
        .globl _start
_start: C.BSTART.STD FALL
        ld.pcr [at_left], ->a1
        hl.addi zero, 6000, ->a2        # both vectors, which lie behind each other
        c.movi 1, ->a3                  # state of the generator
        C.BSTOP

fill:   C.BSTART COND, fill
        xor a3, a3<<13, ->a3
        srli a3, 7, ->t
        xor a3, t#1, ->a3
        xor a3, a3<<17, ->a3
        srli a3, 32, ->t
        swi t#1, [a1, 0]
        addi a1, 4, ->a1
        subi a2, 1, ->a2
        setc.ne a2, zero
        C.BSTOP

        C.BSTART.STD FALL
        ld.pcr [at_left], ->a1
        ld.pcr [at_right], ->a2
        ld.pcr [at_result], ->a3
        addi zero, 512, ->a4            # bytes from one row to the next
        C.BSTOP

        BSTART.TLOAD S32                # the first strip: 2048 words
        B.DIM zero, 128, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [a1, a4, zero], ->zero
        B.IOT mask=1000, last, ->t<8KB>
        BSTART.TLOAD S32
        B.DIM zero, 128, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [a2, a4, zero], ->zero
        B.IOT mask=1000, last, ->u<8KB>
        BSTART.VEC TADD, S32
        B.DIM zero, 128, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOT t#1, u#1, mask=1000, last, ->m<8KB>
        BSTART.TSTORE S32
        B.DIM zero, 128, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [a3, a4, zero], ->zero
        B.IOT m#1, mask=1000, last
        C.BSTOP

        C.BSTART.STD FALL               # on by 2048 words
        hl.addi a1, 8192, ->a1
        hl.addi a2, 8192, ->a2
        hl.addi a3, 8192, ->a3
        C.BSTOP

        BSTART.TLOAD S32                # the second one: 896 words
        B.DIM zero, 128, ->lb0
        B.DIM zero, 7, ->lb1
        B.IOR [a1, a4, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        BSTART.TLOAD S32
        B.DIM zero, 128, ->lb0
        B.DIM zero, 7, ->lb1
        B.IOR [a2, a4, zero], ->zero
        B.IOT mask=1000, last, ->u<4KB>
        BSTART.VEC TADD, S32
        B.DIM zero, 128, ->lb0
        B.DIM zero, 7, ->lb1
        B.IOT t#2, u#2, mask=1000, last, ->m<4KB>
        BSTART.TSTORE S32
        B.DIM zero, 128, ->lb0
        B.DIM zero, 7, ->lb1
        B.IOR [a3, a4, zero], ->zero
        B.IOT m#2, mask=1000, last
        C.BSTOP

        C.BSTART.STD FALL               # on by 896 words
        addi a1, 3584, ->a1
        addi a2, 3584, ->a2
        addi a3, 3584, ->a3
        C.BSTOP

        BSTART.TLOAD S32                # what is left: 56 words in a row of 64
        B.DIM zero, 56, ->lb0
        B.DIM zero, 64, ->lb2
        B.IOR [a1, a4, zero], ->zero
        B.IOT mask=1000, last, ->t<256B>
        BSTART.TLOAD S32
        B.DIM zero, 56, ->lb0
        B.DIM zero, 64, ->lb2
        B.IOR [a2, a4, zero], ->zero
        B.IOT mask=1000, last, ->u<256B>
        BSTART.VEC TADD, S32
        B.DIM zero, 56, ->lb0
        B.DIM zero, 64, ->lb2
        B.IOT t#3, u#3, mask=1000, last, ->m<256B>
        BSTART.TSTORE S32
        B.DIM zero, 56, ->lb0
        B.DIM zero, 64, ->lb2
        B.IOR [a3, a4, zero], ->zero
        B.IOT m#3, mask=1000, last
        C.BSTOP

        .globl cross_model_stop
cross_model_stop:
        C.BSTOP

        .data
        .balign 8
at_left:        .quad left
at_right:       .quad right
at_result:      .quad cross_model_result

        .bss
        .balign 8
left:   .space 12000
right:  .space 12000
        .globl cross_model_result, cross_model_result_size
cross_model_result:
        .space 12000
        .set cross_model_result_size, 12000
