package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
	"github.com/tandem-gpu/tandem/linalg"
)

// Every script prints the same on every device, and so the digest of all its results.
func TestScripts(t *testing.T) {
	golden := []struct {
		n    int
		want string
	}{
		{100, `kmeans of 100, points by cluster, or 1: [4  9  4  6  1  3  7  12  7  7  7  6  9  11  2  5]
digest: 25bc9ccc27a368ba0001213e1651e0b9283cf84611ca7bcbdcd9424e5f70d779
`},
		{100, `logistic of 100, wrong: [2] of 100
digest: 0e6f8c0fa97828b73b2519be4d5df0bb64ff94447dfdfc4b061d9c19ed98dbb0
`},
		{2, `network of 2, loss: [2.4419] at first, [2.1752] at last; right: [82] of 297
digest: 76a53ea7a1d8c9884718bc704e5730a560be558f8aee788ffc817f018ae36dc6
`},
		{64, `pagerank of 64, best: [40  5  25  22  9] [0.030116  0.028531  0.027173  0.025049  0.025024]
digest: f1a1884dd09c431cd47c4ae91b825c1d4dcf1e2b419c21a7eda452dd8f38e972
`},
		{20, `heat of 20, mean: [23.6128]
digest: 6709d12b18b53fd7301b01f122637abd697cf1c9913a6e19b3c5410245d9ae7a
`},
		{2000, `montecarlo of 2000, option: [8.7446] +- [0.3187]
digest: 10b4481a64aaa9a197d12c789eb707b78dfae2b83c9a7b87d0f54d53e57314d0
`},
		{32, `blur of 32, deviation: [0.2901] [0.0822]
digest: 8d11a36f54283fa50ddb5281a6f401a36d6b520f1195723df5b4cdee406303b3
`},
		{100, `nearest of 100, nearest: [51  92  34  44  23  72  80  57  29  66] at ` +
			`[6.7906  6.9173  6.9739  7.0440  7.0477  7.0490  7.0994  7.1501  7.2976  7.3294]
digest: 07a229039501ba58c9ade754d4c9ad6d2559dabf46fcd55cd6d04a38a9deae3f
`},
	}
	exampletest.Each(t, func(t *testing.T, spec string) {
		s, err := linalg.Open(spec)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for i, x := range scripts {
			t.Run(x.name, func(t *testing.T) {
				var printed strings.Builder
				if err := x.report(&printed, s, golden[i].n); err != nil {
					t.Fatal(err)
				}
				if printed.String() != golden[i].want {
					t.Errorf("printed\n%s\nwant\n%s", printed.String(), golden[i].want)
				}
			})
		}
	})
}

// The network learns in its usual steps, and its loss is drawn.
func TestPlot(t *testing.T) {
	if testing.Short() {
		t.Skip("1500 steps; left out by -short")
	}
	*plotFile = filepath.Join(t.TempDir(), "loss.svg")
	defer func() { *plotFile = "" }()
	network := []string{"network"}
	exampletest.Check(t, func(w io.Writer, spec string) error { return run(w, spec, 0, network) }, "cpu",
		`network of 1500, loss: [2.4419] at first, [0.0097] at last; right: [273] of 297
digest: 90704950f2c284ee2ef510db72db7c25f84cce9e006264053ca00fcb754b3f82
`)
	svg, err := os.ReadFile(*plotFile)
	if err != nil || bytes.Count(svg, []byte("L")) < 1499 { // from point to point
		t.Errorf("a plot of %d bytes: %v", len(svg), err)
	}
	*plotFile = filepath.Join(t.TempDir(), "loss.unknown")
	if err := run(io.Discard, "cpu", 1, network); err == nil || !strings.HasPrefix(err.Error(), "network of 1: ") {
		t.Errorf("a plot of an unknown format: %v", err)
	}
}

// The scripts are no longer than 1.6 times the Python that they do the same as, without imports,
// comments and blank lines.
func TestLines(t *testing.T) {
	skip := regexp.MustCompile(`(?ms)^import \(.*?^\)$|^(package|import|from|\s*//|\s*#).*?$`)
	count := func(file string) (n int) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(skip.ReplaceAllString(string(text), "")) {
			if strings.TrimSpace(line) != "" {
				n++
			}
		}
		return n
	}
	var all, python int
	for _, x := range scripts {
		ours, numpy := count(x.name+".go"), count(x.name+".py")
		t.Logf("%s: %d lines, and %d of Python", x.name, ours, numpy)
		all, python = all+ours, python+numpy
	}
	if 10*all > 16*python || python == 0 {
		t.Errorf("%d lines, and %d of Python", all, python)
	}
}

// What fails in a script is an error with its name.
func TestFails(t *testing.T) {
	for _, n := range []int{-1, 1} {
		if err := run(io.Discard, "cpu", n, []string{"heat"}); !errors.Is(err, linalg.ErrShape) ||
			!strings.HasPrefix(err.Error(), "heat of ") {
			t.Errorf("%d by %[1]d points: %v", n, err)
		}
	}
	for name, n := range map[string]int{"network": -1, "pagerank": 2} { // in numbers that are only printed
		if err := run(io.Discard, "cpu", n, []string{name}); !errors.Is(err, linalg.ErrShape) {
			t.Errorf("%s of %d: %v", name, n, err)
		}
	}
	if err := run(io.Discard, "cpu", 0, []string{"cold"}); err == nil || !strings.Contains(err.Error(), "cold") {
		t.Errorf("a script that there is not: %v", err)
	}
}

// BenchmarkScripts is what measure.py measures, on the cpu device:
//
//	go test -run '^$' -bench . -benchtime 1x -count 5 ./examples/scripts
func BenchmarkScripts(b *testing.B) {
	for _, x := range scripts {
		b.Run(x.name, func(b *testing.B) {
			for b.Loop() {
				if err := run(io.Discard, "cpu", 0, []string{x.name}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
