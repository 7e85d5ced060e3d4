# SPDX-License-Identifier: Apache-2.0
# A general queue between a producer and a consumer that take turns: the producer pushes until the
# queue is full (every fifth value at the head), the consumer takes five values, until 1000 values
# have gone through. Then the queue is suspended, and a push is refused. The result is the values in
# the order in which they came out, and the three last results of the queue.
#
# Bits 63:62 of a result are the status (0 done, 1 not now, 2 no such queue); the low bits are the room
# left after a push, and the number of entries left after a pop.

        .text
        .globl _start
_start: C.BSTART.STD FALL
        c.movi 12, ->a1                 # capacity
        hl.addi zero, 0x4000, ->a2      # address of the queue: only a name
        ld.pcr [at_result], ->a3
        c.movi 0, ->a4                  # next value
        addi zero, 1000, ->a5           # values still to be taken
        c.movi 5, ->a7                  # until a value goes to the head
        C.BSTOP
        HL.QMT.ie a2, a1, ->zero        # initialise it, and tell who listens

fill:   C.BSTART COND, head
        subi a7, 1, ->a7
        setc.eq a7, zero
        C.BSTOP
        HL.QPUSH a2, a4, ->s0
        C.BSTART DIRECT, pushed
        C.BSTOP
head:   C.BSTART.STD FALL
        c.movi 5, ->a7
        C.BSTOP
        HL.QPUSH.h a2, a4, ->s0
pushed: C.BSTART COND, fill             # the result is the room that is left; zero: full
        addi a4, 1, ->a4
        setc.ne s0, zero
        C.BSTOP

        C.BSTART.STD FALL
        c.movi 5, ->a6
        C.BSTOP
take:   HL.QPOP a2, ->s1, s2
        C.BSTART COND, take
        sdi s1, [a3, 0]
        addi a3, 8, ->a3
        subi a5, 1, ->a5
        subi a6, 1, ->a6
        setc.ne a6, zero
        C.BSTOP
        C.BSTART COND, fill
        setc.ne a5, zero
        C.BSTOP

        HL.QMT.s a2, ->s1               # room that is left
        HL.QPUSH a2, a4, ->s2           # refused: suspended
        HL.QPOP.r a3, ->zero, s3        # there is no such queue
        C.BSTART.STD FALL
        sdi s1, [a3, 0]
        sdi s2, [a3, 8]
        sdi s3, [a3, 16]
        C.BSTOP

        .globl cross_model_stop
cross_model_stop:
        C.BSTOP

        .data
        .balign 8
at_result: .quad cross_model_result
        .globl cross_model_result, cross_model_result_size
cross_model_result:
        .space 8024
        .set cross_model_result_size, 8024
