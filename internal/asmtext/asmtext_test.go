package asmtext

import "testing"

func TestJoin(t *testing.T) {
	const text = `#include "textflag.h"

TEXT ·f(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), CX
	XORL AX, AX
	XORL BX, BX

loop:
	INCQ AX
	DECQ CX
	JNZ loop
	INCQ BX
	MOVQ AX, (DI)
	MOVQ BX, 8(DI)
	WORD $1 // f
	WORD $2 // g
	RET
`
	const want = `#include "textflag.h"

TEXT ·f(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), CX
	XORL AX, AX; XORL BX, BX

loop:
	INCQ AX; DECQ CX; JNZ loop
	INCQ BX; MOVQ AX, (DI)
	MOVQ BX, 8(DI); WORD $1 // f
	WORD $2 // g
	RET
`
	if got := Join(text, 36); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
