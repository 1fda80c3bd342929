package rmath

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	fused       = regexp.MustCompile(`([^\s(]+\.go):(\d+)\)\tV?FN?M(ADD|SUB)`)
	sourceLines = map[string][]string{}
)

// No sum of this package, of f32 and of rcmplx is fused with a product where Go may do so, but for
// math.FMA: it would round once, and give other bits.
func TestNothingIsFused(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for other processors")
	}
	for _, target := range [][]string{{"GOARCH=arm64"}, {"GOARCH=amd64", "GOAMD64=v3"}} {
		cmd := exec.Command("go", "build", "-trimpath=false", "-gcflags=-S", ".", "./f32", "./rcmplx")
		cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), target...)
		out, err := cmd.CombinedOutput()
		if err != nil || len(out) < 10000 {
			t.Fatalf("%s: %v\n%.1000s", target, err, out)
		}
		count := 0
		for line := range bytes.Lines(out) {
			m := fused.FindSubmatch(line)
			if m == nil {
				continue
			}
			count++
			if text := source(t, string(m[1]), string(m[2])); !strings.Contains(text, "math.FMA(") {
				t.Errorf("%s: %s:%s: %s", target, m[1], m[2], text)
			}
		}
		if count < 10 {
			t.Errorf("%s: the text has only %d fused multiply-adds", target, count)
		}
	}
}

// source is a line of a file.
func source(t *testing.T, file, line string) string {
	t.Helper()
	if sourceLines[file] == nil {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sourceLines[file] = strings.Split(string(text), "\n")
	}
	n, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	return sourceLines[file][n-1]
}
