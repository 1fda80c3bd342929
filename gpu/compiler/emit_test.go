package compiler

import "testing"

// A directive stands before what it speaks of, or above a closing brace; those that say what is so
// anyway are gone.
func TestInlineLines(t *testing.T) {
	const text = `package p

func f() {
//line a.go:7
	x := 1
//line a.go:8
	y := x
//line a.go:8
	if x > y {
//line @:1
	}
//line @:1
	return
}
`
	const want = `package p

func f() {
	/*line a.go:7*/ x := 1
	y := x
	/*line a.go:8*/ if x > y {
//line kernels_tandem.go:8
	}
	return
}
`
	if got := string(inlineLines([]byte(text))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
