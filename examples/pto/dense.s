# SPDX-License-Identifier: Apache-2.0
# A fully connected layer of a real model, with its bias and its activation, for as many rows as a0 says:
#
#     y = swish(x W + b),    swish(z) = z / (1 + exp(-z))
#
# x has rows of 120 numbers, y of 240. W (120 x 240) is there already, in cells of CUBE_N8: columns 0 to 119
# in tile u#1, the others in u#2, because a tile holds 64 KiB. The host brings all of it:
#
#     tilery run dense.s --profile ieee --free-at rows --arg 61 --from ADDRESS --tensor x=x
#         --tile u#1,u#2=W --tensor b=b --out y=FILE:y:f32:61x240
#
# Rows are taken 16 at a time, and what is left at the end. No instruction gives a tile back; the host does,
# each time the program comes to `rows` (--free-at), but for W. So every round makes the same tiles anew:
# 218 of 256 KiB.

        .text
        .globl _start, rows
_start: C.BSTART.STD FALL
        addi a0, 0, ->s0                # rows that are left
        ld.pcr [at_x], ->s1
        ld.pcr [at_y], ->s2
        ld.pcr [at_b], ->s3
        addi s3, 480, ->s4              # b from column 120
        addi zero, 480, ->s5            # bytes from row to row of x
        addi zero, 960, ->s6            # and of y
        hl.liu 1065353216, ->s7         # 1.0
        C.BSTOP

rows:   C.BSTART.STD FALL
        addi zero, 16, ->a2
        cmp.ltu s0, a2, ->t
        csel t#1, s0, a2, ->a1          # rows of this round
        addi s2, 480, ->s8              # y from column 120
        C.BSTOP

        BSTART.TLOAD FP32               # t#1: x
        B.DATR ND2M16, DTYPE_NONE, Zero
        B.DIM zero, 120, ->lb0
        B.DIM a1, 0, ->lb1
        B.IOR [s1, s5, zero], ->zero
        B.IOT mask=1000, last, ->t<8KB>
        BSTART.TLOAD FP32               # n#1: b, its first half
        B.DIM zero, 120, ->lb0
        B.DIM zero, 1, ->lb1
        B.DIM zero, 128, ->lb2
        B.IOR [s3, zero, zero], ->zero
        B.IOT mask=1000, last, ->n<512B>
        BSTART.TLOAD FP32               # n#2: and its second
        B.DIM zero, 120, ->lb0
        B.DIM zero, 1, ->lb1
        B.DIM zero, 128, ->lb2
        B.IOR [s4, zero, zero], ->zero
        B.IOT mask=1000, last, ->n<512B>

        BSTART.TMATMUL.BIAS FP32        # m#1: x W + b, columns 0 to 119
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM a1, 0, ->lb0
        B.DIM zero, 120, ->lb1
        B.DIM zero, 120, ->lb2
        B.IOT t#1, u#1, mask=1000
        B.IOT n#1, mask=1000, last, ->m<8KB>
        BSTART.TMATMUL.BIAS FP32        # m#2: columns 120 to 239
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM a1, 0, ->lb0
        B.DIM zero, 120, ->lb1
        B.DIM zero, 120, ->lb2
        B.IOT t#1, u#2, mask=1000
        B.IOT n#2, mask=1000, last, ->m<8KB>
        BSTART.TSTORE FP32              # out of the cells, into rows
        B.DATR M162ND, DTYPE_NONE, Zero
        B.DIM zero, 120, ->lb0
        B.DIM a1, 0, ->lb1
        B.IOR [s2, s6, zero], ->zero
        B.IOT m#1, mask=1000, last
        BSTART.TSTORE FP32
        B.DATR M162ND, DTYPE_NONE, Zero
        B.DIM zero, 120, ->lb0
        B.DIM a1, 0, ->lb1
        B.IOR [s8, s6, zero], ->zero
        B.IOT m#2, mask=1000, last

        BSTART.TLOAD FP32               # m#3: z, now by rows
        B.DIM zero, 240, ->lb0
        B.DIM a1, 0, ->lb1
        B.DIM zero, 256, ->lb2
        B.IOR [s2, s6, zero], ->zero
        B.IOT mask=1000, last, ->m<16KB>
        BSTART.VEC TNEG, FP32           # m#4: -z
        B.DIM zero, 240, ->lb0
        B.DIM a1, 0, ->lb1
        B.DIM zero, 256, ->lb2
        B.IOT m#3, mask=1000, last, ->m<16KB>
        BSTART.SFU TEXP, FP32           # m#5: exp(-z)
        B.IOT m#4, mask=1000, last, ->m<16KB>
        BSTART.VEC TADDS, FP32          # m#6: 1 + exp(-z)
        B.DIM zero, 240, ->lb0
        B.DIM a1, 0, ->lb1
        B.DIM zero, 256, ->lb2
        B.IOR [s7, zero, zero], ->zero
        B.IOT m#5, mask=1000, last, ->m<16KB>
        BSTART.SFU TDIV, FP32           # m#7: z / (1 + exp(-z))
        B.DIM zero, 240, ->lb0
        B.DIM a1, 0, ->lb1
        B.DIM zero, 256, ->lb2
        B.IOT m#3, m#6, mask=1000, last, ->m<16KB>
        BSTART.TSTORE FP32
        B.DIM zero, 240, ->lb0
        B.DIM a1, 0, ->lb1
        B.DIM zero, 256, ->lb2
        B.IOR [s2, s6, zero], ->zero
        B.IOT m#7, mask=1000, last
        C.BSTOP

        C.BSTART COND, rows
        hl.addi s1, 7680, ->s1           # 16 rows further
        hl.addi s2, 15360, ->s2
        sub s0, a1, ->s0
        setc.ne s0, zero
        C.BSTOP

        .globl cross_model_stop
cross_model_stop: C.BSTOP

        .data
        .balign 8
at_x:   .quad x
at_y:   .quad y
at_b:   .quad b

        .bss
        .balign 64
        .globl x, y, b
x:      .space 61440                    # 128 rows
        .size x, 61440
y:      .space 122880
        .size y, 122880
b:      .space 960
        .size b, 960
