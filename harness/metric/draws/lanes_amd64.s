#include "textflag.h"

// func sumTwoAVX2(sums, more, rows *[16]float64, drawn, again *uint8, n int, numbers *[256]float64)
//
// Products and sums are rounded one by one, in the order of the rows: no multiply-add.
// Two replicates at once: a sum waits for the one before, and the other goes on meanwhile.
TEXT ·sumTwoAVX2(SB), NOSPLIT, $0-56
	MOVQ sums+0(FP), DI
	MOVQ more+8(FP), DX
	MOVQ rows+16(FP), SI
	MOVQ drawn+24(FP), R8
	MOVQ again+32(FP), R10
	MOVQ n+40(FP), CX
	MOVQ numbers+48(FP), R9
	VMOVUPD (DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	VMOVUPD 96(DI), Y3
	VMOVUPD (DX), Y4
	VMOVUPD 32(DX), Y5
	VMOVUPD 64(DX), Y6
	VMOVUPD 96(DX), Y7
	ADDQ R8, CX // the end of drawn

both:
	CMPQ R8, CX
	JEQ  end
	MOVBLZX      (R8), AX
	VBROADCASTSD (R9)(AX*8), Y8
	MOVBLZX      (R10), BX
	VBROADCASTSD (R9)(BX*8), Y9
	VMOVUPD (SI), Y10
	VMOVUPD 32(SI), Y11
	VMULPD Y8, Y10, Y12
	VMULPD Y9, Y10, Y13
	VMULPD Y8, Y11, Y14
	VMULPD Y9, Y11, Y15
	VADDPD Y12, Y0, Y0
	VADDPD Y13, Y4, Y4
	VADDPD Y14, Y1, Y1
	VADDPD Y15, Y5, Y5
	VMOVUPD 64(SI), Y10
	VMOVUPD 96(SI), Y11
	VMULPD Y8, Y10, Y12
	VMULPD Y9, Y10, Y13
	VMULPD Y8, Y11, Y14
	VMULPD Y9, Y11, Y15
	VADDPD Y12, Y2, Y2
	VADDPD Y13, Y6, Y6
	VADDPD Y14, Y3, Y3
	VADDPD Y15, Y7, Y7
	ADDQ $128, SI
	INCQ R8
	INCQ R10
	JMP  both

end:
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	VMOVUPD Y3, 96(DI)
	VMOVUPD Y4, (DX)
	VMOVUPD Y5, 32(DX)
	VMOVUPD Y6, 64(DX)
	VMOVUPD Y7, 96(DX)
	VZEROUPPER
	RET
