//go:build !purego && (!(linux || darwin || netbsd || (freebsd && cgo)) || tandem_nolibs)

#include "textflag.h"

// C's stack is the frame: the stack pointer goes up to its end, from where C's frames grow down.

// func onStack(entry uintptr, c *nativeCall)
TEXT ·onStack(SB), 0, $32768-16
	MOVQ entry+0(FP), AX
	MOVQ c+8(FP), DI
	MOVQ SP, BX // C keeps BX
	ADDQ $32768, SP
	ANDQ $~63, SP
	CALL AX
	MOVQ BX, SP
	RET
