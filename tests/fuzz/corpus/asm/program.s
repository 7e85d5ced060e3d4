_start: BSTART.STD COND, 1f
 addi zero, 64, ->t
1: C.BSTOP
.data
.quad _start+4, 1b-_start
.asciz "a\n"
