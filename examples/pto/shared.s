# SPDX-License-Identifier: Apache-2.0
# Products with a shared operand. B (32 x 32 bytes) becomes a shared tile that all four processing elements
# have; A (16 x 32) and a vector are multiplied by it. Then a masked gather takes those words of the first
# row of the product from memory that are greater than zero.
#
# A local tile becomes a shared one by TMOV.L2S.PUBLISH, and a local copy comes back by TMOV.S2L.BROADCAST;
# TMATMUL takes its right operand from B.IOS instead of B.IOT. Shared operands lie by rows, and all three
# dimensions are powers of two.

        .text
        .globl _start
_start: C.BSTART.STD FALL
        ld.pcr [at_b], ->a1
        hl.addi zero, 1568, ->a2        # bytes of B, of A and of the vector
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

        C.BSTART.STD FALL
        ld.pcr [at_b], ->a1
        addi zero, 32, ->a2             # bytes from row to row of A and B
        hl.addi a1, 1024, ->a3          # A
        hl.addi a1, 1536, ->a4          # the vector
        ld.pcr [at_result], ->a5
        addi zero, 128, ->a6            # bytes from row to row of the results
        hl.addi a5, 2048, ->a7          # the product of the vector
        hl.addi a7, 128, ->s0           # B again
        hl.addi s0, 1024, ->s1          # what was gathered
        C.BSTOP

        BSTART.TLOAD S8                 # t#1: B by rows
        B.DIM zero, 32, ->lb0
        B.DIM zero, 32, ->lb1
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1111, last, ->t<1KB>
        BSTART.TMOV.L2S.PUBLISH S8      # S1: the same, shared
        B.IOS mask=1111, ->S1<1KB>
        B.IOT t#1, mask=1111, last
        BSTART.TLOAD S8                 # u#1: A in cells
        B.DATR ND2M16, DTYPE_NONE, Zero
        B.DIM zero, 32, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [a3, a2, zero], ->zero
        B.IOT mask=1111, last, ->u<512B>
        BSTART.TMATMUL S8               # m#1: A times B
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 16, ->lb0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 32, ->lb2
        B.IOS S1, mask=1111
        B.IOT u#1, mask=1111, last, ->m<2KB>
        BSTART.TSTORE S32
        B.DATR M162ND, DTYPE_NONE, Zero
        B.DIM zero, 32, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [a5, a6, zero], ->zero
        B.IOT m#1, mask=1111, last

        BSTART.TLOAD S8                 # u#2: the vector; u#3: B in cells (TGEMV takes none that is shared)
        B.DATR ND2M16, DTYPE_NONE, Zero
        B.DIM zero, 32, ->lb0
        B.DIM zero, 1, ->lb1
        B.IOR [a4, a2, zero], ->zero
        B.IOT mask=1111, last, ->u<512B>
        BSTART.TLOAD S8
        B.DATR ND2N8, DTYPE_NONE, Zero
        B.DIM zero, 32, ->lb0
        B.DIM zero, 32, ->lb1
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1111, last, ->u<1KB>
        BSTART.TGEMV S8                 # m#2: the vector times B
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 32, ->lb1
        B.DIM zero, 32, ->lb2
        B.IOT u#2, u#3, mask=1111, last, ->m<2KB>
        BSTART.TSTORE S32
        B.DATR M162ND, DTYPE_NONE, Zero
        B.DIM zero, 32, ->lb0
        B.DIM zero, 1, ->lb1
        B.IOR [a7, a6, zero], ->zero
        B.IOT m#2, mask=1111, last

        BSTART.TMOV.S2L.BROADCAST S8    # n#1: B as it was shared
        B.DIM zero, 32, ->lb0
        B.DIM zero, 32, ->lb1
        B.IOS S1, mask=1111
        B.IOT mask=1111, last, ->n<1KB>
        BSTART.TMOV S8                  # n#2: a copy of that
        B.IOT n#1, mask=1111, last, ->n<1KB>
        BSTART.TSTORE S8
        B.DIM zero, 32, ->lb0
        B.DIM zero, 32, ->lb1
        B.IOR [s0, a2, zero], ->zero
        B.IOT n#2, mask=1111, last

        BSTART.TLOAD S32                # t#2: the first row of A times B; t#3: zeros
        B.DIM zero, 32, ->lb0
        B.IOR [a5, a6, zero], ->zero
        B.IOT mask=1111, last, ->t<128B>
        BSTART.VEC TSUB, S32
        B.DIM zero, 32, ->lb0
        B.IOT t#2, t#2, mask=1111, last, ->t<128B>
        BSTART.VEC TCMP, S32            # m#3: where it is greater than zero
        B.DATR NORM, FP64, Zero, cmode3
        B.DIM zero, 32, ->lb0
        B.IOT t#2, t#3, mask=1111, last, ->m<128B>
        BSTART.SFU TCI, U32             # t#4: 0, 1, 2 ...
        B.DIM zero, 32, ->lb0
        B.IOT mask=1111, last, ->t<128B>
        BSTART.VEC TADD, U32            # t#5: twice that, t#6: four times, the byte of a word
        B.DIM zero, 32, ->lb0
        B.IOT t#4, t#4, mask=1111, last, ->t<128B>
        BSTART.VEC TADD, U32
        B.DIM zero, 32, ->lb0
        B.IOT t#5, t#5, mask=1111, last, ->t<128B>
        BSTART.MGATHER.MASK S32         # t#7: the words that are greater than zero, others zero
        B.DIM zero, 32, ->lb0
        B.IOR [a5, zero, zero], ->zero
        B.IOT t#6, m#3, mask=1111, last, ->t<128B>
        BSTART.TSTORE S32
        B.DIM zero, 32, ->lb0
        B.IOR [s1, a6, zero], ->zero
        B.IOT t#7, mask=1111, last
        C.BSTOP

        .globl cross_model_stop
cross_model_stop:
        C.BSTOP

        .data
        .balign 8
at_b:           .quad b
at_result:      .quad cross_model_result

        .bss
        .balign 8
b:      .space 1568                     # B, A, the vector
        .balign 8
        .globl cross_model_result, cross_model_result_size
cross_model_result:
        .space 3328                     # A times B, the vector times B, B, what was gathered
        .set cross_model_result_size, 3328
