//go:build !purego && (!(linux || darwin || netbsd || (freebsd && cgo)) || tandem_nolibs)

#include "textflag.h"

// func onStack(entry uintptr, c *nativeCall)
TEXT ·onStack(SB), 0, $32768-16
	MOVQ entry+0(FP), AX
	MOVQ c+8(FP), DI
	MOVQ SP, BX // C keeps BX
	ANDQ $~63, SP
	CALL AX
	MOVQ BX, SP
	RET
