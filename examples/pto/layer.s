# SPDX-License-Identifier: Apache-2.0
# A fully connected layer, y = x W, for 8 rows of 64 numbers: x comes from memory, W (64 x 32) is there
# already, in tile u#1 and in cells of CUBE_N8. The host puts both there:
#
#     tilery run layer.s --profile ieee --tensor x=FILE:x --tile u#1=ADDRESS:w --out y=FILE:y:f32:8x32
#
# so that a server packs W and nobody repacks it.

        .text
        .globl _start
_start: C.BSTART.STD FALL
        ld.pcr [at_x], ->a0
        ld.pcr [at_y], ->a2
        addi zero, 256, ->a1            # bytes from row to row of x
        addi zero, 128, ->a3            # and of y
        C.BSTOP

        BSTART.TLOAD FP32               # t#1: x, 8 x 64
        B.DATR ND2M16, DTYPE_NONE, Zero
        B.DIM zero, 64, ->lb0
        B.DIM zero, 8, ->lb1
        B.IOR [a0, a1, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        C.BSTOP

        BSTART.TMATMUL FP32             # m#1: 8 x 32, sums over 64
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 8, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOT t#1, u#1, mask=1000, last, ->m<2KB>
        C.BSTOP

        BSTART.TSTORE FP32
        B.DATR M162ND, DTYPE_NONE, Zero
        B.DIM zero, 32, ->lb0
        B.DIM zero, 8, ->lb1
        B.IOR [a2, a3, zero], ->zero
        B.IOT m#1, mask=1000, last
        C.BSTOP

        .globl cross_model_stop
cross_model_stop: C.BSTOP

        .balign 8
at_x:   .quad x
at_y:   .quad y

        .data
        .globl x, y
        .size x, 2048
x:      .zero 2048
        .size y, 1024
y:      .zero 1024
