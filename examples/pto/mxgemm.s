# SPDX-License-Identifier: Apache-2.0
# Multiplies A (24 x 128) by B (128 x 40) with scales: elements are E4M3, and each 32 of them along the
# sums share a scale in E8M0. So A has 24 x 4 scales, and B 4 x 40. TMATMULMX takes A, its scales, B and
# its scales, in that order.
#
# The profile pto-v0 multiplies and adds the bits of elements and scales as whole numbers; that is not
# IEEE arithmetic, but it tells apart every element that went to the wrong place.

        .text
        .globl _start
_start: C.BSTART.STD FALL
        ld.pcr [at_a], ->a1
        hl.addi zero, 8192, ->a2        # bytes of A and of B behind it
        c.movi 1, ->a3                  # state of the generator
        C.BSTOP
elements:
        C.BSTART COND, elements
        xor a3, a3<<13, ->a3
        srli a3, 7, ->t
        xor a3, t#1, ->a3
        xor a3, a3<<17, ->a3
        srli a3, 56, ->t
        andi t#1, 119, ->t              # no NaN, and at most 240
        sbi t#1, [a1, 0]
        addi a1, 1, ->a1
        subi a2, 1, ->a2
        setc.ne a2, zero
        C.BSTOP

        C.BSTART.STD FALL
        addi zero, 256, ->a2            # bytes of both kinds of scales
        C.BSTOP
scales: C.BSTART COND, scales
        xor a3, a3<<13, ->a3
        srli a3, 7, ->t
        xor a3, t#1, ->a3
        xor a3, a3<<17, ->a3
        srli a3, 60, ->t
        addi t#1, 120, ->t              # 2 to the power of -7 .. 8
        sbi t#1, [a1, 0]
        addi a1, 1, ->a1
        subi a2, 1, ->a2
        setc.ne a2, zero
        C.BSTOP

        C.BSTART.STD FALL
        ld.pcr [at_a], ->a1
        addi zero, 128, ->a2            # bytes from row to row of A,
        ld.pcr [at_a_scales], ->a3
        c.movi 4, ->a4                  # of its scales,
        ld.pcr [at_b], ->a5
        addi zero, 40, ->a6             # of B and of its scales,
        ld.pcr [at_b_scales], ->a7
        ld.pcr [at_result], ->s0
        addi zero, 160, ->s1            # and of the result
        C.BSTOP

        BSTART.TLOAD E4M3               # t#1: A
        B.DATR ND2M32, DTYPE_NONE, Zero
        B.DIM zero, 128, ->lb0
        B.DIM zero, 24, ->lb1
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        BSTART.TLOAD E8M0               # u#1: its scales, by rows
        B.DIM zero, 4, ->lb0
        B.DIM zero, 24, ->lb1
        B.IOR [a3, a4, zero], ->zero
        B.IOT mask=1000, last, ->u<128B>
        BSTART.TLOAD E4M3               # t#2: B
        B.DATR ND2N8, DTYPE_NONE, Zero
        B.DIM zero, 40, ->lb0
        B.DIM zero, 128, ->lb1
        B.IOR [a5, a6, zero], ->zero
        B.IOT mask=1000, last, ->t<8KB>
        BSTART.TLOAD E8M0               # u#2: its scales, 40 in rows of 64
        B.DIM zero, 40, ->lb0
        B.DIM zero, 4, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOR [a7, a6, zero], ->zero
        B.IOT mask=1000, last, ->u<256B>

        BSTART.TMATMULMX E4M3
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 24, ->lb0
        B.DIM zero, 40, ->lb1
        B.DIM zero, 128, ->lb2
        B.IOT t#1, u#1, mask=1000
        B.IOT t#2, u#2, mask=1000, last, ->m<8KB>
        BSTART.TSTORE FP32
        B.DATR M322ND, DTYPE_NONE, Zero
        B.DIM zero, 40, ->lb0
        B.DIM zero, 24, ->lb1
        B.IOR [s0, s1, zero], ->zero
        B.IOT m#1, mask=1000, last
        C.BSTOP

        .globl cross_model_stop
cross_model_stop:
        C.BSTOP

        .data
        .balign 8
at_a:           .quad a
at_a_scales:    .quad a_scales
at_b:           .quad b
at_b_scales:    .quad b_scales
at_result:      .quad cross_model_result

        .bss
        .balign 8
a:              .space 3072
b:              .space 5120
a_scales:       .space 96
b_scales:       .space 160
        .globl cross_model_result, cross_model_result_size
cross_model_result:
        .space 3840
        .set cross_model_result_size, 3840
