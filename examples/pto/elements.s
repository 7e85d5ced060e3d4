# SPDX-License-Identifier: Apache-2.0
# Multiplies A (64 x 64 bytes) by B (64 x 64 bytes) on as many processing elements as run it: one machine
# alone, or two to four of a team (tilery run --pes 4 --threads 2). The product is always the same.
#
# Element 0 makes the matrices, and the others wait until it has told them, by an atomic addition that
# adds nothing. Then every element loads B into a tile of its own, and takes blocks of 16 rows of A from
# a counter until there are none. Who gets which block depends on the order of the additions, which is
# the same with any number of threads.
#
# No instruction gives a tile back, so each round of an element has tiles of its own.

        .text
        .globl _start
_start: C.BSTART.SYS FALL
        ssrget THREAD_ID, ->a0          # which element this is
        C.BSTOP
        C.BSTART.STD FALL
        ld.pcr [at_a], ->a1
        hl.addi a1, 4096, ->a2          # B
        ld.pcr [at_result], ->a3
        ld.pcr [at_ready], ->a4
        c.movi 4, ->a5                  # blocks of rows
        c.movi 1, ->a6
        addi a4, 8, ->a7                # the counter of blocks
        addi zero, 64, ->s3             # bytes from row to row of A and B
        addi zero, 256, ->s4            # and of the result
        C.BSTOP
        C.BSTART COND, wait
        setc.ne a0, zero
        C.BSTOP

        C.BSTART.STD FALL
        c.movi 1, ->s0                  # state of the generator
        hl.addi zero, 8192, ->s1        # bytes of A and of B behind it
        addi a1, 0, ->s2
        C.BSTOP
fill:   C.BSTART COND, fill
        xor s0, s0<<13, ->s0
        srli s0, 7, ->t
        xor s0, t#1, ->s0
        xor s0, s0<<17, ->s0
        srli s0, 56, ->t
        sbi t#1, [s2, 0]
        addi s2, 1, ->s2
        subi s1, 1, ->s1
        setc.ne s1, zero
        C.BSTOP
        C.BSTART.STD FALL
        sd.add [a4], a6                 # ready
        C.BSTOP
wait:   C.BSTART COND, wait
        ld.add [a4], zero, ->s0
        setc.eq s0, zero
        C.BSTOP

        BSTART.TLOAD S8                 # u#1: B
        B.DATR ND2N8, DTYPE_NONE, Zero
        B.DIM zero, 64, ->lb0
        B.DIM zero, 64, ->lb1
        B.IOR [a2, s3, zero], ->zero
        B.IOT mask=1111, last, ->u<4KB>
        C.BSTOP

        C.BSTART.STD FALL               # the next 16 rows that nobody has taken
        ld.add [a7], a6, ->a0
        C.BSTOP
        C.BSTART COND, done
        setc.geu a0, a5
        C.BSTOP
        C.BSTART.STD FALL
        slli a0, 10, ->t                # 16 rows of A
        add a1, t#1, ->s1
        slli a0, 12, ->t                # 16 rows of the result
        add a3, t#1, ->s2
        C.BSTOP
        BSTART.TLOAD S8                 # t#1: 16 x 64 of A
        B.DATR ND2M16, DTYPE_NONE, Zero
        B.DIM zero, 64, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [s1, s3, zero], ->zero
        B.IOT mask=1111, last, ->t<1KB>
        BSTART.TMATMUL S8               # m#1: times B
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 16, ->lb0
        B.DIM zero, 64, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOT t#1, u#1, mask=1111, last, ->m<4KB>
        BSTART.TSTORE S32
        B.DATR M162ND, DTYPE_NONE, Zero
        B.DIM zero, 64, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [s2, s4, zero], ->zero
        B.IOT m#1, mask=1111, last
        C.BSTOP

        C.BSTART.STD FALL               # the next 16 rows that nobody has taken
        ld.add [a7], a6, ->a0
        C.BSTOP
        C.BSTART COND, done
        setc.geu a0, a5
        C.BSTOP
        C.BSTART.STD FALL
        slli a0, 10, ->t                # 16 rows of A
        add a1, t#1, ->s1
        slli a0, 12, ->t                # 16 rows of the result
        add a3, t#1, ->s2
        C.BSTOP
        BSTART.TLOAD S8                 # t#2: 16 x 64 of A
        B.DATR ND2M16, DTYPE_NONE, Zero
        B.DIM zero, 64, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [s1, s3, zero], ->zero
        B.IOT mask=1111, last, ->t<1KB>
        BSTART.TMATMUL S8               # m#2: times B
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 16, ->lb0
        B.DIM zero, 64, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOT t#2, u#1, mask=1111, last, ->m<4KB>
        BSTART.TSTORE S32
        B.DATR M162ND, DTYPE_NONE, Zero
        B.DIM zero, 64, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [s2, s4, zero], ->zero
        B.IOT m#2, mask=1111, last
        C.BSTOP

        C.BSTART.STD FALL               # the next 16 rows that nobody has taken
        ld.add [a7], a6, ->a0
        C.BSTOP
        C.BSTART COND, done
        setc.geu a0, a5
        C.BSTOP
        C.BSTART.STD FALL
        slli a0, 10, ->t                # 16 rows of A
        add a1, t#1, ->s1
        slli a0, 12, ->t                # 16 rows of the result
        add a3, t#1, ->s2
        C.BSTOP
        BSTART.TLOAD S8                 # t#3: 16 x 64 of A
        B.DATR ND2M16, DTYPE_NONE, Zero
        B.DIM zero, 64, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [s1, s3, zero], ->zero
        B.IOT mask=1111, last, ->t<1KB>
        BSTART.TMATMUL S8               # m#3: times B
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 16, ->lb0
        B.DIM zero, 64, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOT t#3, u#1, mask=1111, last, ->m<4KB>
        BSTART.TSTORE S32
        B.DATR M162ND, DTYPE_NONE, Zero
        B.DIM zero, 64, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [s2, s4, zero], ->zero
        B.IOT m#3, mask=1111, last
        C.BSTOP

        C.BSTART.STD FALL               # the next 16 rows that nobody has taken
        ld.add [a7], a6, ->a0
        C.BSTOP
        C.BSTART COND, done
        setc.geu a0, a5
        C.BSTOP
        C.BSTART.STD FALL
        slli a0, 10, ->t                # 16 rows of A
        add a1, t#1, ->s1
        slli a0, 12, ->t                # 16 rows of the result
        add a3, t#1, ->s2
        C.BSTOP
        BSTART.TLOAD S8                 # t#4: 16 x 64 of A
        B.DATR ND2M16, DTYPE_NONE, Zero
        B.DIM zero, 64, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [s1, s3, zero], ->zero
        B.IOT mask=1111, last, ->t<1KB>
        BSTART.TMATMUL S8               # m#4: times B
        B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0
        B.DIM zero, 16, ->lb0
        B.DIM zero, 64, ->lb1
        B.DIM zero, 64, ->lb2
        B.IOT t#4, u#1, mask=1111, last, ->m<4KB>
        BSTART.TSTORE S32
        B.DATR M162ND, DTYPE_NONE, Zero
        B.DIM zero, 64, ->lb0
        B.DIM zero, 16, ->lb1
        B.IOR [s2, s4, zero], ->zero
        B.IOT m#4, mask=1111, last
        C.BSTOP

done:   C.BSTART.STD FALL
        C.BSTOP
        .globl cross_model_stop
cross_model_stop:
        C.BSTOP

        .data
        .balign 8
at_a:           .quad a
at_result:      .quad cross_model_result
at_ready:       .quad ready

        .bss
        .balign 64
a:      .space 8192                     # A and B
ready:  .space 16                       # whether they are there; the next block
        .balign 8
        .globl cross_model_result, cross_model_result_size
cross_model_result:
        .space 16384
        .set cross_model_result_size, 16384
