# SPDX-License-Identifier: Apache-2.0
# Multiplies A (35 x 700 bytes) by B (700 x 100 bytes, more than a tile can hold) in blocks, with a short
# last block in each of the three dimensions:
#
#     rows of A        32 + 3
#     columns of B     64 + 36
#     sums over        512 + 188
#
# A block of A lies in cells of CUBE_M32 or, up to 16 rows, CUBE_M16; one of B in cells of CUBE_N8. TLOAD
# makes them from memory (ND2M32 and so on), and TSTORE brings a result back from its cells (M322ND). The
# first product of a block of C makes a tile, the second one takes it as its accumulator and makes another.
#
# B.FPATR says what becomes of the sums; all zero, they are stored as they are, in S32.
#
# Tiles: t has the blocks of A, u those of B, m the first sums and n the results. No instruction gives a
# tile back, so they have to fit all together: 172 of 256 KiB.

        .text
        .globl _start
_start: C.BSTART.STD FALL
        ld.pcr [at_a], ->a1
        hl.addi zero, 94500, ->a2       # bytes of A and of B behind it
        c.movi 1, ->a3                  # state of the generator
        C.BSTOP

fill:   C.BSTART COND, fill
        xor a3, a3<<13, ->a3
        srli a3, 7, ->t
        xor a3, t#1, ->a3
        xor a3, a3<<17, ->a3
        srli a3, 56, ->t
        sbi t#1, [a1, 0]
        addi a1, 1, ->a1
        subi a2, 1, ->a2
        setc.ne a2, zero
        C.BSTOP

        C.BSTART.STD FALL               # a2, a3, a4: bytes from row to row of A, B and C
        addi zero, 700, ->a2
        addi zero, 100, ->a3
        addi zero, 400, ->a4
        ld.pcr [at_a], ->a1
        hl.addi a1, 0, ->a5             # A from row 0, column 0
        hl.addi a1, 512, ->a6           # A from row 0, column 512
        hl.addi a1, 22400, ->a7         # A from row 32, column 0
        hl.addi a1, 22912, ->s0         # A from row 32, column 512
        ld.pcr [at_b], ->a1
        hl.addi a1, 0, ->s1             # B from row 0, column 0
        hl.addi a1, 64, ->s2            # B from row 0, column 64
        hl.addi a1, 51200, ->s3         # B from row 512, column 0
        hl.addi a1, 51264, ->s4         # B from row 512, column 64
        ld.pcr [at_result], ->a1
        hl.addi a1, 0, ->s5             # C from row 0, column 0
        hl.addi a1, 256, ->s6           # C from row 0, column 64
        hl.addi a1, 12800, ->s7         # C from row 32, column 0
        hl.addi a1, 13056, ->s8         # C from row 32, column 64
        C.BSTOP

        BSTART.TLOAD S8                 # t#1: 32 x 512 of A
        B.DATR ND2M32, DTYPE_NONE, Zero
        B.DIM zero, 512, ->lb0
        B.DIM zero, 32, ->lb1
        B.IOR [a5, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<16KB>

        BSTART.TLOAD S8                 # t#2: 32 x 188 of A
        B.DATR ND2M32, DTYPE_NONE, Zero
        B.DIM zero, 188, ->lb0
        B.DIM zero, 32, ->lb1
        B.IOR [a6, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<8KB>

        BSTART.TLOAD S8                 # t#3: 3 x 512 of A
        B.DATR ND2M16, DTYPE_NONE, Zero
        B.DIM zero, 512, ->lb0
        B.DIM zero, 3, ->lb1
        B.IOR [a7, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<8KB>

        BSTART.TLOAD S8                 # t#4: 3 x 188 of A
        B.DATR ND2M16, DTYPE_NONE, Zero
        B.DIM zero, 188, ->lb0
        B.DIM zero, 3, ->lb1
        B.IOR [s0, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>

        BSTART.TLOAD S8                 # u#1: 512 x 64 of B
        B.DATR ND2N8, DTYPE_NONE, Zero
        B.DIM zero, 64, ->lb0
        B.DIM zero, 512, ->lb1
        B.IOR [s1, a3, zero], ->zero
        B.IOT mask=1000, last, ->u<32KB>

        BSTART.TLOAD S8                 # u#2: 512 x 36 of B
        B.DATR ND2N8, DTYPE_NONE, Zero
        B.DIM zero, 36, ->lb0
        B.DIM zero, 512, ->lb1
        B.IOR [s2, a3, zero], ->zero
        B.IOT mask=1000, last, ->u<32KB>

        BSTART.TLOAD S8                 # u#3: 188 x 64 of B
        B.DATR ND2N8, DTYPE_NONE, Zero
        B.DIM zero, 64, ->lb0
        B.DIM zero, 188, ->lb1
        B.IOR [s3, a3, zero], ->zero
        B.IOT mask=1000, last, ->u<16KB>

        BSTART.TLOAD S8                 # u#4: 188 x 36 of B
        B.DATR ND2N8, DTYPE_NONE, Zero
        B.DIM zero, 36, ->lb0
        B.DIM zero, 188, ->lb1
        B.IOR [s4, a3, zero], ->zero
        B.IOT mask=1000, last, ->u<8KB>

        BSTART.TMATMUL S8               # 32 x 64 of C: the first 512 products,
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 32, ->lb0
        B.DIM zero, 64, ->lb1
        B.DIM zero, 512, ->lb2
        B.IOT t#1, u#1, mask=1000, last, ->m<8KB>
        BSTART.TMATMUL.ACC S8           # and the other 188 on top
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 32, ->lb0
        B.DIM zero, 64, ->lb1
        B.DIM zero, 188, ->lb2
        B.IOT m#1, t#2, mask=1000
        B.IOT u#3, mask=1000, last, ->n<8KB>
        BSTART.TSTORE S32
        B.DATR M322ND, DTYPE_NONE, Zero
        B.DIM zero, 64, ->lb0
        B.DIM zero, 32, ->lb1
        B.IOR [s5, a4, zero], ->zero
        B.IOT n#1, mask=1000, last

        BSTART.TMATMUL S8               # 32 x 36 of C: the first 512 products,
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 32, ->lb0
        B.DIM zero, 36, ->lb1
        B.DIM zero, 512, ->lb2
        B.IOT t#1, u#2, mask=1000, last, ->m<8KB>
        BSTART.TMATMUL.ACC S8           # and the other 188 on top
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 32, ->lb0
        B.DIM zero, 36, ->lb1
        B.DIM zero, 188, ->lb2
        B.IOT m#2, t#2, mask=1000
        B.IOT u#4, mask=1000, last, ->n<8KB>
        BSTART.TSTORE S32
        B.DATR M322ND, DTYPE_NONE, Zero
        B.DIM zero, 36, ->lb0
        B.DIM zero, 32, ->lb1
        B.IOR [s6, a4, zero], ->zero
        B.IOT n#2, mask=1000, last

        BSTART.TMATMUL S8               # 3 x 64 of C: the first 512 products,
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 3, ->lb0
        B.DIM zero, 64, ->lb1
        B.DIM zero, 512, ->lb2
        B.IOT t#3, u#1, mask=1000, last, ->m<4KB>
        BSTART.TMATMUL.ACC S8           # and the other 188 on top
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 3, ->lb0
        B.DIM zero, 64, ->lb1
        B.DIM zero, 188, ->lb2
        B.IOT m#3, t#4, mask=1000
        B.IOT u#3, mask=1000, last, ->n<4KB>
        BSTART.TSTORE S32
        B.DATR M162ND, DTYPE_NONE, Zero
        B.DIM zero, 64, ->lb0
        B.DIM zero, 3, ->lb1
        B.IOR [s7, a4, zero], ->zero
        B.IOT n#3, mask=1000, last

        BSTART.TMATMUL S8               # 3 x 36 of C: the first 512 products,
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 3, ->lb0
        B.DIM zero, 36, ->lb1
        B.DIM zero, 512, ->lb2
        B.IOT t#3, u#2, mask=1000, last, ->m<4KB>
        BSTART.TMATMUL.ACC S8           # and the other 188 on top
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 3, ->lb0
        B.DIM zero, 36, ->lb1
        B.DIM zero, 188, ->lb2
        B.IOT m#4, t#4, mask=1000
        B.IOT u#4, mask=1000, last, ->n<4KB>
        BSTART.TSTORE S32
        B.DATR M162ND, DTYPE_NONE, Zero
        B.DIM zero, 36, ->lb0
        B.DIM zero, 3, ->lb1
        B.IOR [s8, a4, zero], ->zero
        B.IOT n#4, mask=1000, last
        C.BSTOP

        .globl cross_model_stop
cross_model_stop:
        C.BSTOP

        .data
        .balign 8
at_a:           .quad a
at_b:           .quad b
at_result:      .quad cross_model_result

        .bss
        .balign 8
a:      .space 24500
b:      .space 70000
        .balign 8
        .globl cross_model_result, cross_model_result_size
cross_model_result:
        .space 14000
        .set cross_model_result_size, 14000
