.set a, (1<<4)+'A'
.byte a
.fill 2,2,a
.balign 8
.section .x,"aw",@nobits
.zero 4
