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

// func sumFourAVX512(sums *[4]*[16]float64, drawn *[4]*uint8, rows *[16]float64, n int, numbers *[256]float64)
//
// The same of four replicates, eight columns at a time.
TEXT ·sumFourAVX512(SB), NOSPLIT, $0-40
	MOVQ sums+0(FP), AX
	MOVQ 0(AX), R8
	MOVQ 8(AX), R9
	MOVQ 16(AX), R10
	MOVQ 24(AX), R11
	VMOVUPD (R8), Z0
	VMOVUPD 64(R8), Z1
	VMOVUPD (R9), Z2
	VMOVUPD 64(R9), Z3
	VMOVUPD (R10), Z4
	VMOVUPD 64(R10), Z5
	VMOVUPD (R11), Z6
	VMOVUPD 64(R11), Z7
	MOVQ drawn+8(FP), AX
	MOVQ 0(AX), R12
	MOVQ 8(AX), R13
	MOVQ 16(AX), DX
	MOVQ 24(AX), DI
	MOVQ rows+16(FP), SI
	MOVQ n+24(FP), CX
	MOVQ numbers+32(FP), AX
	XORQ BX, BX

four:
	CMPQ BX, CX
	JEQ  done
	VMOVUPD (SI), Z8
	VMOVUPD 64(SI), Z9
	MOVBLZX      (R12)(BX*1), R8
	VBROADCASTSD (AX)(R8*8), Z10
	MOVBLZX      (R13)(BX*1), R9
	VBROADCASTSD (AX)(R9*8), Z11
	MOVBLZX      (DX)(BX*1), R10
	VBROADCASTSD (AX)(R10*8), Z12
	MOVBLZX      (DI)(BX*1), R11
	VBROADCASTSD (AX)(R11*8), Z13
	VMULPD Z10, Z8, Z14
	VMULPD Z10, Z9, Z15
	VMULPD Z11, Z8, Z16
	VMULPD Z11, Z9, Z17
	VMULPD Z12, Z8, Z18
	VMULPD Z12, Z9, Z19
	VMULPD Z13, Z8, Z20
	VMULPD Z13, Z9, Z21
	VADDPD Z14, Z0, Z0
	VADDPD Z15, Z1, Z1
	VADDPD Z16, Z2, Z2
	VADDPD Z17, Z3, Z3
	VADDPD Z18, Z4, Z4
	VADDPD Z19, Z5, Z5
	VADDPD Z20, Z6, Z6
	VADDPD Z21, Z7, Z7
	ADDQ $128, SI
	INCQ BX
	JMP  four

done:
	MOVQ sums+0(FP), AX
	MOVQ 0(AX), R8
	MOVQ 8(AX), R9
	MOVQ 16(AX), R10
	MOVQ 24(AX), R11
	VMOVUPD Z0, (R8)
	VMOVUPD Z1, 64(R8)
	VMOVUPD Z2, (R9)
	VMOVUPD Z3, 64(R9)
	VMOVUPD Z4, (R10)
	VMOVUPD Z5, 64(R10)
	VMOVUPD Z6, (R11)
	VMOVUPD Z7, 64(R11)
	VZEROUPPER
	RET

// func sumHalfAVX512(sums *[4]*[16]float64, drawn *[4]*uint8, rows *[16]float64, n int, numbers *[256]float64)
//
// The same of the first eight columns.
TEXT ·sumHalfAVX512(SB), NOSPLIT, $0-40
	MOVQ sums+0(FP), AX
	MOVQ 0(AX), R8
	MOVQ 8(AX), R9
	MOVQ 16(AX), R10
	MOVQ 24(AX), R11
	VMOVUPD (R8), Z0
	VMOVUPD (R9), Z2
	VMOVUPD (R10), Z4
	VMOVUPD (R11), Z6
	MOVQ drawn+8(FP), AX
	MOVQ 0(AX), R12
	MOVQ 8(AX), R13
	MOVQ 16(AX), DX
	MOVQ 24(AX), DI
	MOVQ rows+16(FP), SI
	MOVQ n+24(FP), CX
	MOVQ numbers+32(FP), AX
	XORQ BX, BX

half:
	CMPQ BX, CX
	JEQ  halved
	VMOVUPD (SI), Z8
	MOVBLZX (R12)(BX*1), R8
	VMULPD.BCST (AX)(R8*8), Z8, Z14
	MOVBLZX (R13)(BX*1), R9
	VMULPD.BCST (AX)(R9*8), Z8, Z16
	MOVBLZX (DX)(BX*1), R10
	VMULPD.BCST (AX)(R10*8), Z8, Z18
	MOVBLZX (DI)(BX*1), R11
	VMULPD.BCST (AX)(R11*8), Z8, Z20
	VADDPD Z14, Z0, Z0
	VADDPD Z16, Z2, Z2
	VADDPD Z18, Z4, Z4
	VADDPD Z20, Z6, Z6
	ADDQ $128, SI
	INCQ BX
	JMP  half

halved:
	MOVQ sums+0(FP), AX
	MOVQ 0(AX), R8
	MOVQ 8(AX), R9
	MOVQ 16(AX), R10
	MOVQ 24(AX), R11
	VMOVUPD Z0, (R8)
	VMOVUPD Z2, (R9)
	VMOVUPD Z4, (R10)
	VMOVUPD Z6, (R11)
	VZEROUPPER
	RET

// func countAVX512(set, low, mid, high *uint64, blocks int) uint64
//
// Bits that are set and in a plane, eight words at a time: those of low once, of mid
// twice, of high four times.
TEXT ·countAVX512(SB), NOSPLIT, $0-48
	MOVQ set+0(FP), SI
	MOVQ low+8(FP), R8
	MOVQ mid+16(FP), R9
	MOVQ high+24(FP), R10
	MOVQ blocks+32(FP), CX
	SHLQ $6, CX // bytes
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	XORQ AX, AX

words:
	CMPQ AX, CX
	JEQ  total
	VMOVDQU64 (SI)(AX*1), Z3
	VPANDQ (R8)(AX*1), Z3, Z4
	VPANDQ (R9)(AX*1), Z3, Z5
	VPANDQ (R10)(AX*1), Z3, Z6
	VPOPCNTQ Z4, Z4
	VPOPCNTQ Z5, Z5
	VPOPCNTQ Z6, Z6
	VPADDQ Z4, Z0, Z0
	VPADDQ Z5, Z1, Z1
	VPADDQ Z6, Z2, Z2
	ADDQ $64, AX
	JMP  words

total:
	VPSLLQ $1, Z1, Z1
	VPSLLQ $2, Z2, Z2
	VPADDQ Z1, Z0, Z0
	VPADDQ Z2, Z0, Z0
	VEXTRACTI64X4 $1, Z0, Y1
	VPADDQ Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDQ X1, X0, X0
	VPSRLDQ $8, X0, X1
	VPADDQ X1, X0, X0
	MOVQ X0, AX
	VZEROUPPER
	MOVQ AX, ret+40(FP)
	RET

// func gatherAVX512(times *uint8, low, mid, high *uint64, words int)
//
// A byte of three bits for each item, 64 of a word at a time.
TEXT ·gatherAVX512(SB), NOSPLIT, $0-40
	MOVQ times+0(FP), DI
	MOVQ low+8(FP), R8
	MOVQ mid+16(FP), R9
	MOVQ high+24(FP), R10
	MOVQ words+32(FP), CX
	MOVL $1, AX
	VPBROADCASTB AX, Z0
	MOVL $2, AX
	VPBROADCASTB AX, Z1
	MOVL $4, AX
	VPBROADCASTB AX, Z2
	XORQ BX, BX

bytes:
	CMPQ BX, CX
	JEQ  gathered
	KMOVQ (R8)(BX*8), K1
	KMOVQ (R9)(BX*8), K2
	KMOVQ (R10)(BX*8), K3
	VMOVDQU8.Z Z0, K1, Z3
	VPADDB Z1, Z3, K2, Z3
	VPADDB Z2, Z3, K3, Z3
	VMOVDQU64 Z3, (DI)
	ADDQ $64, DI
	INCQ BX
	JMP  bytes

gathered:
	VZEROUPPER
	RET
