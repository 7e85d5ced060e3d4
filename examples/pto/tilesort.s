# SPDX-License-Identifier: Apache-2.0
# Sorts 1024 floating-point numbers. TSORT sorts rows of 64 (LB0) and gives the values and, in a second
# result, where they were; TMRGSORT merges two sorted rows into one, so that 16 rows become 8, 4, 2 and 1.
# It wants single rows: the sorted tile goes to memory and comes back row by row.

        .text
        .globl _start
_start: C.BSTART.STD FALL
        ld.pcr [at_numbers], ->a1
        addi zero, 1024, ->a2
        c.movi 1, ->a3                  # state of the generator
        hl.liu 0xBFFFFFFF, ->a4         # keeps the sign, and numbers below 2
        C.BSTOP

fill:   C.BSTART COND, fill
        xor a3, a3<<13, ->a3
        srli a3, 7, ->t
        xor a3, t#1, ->a3
        xor a3, a3<<17, ->a3
        srli a3, 32, ->t
        and t#1, a4, ->t
        swi t#1, [a1, 0]
        addi a1, 4, ->a1
        subi a2, 1, ->a2
        setc.ne a2, zero
        C.BSTOP

        C.BSTART.STD FALL
        ld.pcr [at_numbers], ->a1
        addi zero, 256, ->a2            # bytes from row to row
        ld.pcr [at_result], ->a3
        C.BSTOP

        BSTART.TLOAD FP32               # t#1: 16 rows of 64
        B.DIM zero, 64, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<4KB>
        BSTART.SFU TSORT, FP32          # n#1: each row sorted; n#2: from which columns
        B.DIM zero, 64, ->lb0
        B.IOT t#1, mask=1000, ->n<4KB>
        B.IOT mask=1000, last, ->n<4KB>
        BSTART.TSTORE FP32
        B.DIM zero, 64, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [a1, a2, zero], ->zero
        B.IOT n#1, mask=1000, last
        C.BSTOP

        BSTART.TLOAD FP32               # t#2: row 0
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # t#3: row 1
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # t#4: row 2
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # t#5: row 3
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # t#6: row 4
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # t#7: row 5
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # t#8: row 6
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # t#9: row 7
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->t<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # u#1: row 8
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->u<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # u#2: row 9
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->u<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # u#3: row 10
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->u<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # u#4: row 11
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->u<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # u#5: row 12
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->u<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # u#6: row 13
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->u<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # u#7: row 14
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->u<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP
        BSTART.TLOAD FP32               # u#8: row 15
        B.DIM zero, 64, ->lb0
        B.IOR [a1, a2, zero], ->zero
        B.IOT mask=1000, last, ->u<256B>
        C.BSTART.STD FALL
        addi a1, 256, ->a1
        C.BSTOP

        BSTART.SFU TMRGSORT, FP32       # m#1: 128 numbers
        B.IOT t#2, t#3, mask=1000, last, ->m<512B>
        BSTART.SFU TMRGSORT, FP32       # m#2: 128 numbers
        B.IOT t#4, t#5, mask=1000, last, ->m<512B>
        BSTART.SFU TMRGSORT, FP32       # m#3: 128 numbers
        B.IOT t#6, t#7, mask=1000, last, ->m<512B>
        BSTART.SFU TMRGSORT, FP32       # m#4: 128 numbers
        B.IOT t#8, t#9, mask=1000, last, ->m<512B>
        BSTART.SFU TMRGSORT, FP32       # m#5: 128 numbers
        B.IOT u#1, u#2, mask=1000, last, ->m<512B>
        BSTART.SFU TMRGSORT, FP32       # m#6: 128 numbers
        B.IOT u#3, u#4, mask=1000, last, ->m<512B>
        BSTART.SFU TMRGSORT, FP32       # m#7: 128 numbers
        B.IOT u#5, u#6, mask=1000, last, ->m<512B>
        BSTART.SFU TMRGSORT, FP32       # m#8: 128 numbers
        B.IOT u#7, u#8, mask=1000, last, ->m<512B>
        BSTART.SFU TMRGSORT, FP32       # n#3: 256 numbers
        B.IOT m#1, m#2, mask=1000, last, ->n<1KB>
        BSTART.SFU TMRGSORT, FP32       # n#4: 256 numbers
        B.IOT m#3, m#4, mask=1000, last, ->n<1KB>
        BSTART.SFU TMRGSORT, FP32       # n#5: 256 numbers
        B.IOT m#5, m#6, mask=1000, last, ->n<1KB>
        BSTART.SFU TMRGSORT, FP32       # n#6: 256 numbers
        B.IOT m#7, m#8, mask=1000, last, ->n<1KB>
        BSTART.SFU TMRGSORT, FP32       # n#7: 512 numbers
        B.IOT n#3, n#4, mask=1000, last, ->n<2KB>
        BSTART.SFU TMRGSORT, FP32       # n#8: 512 numbers
        B.IOT n#5, n#6, mask=1000, last, ->n<2KB>
        BSTART.SFU TMRGSORT, FP32       # n#9: 1024 numbers
        B.IOT n#7, n#8, mask=1000, last, ->n<4KB>

        BSTART.TSTORE FP32
        B.DIM zero, 1024, ->lb0
        B.IOR [a3, a2, zero], ->zero
        B.IOT n#9, mask=1000, last
        C.BSTOP

        .globl cross_model_stop
cross_model_stop:
        C.BSTOP

        .data
        .balign 8
at_numbers:     .quad numbers
at_result:      .quad cross_model_result

        .bss
        .balign 8
numbers:        .space 4096
        .globl cross_model_result, cross_model_result_size
cross_model_result:
        .space 4096
        .set cross_model_result_size, 4096
