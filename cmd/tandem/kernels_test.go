package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/internal/tuning"
)

// The PTX of every built-in kernel can be read, of those in Go and of those in OpenCL C.
func TestShowBuiltIn(t *testing.T) {
	racetest.Skip(t, "it is of bits")
	for _, name := range slices.Sorted(maps.Keys(tuning.PTXSources())) {
		if got := must(t, "kernels", "--show", name, "../../kernels"); !strings.Contains(got, ".visible .entry ") {
			t.Errorf("%s: %q", name, got)
		}
	}
	fails(t, "../../kernels", 1, "has no PTX of a kernel nothing; it has that of quadsAlong_kernel, ",
		"kernels", "--show", "nothing", "../../kernels")
	dir := t.TempDir()
	fails(t, dir, 1, " has no PTX of kernels", "kernels", "--show", "nothing", dir)
}

// The command writes a kernel's file, tells a stale one, leaves out what it is told to, and reports
// mistakes with their place.
func TestKernels(t *testing.T) {
	root, err := filepath.Abs("../../build") // in the module, as a user's package has it among its own
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(root, "kernels")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	const text = `package kernels

import "github.com/tandem-gpu/tandem/gpu"

//tandem:kernel
func Twice(it gpu.Item, x []int32) { x[it.Global(0)] *= 2 }
`
	source, generated := filepath.Join(dir, "twice.go"), filepath.Join(dir, "kernels_tandem.go")
	write(t, source, []byte(text))
	must(t, "kernels", dir, "--no-ptx")
	if got := read(t, generated); !strings.Contains(got, "func LaunchTwice[") || strings.Contains(got, "PTX") {
		t.Errorf("with launch functions:\n%s", got)
	}
	must(t, "kernels", dir, "--no-ptx", "--check")
	fails(t, dir, 1, "kernels_tandem.go is stale: run go generate",
		"kernels", dir, "--no-ptx", "--no-launch", "--check")
	must(t, "kernels", dir, "--no-ptx", "--no-launch")
	if got := read(t, generated); strings.Contains(got, "linalg") || !strings.Contains(got, "var TwiceKernel = ") {
		t.Errorf("without launch functions:\n%s", got)
	}
	must(t, "kernels", dir, "--no-ptx", "--no-launch", "--check")
	write(t, source, []byte(strings.Replace(text, "*= 2", "*= 3", 1)))
	fails(t, dir, 1, "is stale", "kernels", dir, "--no-ptx", "--no-launch", "--check")
	write(t, source, []byte(strings.Replace(text, "x[it", "m := map[int]int{}\n\tx[it", 1)))
	fails(t, dir, 1, "twice.go:6:", "kernels", dir)
	fails(t, dir, 2, "give the folder", "kernels", source)
	fails(t, dir, 1, "go.mod file not found", "kernels", t.TempDir())
}
