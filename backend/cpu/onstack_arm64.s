//go:build !purego && (!(linux || darwin || netbsd || (freebsd && cgo)) || tandem_nolibs)

#include "textflag.h"

// func onStack(entry uintptr, c *nativeCall)
TEXT ·onStack(SB), 0, $32768-16
	MOVD entry+0(FP), R9
	MOVD c+8(FP), R0
	BL (R9)
	RET
