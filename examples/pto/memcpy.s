# SPDX-License-Identifier: Apache-2.0
# Copies 4099 bytes twice: word by word with a tail of bytes, and by the template MCOPY. Both copies
# are the result. The bytes come from a generator (xorshift, the top byte of each step).
#
# A loop is a block that begins with COND and its own address: where the body sets the condition, the
# stop goes back to the label, else on behind itself.

        .text
        .globl _start
_start: C.BSTART.STD FALL
        ld.pcr [at_source], ->a1
        hl.addi zero, 4099, ->a2
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
        ld.pcr [at_source], ->a1
        ld.pcr [at_result], ->a2
        hl.addi zero, 4099, ->a4
        C.BSTOP

words:  C.BSTART COND, words            # while at least eight bytes are left
        ldi [a1, 0], ->t
        sdi t#1, [a2, 0]
        addi a1, 8, ->a1
        addi a2, 8, ->a2
        subi a4, 8, ->a4
        c.movi 8, ->t
        setc.geu a4, t#1
        C.BSTOP

bytes:  C.BSTART COND, bytes
        lbui [a1, 0], ->t
        sbi t#1, [a2, 0]
        addi a1, 1, ->a1
        addi a2, 1, ->a2
        subi a4, 1, ->a4
        setc.ne a4, zero
        C.BSTOP

        C.BSTART.STD FALL               # a2 stands behind the first copy
        ld.pcr [at_source], ->a1
        hl.addi zero, 4099, ->a4
        C.BSTOP
        MCOPY [a2, a1, a4]

        .globl cross_model_stop
cross_model_stop:
        C.BSTOP

        .data
        .balign 8
at_result: .quad cross_model_result
at_source: .quad source
source: .space 4099
        .balign 8
        .globl cross_model_result, cross_model_result_size
cross_model_result:
        .space 8198
        .set cross_model_result_size, 8198
