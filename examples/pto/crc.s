# SPDX-License-Identifier: Apache-2.0
# CRC-32 (the one of zlib) of 10000 bytes: builds the table of 256 words, then takes a byte a time.
# The result is the table, and the checksum behind it.

        .text
        .globl _start
_start: C.BSTART.STD FALL
        hl.liu 0xEDB88320, ->s1         # the polynomial, reflected
        ld.pcr [at_result], ->a2
        c.movi 0, ->a1                  # number of the entry
        C.BSTOP

entry:  C.BSTART.STD FALL
        c.movr a1, ->a3
        c.movi 8, ->a4
        C.BSTOP

bit:    C.BSTART COND, bit
        andi a3, 1, ->t
        sub zero, t#1, ->t              # all ones where the lowest bit is set
        and t#1, s1, ->t
        srli a3, 1, ->a3
        xor a3, t#1, ->a3
        subi a4, 1, ->a4
        setc.ne a4, zero
        C.BSTOP

        C.BSTART COND, entry
        sw a3, [a2, a1<<2]
        addi a1, 1, ->a1
        addi zero, 256, ->t
        setc.ne a1, t#1
        C.BSTOP

        C.BSTART.STD FALL
        hl.liu 0xFFFFFFFF, ->a3         # the checksum
        c.movi 1, ->a4                  # state of the generator
        hl.addi zero, 10000, ->a5
        C.BSTOP

byte:   C.BSTART COND, byte
        xor a4, a4<<13, ->a4
        srli a4, 7, ->t
        xor a4, t#1, ->a4
        xor a4, a4<<17, ->a4
        srli a4, 56, ->t                # the byte
        xor a3, t#1, ->t
        andi t#1, 255, ->t
        lwu [a2, t#1<<2], ->t
        srli a3, 8, ->a3
        xor a3, t#1, ->a3
        subi a5, 1, ->a5
        setc.ne a5, zero
        C.BSTOP

        C.BSTART.STD FALL
        hl.liu 0xFFFFFFFF, ->t
        xor a3, t#1, ->a3
        addi a2, 1024, ->t
        swi a3, [t#1, 0]
        C.BSTOP

        .globl cross_model_stop
cross_model_stop:
        C.BSTOP

        .data
        .balign 8
at_result: .quad cross_model_result
        .globl cross_model_result, cross_model_result_size
cross_model_result:
        .space 1028
        .set cross_model_result_size, 1028
