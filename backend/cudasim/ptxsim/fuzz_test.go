package ptxsim

import (
	"errors"
	"path/filepath"
	"testing"
)

// FuzzLoad: text that is no PTX gives an error with a line, and what loads runs to an end, or to a
// fault.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(incrementPTX))
	f.Add([]byte(kernel(".global .u8 b[4] = {1, 2}; .func (.param .b32 r) f(.param .b32 x) { ret; }",
		".loc 1 2 3, function_name x, inlined_at 1 1 1\nL: bra L;")))
	for _, name := range []string{"gcd", "machine", "warp", "int64", "softmax"} {
		files, _ := filepath.Glob("testdata/corpus/" + name + ".*.gz")
		for _, file := range files {
			f.Add(readPTX(f, file))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d := New(Config{MaxSteps: 1 << 16, Memory: 1 << 24, Workers: 1})
		m, err := d.Load(text)
		var p *ParseError
		if err != nil {
			if !errors.As(err, &p) && !errors.Is(err, ErrOutOfMemory) || p != nil && p.Line < 1 {
				t.Fatalf("error without a line: %v", err)
			}
			return
		}
		for _, name := range m.Entries() {
			k, err := m.Function(name)
			if err != nil {
				t.Fatal(err)
			}
			block := [3]int{2, 1, 1}
			if k.ReqNTID != [3]int{} {
				block = k.ReqNTID
			}
			var fault *Fault
			if err := d.Launch(k, x1(1), block, 0, make([]byte, k.ParamSize)); err != nil &&
				!errors.As(err, &fault) {
				t.Fatal(err)
			}
		}
	})
}
