#include "textflag.h"

// func sumAVX2(sums *[16]float64, rows *[16]float64, drawn *uint8, n int, numbers *[256]float64)
//
// Products and sums are rounded one by one, in the order of the rows: no multiply-add.
TEXT ·sumAVX2(SB), NOSPLIT, $0-40
	MOVQ sums+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ drawn+16(FP), R8
	MOVQ n+24(FP), CX
	MOVQ numbers+32(FP), R9
	VMOVUPD (DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	VMOVUPD 96(DI), Y3
	ADDQ R8, CX // the end of drawn

next:
	CMPQ R8, CX
	JEQ  done
	MOVBLZX      (R8), AX
	VBROADCASTSD (R9)(AX*8), Y4
	VMULPD (SI), Y4, Y5
	VMULPD 32(SI), Y4, Y6
	VMULPD 64(SI), Y4, Y7
	VMULPD 96(SI), Y4, Y8
	VADDPD Y5, Y0, Y0
	VADDPD Y6, Y1, Y1
	VADDPD Y7, Y2, Y2
	VADDPD Y8, Y3, Y3
	ADDQ $128, SI
	INCQ R8
	JMP  next

done:
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	VMOVUPD Y3, 96(DI)
	VZEROUPPER
	RET
