# SPDX-License-Identifier: Apache-2.0
# One attention head of a real model, for a0 tokens (up to 128) and head a1:
#
#     Q = x Wq + bq,  K = x Wk + bk,  V = x Wv + bv,  S = scale * Q K^T
#     P = exp(S - the largest of its row) / the sum of the row,  O = P V
#
# x has rows of 120 numbers, a head 15. Wq, Wk and Wv of the eight heads stand side by side in one matrix w of
# 120 x 360, which no tile can hold; the program loads the 15 columns of its head, and TLOAD makes cells of
# them. The host brings x, w, the biases and the scale (a number):
#
#     tilery run attention.s --profile ieee --free-at round --arg 61 --arg 3 --from ADDRESS --tensor x=x
#         --tensor w=W --tensor b=b --tensor scale=scale --out o=FILE:o:f32:61x15
#
# A round takes 32 tokens, or what is left: first rounds that make K^T and V of all tokens, then rounds that
# make rows of O. At `round` the host gives all tiles back (--free-at).
#
# Q goes into the next product as it comes from the first one: in cells of CUBE_M32. The sums of S leave
# them for rows, because softmax works by rows, and P returns to cells.

        .text
        .globl _start, round
_start: C.BSTART.STD FALL
        slli a1, 6, ->t
        slli a1, 2, ->u
        sub t#1, u#1, ->s1              # 60 bytes for each head
        ld.pcr [at_w], ->t
        add t#1, s1, ->s2               # Wq of this head,
        addi s2, 480, ->s3              # Wk,
        addi s2, 960, ->s4              # Wv
        ld.pcr [at_b], ->t
        add t#1, s1, ->s5               # bq,
        addi s5, 480, ->s6              # bk,
        addi s5, 960, ->s7              # bv
        ld.pcr [at_x], ->a2             # x: the next rows for K and V
        addi a2, 0, ->s1                # x: the next rows for Q
        ld.pcr [at_kt], ->a3            # K^T: the next columns
        ld.pcr [at_v], ->a4             # V: the next rows
        ld.pcr [at_o], ->s0             # O: the next rows
        addi a0, 0, ->a1                # tokens that K and V lack
        addi a0, 0, ->s8                # and O
        C.BSTOP
        C.BSTART.STD FALL
        addi zero, 480, ->a5            # bytes from row to row of x,
        addi zero, 1440, ->a6           # of w,
        addi zero, 64, ->a7             # of K and V,
        addi zero, 512, ->x0            # of K^T, S and P,
        addi zero, 60, ->x1             # of O
        C.BSTOP

round:  C.BSTART COND, queries
        setc.eq a1, zero
        C.BSTOP

        C.BSTART.STD FALL
        addi zero, 32, ->x2
        cmp.ltu a1, x2, ->t
        csel t#1, a1, x2, ->x2          # tokens of this round
        ld.pcr [at_k], ->x3
        C.BSTOP

        BSTART.TLOAD FP32               # t#1: x
        B.DATR ND2M32, DTYPE_NONE, Zero
        B.DIM zero, 120, ->lb0
        B.DIM x2, 0, ->lb1
        B.IOR [a2, a5, zero], ->zero
        B.IOT mask=1000, last, ->t<16KB>
        BSTART.TLOAD FP32               # u#1: Wk
        B.DATR ND2N8, DTYPE_NONE, Zero
        B.DIM zero, 15, ->lb0
        B.DIM zero, 120, ->lb1
        B.IOR [s3, a6, zero], ->zero
        B.IOT mask=1000, last, ->u<8KB>
        BSTART.TLOAD FP32               # u#2: Wv
        B.DATR ND2N8, DTYPE_NONE, Zero
        B.DIM zero, 15, ->lb0
        B.DIM zero, 120, ->lb1
        B.IOR [s4, a6, zero], ->zero
        B.IOT mask=1000, last, ->u<8KB>
        BSTART.TLOAD FP32               # n#1: bk
        B.DIM zero, 15, ->lb0
        B.DIM zero, 1, ->lb1
        B.DIM zero, 16, ->lb2
        B.IOR [s6, zero, zero], ->zero
        B.IOT mask=1000, last, ->n<128B>
        BSTART.TLOAD FP32               # n#2: bv
        B.DIM zero, 15, ->lb0
        B.DIM zero, 1, ->lb1
        B.DIM zero, 16, ->lb2
        B.IOR [s7, zero, zero], ->zero
        B.IOT mask=1000, last, ->n<128B>
        BSTART.TMATMUL.BIAS FP32        # m#1: K
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM x2, 0, ->lb0
        B.DIM zero, 15, ->lb1
        B.DIM zero, 120, ->lb2
        B.IOT t#1, u#1, mask=1000
        B.IOT n#1, mask=1000, last, ->m<2KB>
        BSTART.TMATMUL.BIAS FP32        # m#2: V
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM x2, 0, ->lb0
        B.DIM zero, 15, ->lb1
        B.DIM zero, 120, ->lb2
        B.IOT t#1, u#2, mask=1000
        B.IOT n#2, mask=1000, last, ->m<2KB>
        BSTART.TSTORE FP32
        B.DATR M322ND, DTYPE_NONE, Zero
        B.DIM zero, 15, ->lb0
        B.DIM x2, 0, ->lb1
        B.IOR [a4, a7, zero], ->zero
        B.IOT m#2, mask=1000, last
        BSTART.TSTORE FP32
        B.DATR M322ND, DTYPE_NONE, Zero
        B.DIM zero, 15, ->lb0
        B.DIM x2, 0, ->lb1
        B.IOR [x3, a7, zero], ->zero
        B.IOT m#1, mask=1000, last
        BSTART.TLOAD FP32               # m#3: K by rows,
        B.DIM zero, 15, ->lb0
        B.DIM x2, 0, ->lb1
        B.DIM zero, 16, ->lb2
        B.IOR [x3, a7, zero], ->zero
        B.IOT mask=1000, last, ->m<2KB>
        BSTART.SFU TTRANS, FP32         # m#4: and as columns
        B.DIM x2, 0, ->lb0
        B.DIM zero, 15, ->lb1
        B.DIM zero, 32, ->lb2
        B.IOT m#3, mask=1000, last, ->m<2KB>
        BSTART.TSTORE FP32
        B.DIM x2, 0, ->lb0
        B.DIM zero, 15, ->lb1
        B.DIM zero, 32, ->lb2
        B.IOR [a3, x0, zero], ->zero
        B.IOT m#4, mask=1000, last
        C.BSTOP

        C.BSTART DIRECT, round
        hl.addi a2, 15360, ->a2         # 32 tokens further
        addi a3, 128, ->a3
        addi a4, 2048, ->a4
        sub a1, x2, ->a1
        C.BSTOP

queries:
        C.BSTART.STD FALL
        addi zero, 32, ->x2
        cmp.ltu s8, x2, ->t
        csel t#1, s8, x2, ->x2          # tokens of this round
        ld.pcr [at_kt], ->a3
        ld.pcr [at_v], ->a4
        C.BSTOP
        C.BSTART.STD FALL
        ld.pcr [at_s], ->a2
        ld.pcr [at_scale], ->t
        lwui [t#1, 0], ->x3
        C.BSTOP

        BSTART.TLOAD FP32               # t#1: x
        B.DATR ND2M32, DTYPE_NONE, Zero
        B.DIM zero, 120, ->lb0
        B.DIM x2, 0, ->lb1
        B.IOR [s1, a5, zero], ->zero
        B.IOT mask=1000, last, ->t<16KB>
        BSTART.TLOAD FP32               # u#1: Wq
        B.DATR ND2N8, DTYPE_NONE, Zero
        B.DIM zero, 15, ->lb0
        B.DIM zero, 120, ->lb1
        B.IOR [s2, a6, zero], ->zero
        B.IOT mask=1000, last, ->u<8KB>
        BSTART.TLOAD FP32               # n#1: bq
        B.DIM zero, 15, ->lb0
        B.DIM zero, 1, ->lb1
        B.DIM zero, 16, ->lb2
        B.IOR [s5, zero, zero], ->zero
        B.IOT mask=1000, last, ->n<128B>
        BSTART.TMATMUL.BIAS FP32        # m#1: Q
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM x2, 0, ->lb0
        B.DIM zero, 15, ->lb1
        B.DIM zero, 120, ->lb2
        B.IOT t#1, u#1, mask=1000
        B.IOT n#1, mask=1000, last, ->m<2KB>

        BSTART.TLOAD FP32               # u#2: K^T of all tokens
        B.DATR ND2N8, DTYPE_NONE, Zero
        B.DIM a0, 0, ->lb0
        B.DIM zero, 15, ->lb1
        B.IOR [a3, x0, zero], ->zero
        B.IOT mask=1000, last, ->u<8KB>
        BSTART.TMATMUL FP32             # m#2: Q K^T
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM x2, 0, ->lb0
        B.DIM a0, 0, ->lb1
        B.DIM zero, 15, ->lb2
        B.IOT m#1, u#2, mask=1000, last, ->m<16KB>
        BSTART.TSTORE FP32
        B.DATR M322ND, DTYPE_NONE, Zero
        B.DIM a0, 0, ->lb0
        B.DIM x2, 0, ->lb1
        B.IOR [a2, x0, zero], ->zero
        B.IOT m#2, mask=1000, last

        BSTART.TLOAD FP32               # t#2: by rows
        B.DIM a0, 0, ->lb0
        B.DIM x2, 0, ->lb1
        B.DIM zero, 128, ->lb2
        B.IOR [a2, x0, zero], ->zero
        B.IOT mask=1000, last, ->t<16KB>
        BSTART.VEC TMULS, FP32          # t#3: S
        B.DIM a0, 0, ->lb0
        B.DIM x2, 0, ->lb1
        B.DIM zero, 128, ->lb2
        B.IOR [x3, zero, zero], ->zero
        B.IOT t#2, mask=1000, last, ->t<16KB>
        BSTART.SFU TROWMAX, FP32        # n#2: the largest of each row
        B.DIM a0, 0, ->lb0
        B.DIM x2, 0, ->lb1
        B.DIM zero, 128, ->lb2
        B.IOT t#3, mask=1000, last, ->n<128B>
        BSTART.SFU TROWEXPANDSUB, FP32  # t#4: how far below it
        B.DIM a0, 0, ->lb0
        B.DIM x2, 0, ->lb1
        B.DIM zero, 128, ->lb2
        B.IOT t#3, n#2, mask=1000, last, ->t<16KB>
        BSTART.SFU TEXP, FP32           # t#5
        B.IOT t#4, mask=1000, last, ->t<16KB>
        BSTART.SFU TROWSUM, FP32        # n#3: the sum of each row
        B.DIM a0, 0, ->lb0
        B.DIM x2, 0, ->lb1
        B.DIM zero, 128, ->lb2
        B.IOT t#5, mask=1000, last, ->n<128B>
        BSTART.SFU TROWEXPANDDIV, FP32  # t#6: P
        B.DIM a0, 0, ->lb0
        B.DIM x2, 0, ->lb1
        B.DIM zero, 128, ->lb2
        B.IOT t#5, n#3, mask=1000, last, ->t<16KB>
        BSTART.TSTORE FP32
        B.DIM a0, 0, ->lb0
        B.DIM x2, 0, ->lb1
        B.DIM zero, 128, ->lb2
        B.IOR [a2, x0, zero], ->zero
        B.IOT t#6, mask=1000, last

        BSTART.TLOAD FP32               # t#7: P in cells
        B.DATR ND2M32, DTYPE_NONE, Zero
        B.DIM a0, 0, ->lb0
        B.DIM x2, 0, ->lb1
        B.IOR [a2, x0, zero], ->zero
        B.IOT mask=1000, last, ->t<16KB>
        BSTART.TLOAD FP32               # u#3: V of all tokens
        B.DATR ND2N8, DTYPE_NONE, Zero
        B.DIM zero, 15, ->lb0
        B.DIM a0, 0, ->lb1
        B.IOR [a4, a7, zero], ->zero
        B.IOT mask=1000, last, ->u<8KB>
        BSTART.TMATMUL FP32             # m#3: O
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM x2, 0, ->lb0
        B.DIM zero, 15, ->lb1
        B.DIM a0, 0, ->lb2
        B.IOT t#7, u#3, mask=1000, last, ->m<2KB>
        BSTART.TSTORE FP32
        B.DATR M322ND, DTYPE_NONE, Zero
        B.DIM zero, 15, ->lb0
        B.DIM x2, 0, ->lb1
        B.IOR [s0, x1, zero], ->zero
        B.IOT m#3, mask=1000, last
        C.BSTOP

        C.BSTART COND, round
        hl.addi s1, 15360, ->s1         # 32 tokens further
        addi s0, 1920, ->s0
        sub s8, x2, ->s8
        setc.ne s8, zero
        C.BSTOP

        .globl cross_model_stop
cross_model_stop: C.BSTOP

        .data
        .balign 8
at_x:   .quad x
at_w:   .quad w
at_b:   .quad b
at_scale: .quad scale
at_k:   .quad k
at_kt:  .quad kt
at_v:   .quad v
at_s:   .quad s
at_o:   .quad o

        .bss
        .balign 64
        .globl x, w, b, scale, k, kt, v, s, o
x:      .space 61440                    # 128 x 120
        .size x, 61440
w:      .space 172800                   # 120 x 360
        .size w, 172800
b:      .space 1440
        .size b, 1440
scale:  .space 4
        .size scale, 4
        .balign 64
k:      .space 2048                     # 32 x 16: K of one round
kt:     .space 8192                     # 16 x 128
v:      .space 8192                     # 128 x 16
s:      .space 16384                    # 32 x 128: S, then P, of one round
o:      .space 7680                     # 128 x 15
        .size o, 7680
