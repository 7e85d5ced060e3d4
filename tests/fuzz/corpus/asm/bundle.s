BSTART.VEC TADD, FP32
B.IOT t#1, u#2, mask=1111, last, ->m<8KB>
B.DATR ND2NZ, FP16, Max, cmode5, rmode6, sat
BSTOP
