package main

import (
	"os"
	"testing"

	"github.com/tandem-gpu/tandem/linalg"
)

// runPoly is the arguments of a run of poly on x.npy, with more --arg, that writes y.npy.
func runPoly(dir string, more ...string) []string {
	at := in(dir)
	args := []string{
		"run", "testdata/poly/poly.go", "--kernel", "poly", "--grid", "2", "--block", "2",
		"--arg", "inout:" + at("x.npy"), "-o", at("y.npy"),
	}
	return append(args, more...)
}

// The types of the arguments choose the instance.
func TestRunGo(t *testing.T) {
	for _, device := range []string{"cpu", "opencl", "cudasim"} {
		t.Run(device, func(t *testing.T) {
			need(t, device)
			if device == "cpu" && testing.Short() {
				t.Skip("builds programs; left out by -short")
			}
			if device == "cudasim" && os.Getenv("TANDEM_NVRTC") == "" {
				t.Skip("text for cudasim needs NVRTC")
			}
			dir := t.TempDir()
			at := in(dir)
			// 16777217 is no float32: each type rounds in its own way, or not at all.
			if device != "cpu" { // where each run builds a program
				saveVector[float32](t, at("x.npy"), 1, 2, 16777216)
				must(t, runPoly(dir, "--arg", "f32:1", "--arg", "f32:1", "--backend", device)...)
				checkFile(t, at("y.npy"), []int{3}, linalg.NewMatrix(1, 3, []float32{2, 3, 16777216}))
			}
			saveVector[float64](t, at("x.npy"), 1, 2, 16777216)
			must(t, runPoly(dir, "--arg", "f64:1", "--arg", "f64:1", "--backend", device)...)
			checkFile(t, at("y.npy"), []int{3}, linalg.NewMatrix(1, 3, []float64{2, 3, 16777217}))
			saveVector[int32](t, at("x.npy"), 1, -2, 16777216)
			must(t, runPoly(dir, "--arg", "i32:-3", "--arg", "u32:4", "--backend", device)...)
			checkFile(t, at("y.npy"), []int{3}, linalg.NewMatrix(1, 3, []int32{1, 10, 4 - 3*16777216}))
			must(t, "run", "testdata/poly/poly.go", "--kernel", "pad", "--grid", "2x2", "--block", "2x2",
				"--arg", "out:f8:2x4", "--arg", at("x.npy"), "--arg", "i64:2", "--arg", "i32:1",
				"--backend", device, "-o", at("y.npy"))
			checkFile(t, at("y.npy"), []int{2, 4}, linalg.NewMatrix(2, 4, []float64{
				2, 1<<32 - 4, 0, 0, 1 << 25, 0, 0, 0,
			}))
		})
	}
}

// On the cpu device a kernel of package main runs, too, whatever its tests are; the device is the
// default where there is no GPU. Mistakes have their lines.
func TestRunGoInMain(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs; left out by -short")
	}
	t.Setenv("TANDEM_BACKEND", "cpu")
	dir := t.TempDir()
	at := in(dir)
	saveVector[float32](t, at("x.npy"), 1, 2, 3, 4)
	run := []string{
		"run", "testdata/program/main.go", "--kernel", "twice", "--grid", "1", "--block", "4",
		"--arg", at("x.npy"), "--arg", "out:f4:4", "-o", at("y.npy"),
	}
	must(t, run...)
	checkFile(t, at("y.npy"), []int{4}, linalg.NewMatrix(1, 4, []float32{2, 4, 6, 8}))
	fails(t, dir, exitError, "the kernel is compiled for groups of 4", replaced(run, "4", "2")...)
	t.Setenv(linalg.EnvCheck, "1")
	fails(t, dir, exitError, "main.go:20", replaced(run, "out:f4:4", "out:f4:3")...)
}

func TestRunGoBadInput(t *testing.T) {
	dir := t.TempDir()
	at := in(dir)
	saveVector[float32](t, at("x.npy"), 1, 2, 3)
	saveVector[int32](t, at("i.npy"), 1, 2, 3)
	write(t, at("alone.go"), []byte("package alone\n"))
	full := runPoly(dir, "--arg", "f32:1", "--arg", "f32:1", "--backend", "opencl")
	fails(t, dir, exitUsage, "a kernel in Go has no macros", append(full, "-D", "N=1")...)
	need(t, "opencl")
	const poly = "testdata/poly/poly.go"
	for _, test := range []struct {
		says string
		args []string
	}{
		{"no such file", replaced(full, poly, "testdata/poly/nothing.go")},
		{"go.mod", replaced(full, poly, at("alone.go"))},
		{"broken.go:8:7: ", replaced(replaced(full, poly, "testdata/broken/broken.go"), "poly", "broken")},
		{"poly.go has no kernel one; it has poly, pad", replaced(full, "poly", "one")},
		{"poly[float32] takes 3 arguments, and there are 4", append(full, "--arg", "f32:1")},
		{
			"poly[float32]: parameter a is float32, which --arg f64:1 is not",
			replaced(full, "f32:1", "f64:1"),
		},
		{"poly[float64]: parameter x is []float64", replaced(full, "f32:1", "f64:1")},
		{
			"one: parameter x is []struct",
			append(replaced(replaced(full[:12], poly, "testdata/poly/other.go"), "poly", "one"), "--backend", "opencl"),
		},
		{
			"two: parameter by is [2]float32, which --arg f32:1 is not",
			append(replaced(replaced(full[:14], poly, "testdata/poly/other.go"), "poly", "two"), "--backend", "opencl"),
		},
		{
			"pad: parameter twice is bool, from 0 to 1, which --arg i32:6 is not",
			[]string{
				"run", poly, "--kernel", "pad", "--grid", "2x2", "--block", "2x2", "--arg", "out:f8:2x4",
				"--arg", at("i.npy"), "--arg", "i64:2", "--arg", "i32:6", "-o", at("y.npy"), "--backend", "opencl",
			},
		},
		{"work-items a group", replaced(full, "2", "100000")},
	} {
		fails(t, dir, exitError, test.says, test.args...)
	}
}
