# SPDX-License-Identifier: Apache-2.0
# A program with a trap handler. It sums the words of a list whose pointers are not always aligned: the
# handler aligns the register that was wrong and tries the load again. Another trap, EBREAK, is skipped;
# its tag is in the cause. The result is the sum, the number of misaligned loads, and the tags.
#
# A trap enters the ring that takes it at the address in EVBASE, with the block of the program still
# active; the handler's BSTART.SYS retires it. ACRE gives the saved context back, with what the handler
# changed in the context registers.

        .text
        .globl _start
_start: C.BSTART.SYS FALL
        ld.pcr [at_handler], ->a1
        ssrset a1, EVBASE_ACR0
        C.BSTOP
        C.BSTART.STD FALL
        ld.pcr [at_result], ->s0
        ld.pcr [at_list], ->a2
        c.movi 0, ->a3
        addi zero, 512, ->a4
        C.BSTOP
fill:   C.BSTART COND, fill             # squares
        mul a3, a3, ->t
        sdi t#1, [a2, 0]
        addi a2, 8, ->a2
        addi a3, 1, ->a3
        setc.ne a3, a4
        C.BSTOP
        C.BSTART.STD FALL
        ld.pcr [at_list], ->a2
        addi a2, 3, ->a2                # wrong by three bytes
        c.movi 0, ->a3                  # sum
        addi zero, 200, ->a4
        c.movi 0, ->s1                  # misaligned loads, counted by the handler
        c.movi 0, ->s2                  # tags, likewise
        C.BSTOP

sum:    C.BSTART COND, sum
        ldi [a2, 0], ->a5               # may trap
        add a3, a5, ->a3
        addi a2, 8, ->a2
        andi a4, 7, ->a6                # the step goes wrong by up to seven bytes
        add a2, a6, ->a2
        subi a4, 1, ->a4
        setc.ne a4, zero
        C.BSTOP

        C.BSTART.SYS FALL
        ebreak 5
        ebreak 12
        C.BSTOP

        C.BSTART.STD FALL
        sdi a3, [s0, 0]
        sdi s1, [s0, 8]
        sdi s2, [s0, 16]
        C.BSTOP

        .globl cross_model_stop
cross_model_stop:
        C.BSTOP

# Uses x0 to x3 only, so that the program keeps its registers.
handler:
        C.BSTART.SYS FALL
        ssrget TRAPNO_ACR0, ->x0
        C.BSTOP
        C.BSTART COND, misaligned
        andi x0, 63, ->t
        addi zero, 34, ->u
        setc.eq t#1, u#1
        C.BSTOP

        C.BSTART.SYS FALL               # EBREAK: on with the next instruction
        srli x0, 24, ->t
        andi t#1, 255, ->t
        add s2, t#1, ->s2
        ssrget EBARG_TPC_ACR0, ->x1
        addi x1, 4, ->x1
        ssrset x1, EBARG_TPC_ACR0
        acre 0
        C.BSTOP

misaligned:
        C.BSTART.SYS FALL
        srli a2, 3, ->a2
        slli a2, 3, ->a2
        addi s1, 1, ->s1
        acre 0
        C.BSTOP

        .data
        .balign 8
at_handler: .quad handler
at_list: .quad list
at_result: .quad cross_model_result
list:   .space 4096
        .globl cross_model_result, cross_model_result_size
cross_model_result:
        .space 24
        .set cross_model_result_size, 24
