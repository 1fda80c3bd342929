//go:build !purego && (!(linux || darwin || netbsd || (freebsd && cgo)) || tandem_nolibs)

#include "textflag.h"

// C's stack is the frame: the stack pointer goes up to its end, from where C's frames grow down.

// func onStack(entry uintptr, c *nativeCall)
TEXT ·onStack(SB), 0, $32768-16
	MOVD entry+0(FP), R9
	MOVD c+8(FP), R0
	MOVD RSP, R19 // C keeps R19
	ADD $32752, RSP, R10
	AND $~15, R10
	MOVD R10, RSP
	BL (R9)
	MOVD R19, RSP
	RET
