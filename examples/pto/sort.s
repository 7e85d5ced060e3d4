# SPDX-License-Identifier: Apache-2.0
# Quicksort of 1000 signed words, by recursion: FENTRY saves registers in a frame and FRET.STK brings
# them back and returns. The frame templates move R2, which assembly text calls a0, so it is the stack
# pointer here.
#
# BSTART.CALL takes the function and the address to return to; the call happens at its stop.

        .text
        .globl _start
_start: C.BSTART.STD FALL
        ld.pcr [at_stack], ->a0
        ld.pcr [at_result], ->a1
        c.movr a1, ->a2
        addi zero, 1000, ->a3
        c.movi 1, ->a4                  # state of the generator
        C.BSTOP

fill:   C.BSTART COND, fill
        xor a4, a4<<13, ->a4
        srli a4, 7, ->t
        xor a4, t#1, ->a4
        xor a4, a4<<17, ->a4
        srli a4, 32, ->t
        swi t#1, [a2, 0]
        addi a2, 4, ->a2
        subi a3, 1, ->a3
        setc.ne a3, zero
        C.BSTOP

        C.BSTART.STD FALL
        subi a2, 4, ->a2
        C.BSTOP
        BSTART.CALL sort, sorted, ->ra
        C.BSTOP
sorted: C.BSTART DIRECT, cross_model_stop
        C.BSTOP

# Sorts the words from a1 to a2, both included. The pivot is the word in the middle.
sort:   FENTRY [ra ~ s3], sp!, 40
        C.BSTART COND, return           # nothing to do for one word or none
        setc.geu a1, a2
        C.BSTOP

        C.BSTART.STD FALL
        c.movr a1, ->s1                 # i
        c.movr a2, ->s2                 # j
        c.movr a2, ->s3                 # end
        c.movr a1, ->s0                 # begin
        sub a2, a1, ->t
        srli t#1, 3, ->t
        slli t#1, 2, ->t
        add a1, t#1, ->t
        lwi [t#1, 0], ->a5              # pivot
        C.BSTOP

up:     C.BSTART COND, up               # i goes up to a word that is not below the pivot
        lwi [s1, 0], ->a6
        addi s1, 4, ->s1
        setc.lt a6, a5
        C.BSTOP
down:   C.BSTART COND, down             # j goes down to a word that is not above it
        lwi [s2, 0], ->a7
        subi s2, 4, ->s2
        setc.lt a5, a7
        C.BSTOP
        C.BSTART COND, undo             # both stepped on: the words are at s1 - 4 and s2 + 4
        addi s2, 8, ->t
        setc.ltu t#1, s1
        C.BSTOP
        C.BSTART COND, up
        swi a7, [s1, -4]
        swi a6, [s2, 4]
        setc.geu s2, s1
        C.BSTOP
        C.BSTART DIRECT, crossed
        C.BSTOP
undo:   C.BSTART.STD FALL               # they had passed each other before
        subi s1, 4, ->s1
        addi s2, 4, ->s2
        C.BSTOP
crossed:
        C.BSTART.STD FALL
        c.movr s0, ->a1
        c.movr s2, ->a2
        C.BSTOP
        BSTART.CALL sort, right, ->ra
        C.BSTOP
right:  C.BSTART.STD FALL
        c.movr s1, ->a1
        c.movr s3, ->a2
        C.BSTOP
        BSTART.CALL sort, return, ->ra
        C.BSTOP
return: FRET.STK [ra ~ s3], sp!, 40

        .globl cross_model_stop
cross_model_stop:
        C.BSTOP

        .data
        .balign 8
at_result: .quad cross_model_result
at_stack: .quad stack
        .globl cross_model_result, cross_model_result_size
cross_model_result:
        .space 4000
        .set cross_model_result_size, 4000

        .bss
        .balign 8
        .space 65536
stack:
