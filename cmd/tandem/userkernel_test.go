package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// axpy updates y, and writes the numbers of its elements to z.
const axpy = `/* y = A*x + y, z = the number of the element */
__kernel void axpy(const int n, const ulong shift, const float a, const double b,
                   __global const float *x, __global float *y, __global int *z) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
    y[i] = fma(a * FACTOR, x[i], y[i]) + (float)b;
    z[i] = i << shift;
  }
}
`

// kernelDir is a folder with axpy.cl, x.npy and y.npy, and the arguments of a run that works,
// without -o.
func kernelDir(t *testing.T) (dir string, args []string) {
	dir = t.TempDir()
	at := in(dir)
	write(t, at("axpy.cl"), []byte(axpy))
	saveVector[float32](t, at("x.npy"), 1, 2, 3, 4, 5)
	save(t, at("y.npy"), linalg.NewMatrix(1, 5, []float32{10, 20, 30, 40, 50}))
	return dir, []string{
		"run", at("axpy.cl"), "--kernel", "axpy", "--grid", "2", "--block", "2", "-D", "FACTOR=2", "--backend",
		"opencl",
		"--arg", "i32:5", "--arg", "u64:1", "--arg", "f32:1.5", "--arg", "f64:0.25",
		"--arg", at("x.npy"), "--arg", "inout:" + at("y.npy"), "--arg", "out:i4:5x1",
	}
}

func TestRunKernel(t *testing.T) {
	need(t, "opencl")
	dir, args := kernelDir(t)
	at := in(dir)
	var r record
	if err := json.Unmarshal([]byte(must(t, append(args, "-o", at("y2.npy"), "-o", at("z.npy"), "--json")...)),
		&r); err != nil {
		t.Fatal(err)
	}
	checkFile(t, at("y2.npy"), []int{1, 5}, linalg.NewMatrix(1, 5, []float32{13.25, 26.25, 39.25, 52.25, 65.25}))
	checkFile(t, at("z.npy"), []int{5, 1}, linalg.NewMatrix(5, 1, []int32{0, 2, 4, 6, 8}))
	checkFile(t, at("y.npy"), []int{1, 5}, linalg.NewMatrix(1, 5, []float32{10, 20, 30, 40, 50}))
	if r.Command != "run" || r.Device.Driver != "opencl" || len(r.Inputs) != 2 || len(r.Outputs) != 2 ||
		r.Outputs[1].Type != "int32" {
		t.Errorf("%+v", r)
	}
	// in place
	must(t, append(args, "-o", at("y.npy"), "-o", at("z.npy"))...)
	checkFile(t, at("y.npy"), []int{1, 5}, linalg.NewMatrix(1, 5, []float32{13.25, 26.25, 39.25, 52.25, 65.25}))
}

// The example: blocks in two dimensions, float64 and int32 too.
func TestRunKernelInTwoDimensions(t *testing.T) {
	need(t, "opencl")
	at := in(t.TempDir())
	write(t, at("my.cl"), []byte(`__kernel void k(__global const double *a, __global double *b, const int n) {
		for (int y = get_global_id(1); y < n; y += get_global_size(1))
			for (int x = get_global_id(0); x < n; x += get_global_size(0)) b[y * n + x] = a[x * n + y];
	}`))
	const n = 64
	a, b := linalg.NewMatrix[float64](n, n, nil), linalg.NewMatrix[float64](n, n, nil)
	for i := range n {
		for j := range n {
			a.Set(i, j, float64(i*n+j))
			b.Set(j, i, float64(i*n+j))
		}
	}
	write(t, at("in.npy"), encode(layouts[3], a)) // big-endian, in Fortran order
	must(t, "run", at("my.cl"), "--kernel", "k", "--grid", "6x6", "--block", "6x6", "--backend", "opencl",
		"--arg", at("in.npy"), "--arg", "out:f8:64x64", "--arg", "i32:64", "-o", at("out.npy"))
	checkFile(t, at("out.npy"), []int{n, n}, b)
}

// A grid without groups runs nothing: the zeros stay.
func TestRunEmptyGrid(t *testing.T) {
	need(t, "opencl")
	at := in(t.TempDir())
	write(t, at("one.cl"), []byte(`__kernel void one(__global int *z) { z[get_global_id(0)] = 1; }`))
	for grid, want := range map[string]int32{"0": 0, "3": 1} {
		must(t, "run", at("one.cl"), "--kernel", "one", "--grid", grid, "--block", "1", "--backend", "opencl", "--arg",
			"out:i4:3", "-o", at("z.npy"))
		checkFile(t, at("z.npy"), []int{3}, linalg.NewMatrix(1, 3, []int32{want, want, want}))
	}
}

// replaced is args with one of them changed.
func replaced(args []string, old, with string) []string {
	r := append([]string{}, args...)
	for i := range r {
		if strings.HasSuffix(r[i], old) {
			r[i] = strings.TrimSuffix(r[i], old) + with
		}
	}
	return r
}

func TestRunBadFlags(t *testing.T) {
	dir, args := kernelDir(t)
	at := in(dir)
	outs := []string{"-o", at("y2.npy"), "-o", at("z.npy")}
	full := append(args, outs...)
	for _, test := range []struct {
		says string
		args []string
	}{
		{"no output file", args},
		{"1 files for 2 results", append(args, outs[:2]...)},
		{"3 files for 2 results", append(append(args, outs...), "-o", at("more.npy"))},
		{"given twice", append(append(args, outs[:2]...), outs[:2]...)},
		{"no kernel: give --kernel NAME", replaced(full, "axpy", "")},
		{"--kernel no name", replaced(full, "axpy", "no name")},
		{"--arg i32:five", replaced(full, "i32:5", "i32:five")},
		{"--arg 5", replaced(full, "i32:5", "5")},
		{"-D FACTOR(x)=2", replaced(full, "FACTOR=2", "FACTOR(x)=2")},
		{"--grid", replaced(full, "2", "two")},
		{"no result", []string{
			"run", at("axpy.cl"), "--kernel", "axpy", "--grid", "1", "--block", "1", "--arg",
			"i32:1", "-o", at("o.npy"),
		}},
		{"no FILE: give FILE", []string{"run", "--kernel", "axpy"}},
	} {
		fails(t, dir, exitUsage, test.says, test.args...)
	}
}

func TestRunBadInput(t *testing.T) {
	need(t, "opencl")
	dir, args := kernelDir(t)
	at := in(dir)
	args = append(args, "-o", at("y2.npy"), "-o", at("z.npy"))
	saveVector[float64](t, at("x64.npy"), 1, 2, 3, 4, 5)
	write(t, at("broken.cl"), []byte(strings.Replace(axpy, "FACTOR, x[i]", "FACTR, x[i]", 1)))
	write(t, at("twice.cl"), []byte(
		"int one(int a) { return undeclared_1; }\nint two(int a) { return undeclared_2; }\n"+axpy))
	for _, test := range []struct {
		says string
		args []string
	}{
		{"broken.cl:5:", replaced(args, "axpy.cl", "broken.cl")},
		{"FACTR", replaced(args, "axpy.cl", "broken.cl")},
		{"twice.cl:1:", replaced(args, "axpy.cl", "twice.cl")},
		{"undeclared_2", replaced(args, "axpy.cl", "twice.cl")},
		{"no such file", replaced(args, "axpy.cl", "nothing.cl")},
		{"no such file", replaced(args, "x.npy", "nothing.npy")},
		{"axpyy", replaced(args, "axpy", "axpyy")},
		{"argument 0 (int n) takes int32, not int64", replaced(args, "i32:5", "i64:5")},
		{"argument 1", replaced(args, "u64:1", "u32:1")},
		{"argument 2", replaced(args, "f32:1.5", "f64:1.5")},
		{"argument 4 is buffer (float*) x, not a scalar of 4 bytes", replaced(args, at("x.npy"), "i32:1")},
		{"argument 0 (int n) takes int32, not float32", replaced(args, "i32:5", "f32:5")},
		{"(buffer (float*) x) holds float32, not float64", replaced(args, at("x.npy"), at("x64.npy"))},
		{"takes 7 arguments", append(args, "--arg", "i32:1")},
		{"out of memory", replaced(args, "out:i4:5x1", "out:i4:1000000x1000000")},
	} {
		fails(t, dir, exitError, test.says, test.args...)
	}
	big := append([]string{}, args...)
	for i := range big {
		if big[i] == "--block" {
			big[i+1] = "100000x100000"
		}
	}
	fails(t, dir, exitError, "work-items a group", big...)
}

// The cpu backend compiles nothing, and says what does.
func TestRunOnCPU(t *testing.T) {
	dir, args := kernelDir(t)
	at := in(dir)
	args = append(replaced(args, "opencl", "cpu"), "-o", at("y2.npy"), "-o", at("z.npy"))
	fails(t, dir, exitError, "this backend runs Go and compiles no kernel files", args...)
	fails(t, dir, exitError, "--backend cudasim:0", args...)
	fails(t, dir, exitError, "'tandem devices' says what is missing", args...)
	if _, err := backend.Lookup("opencl").Devices(); err == nil {
		fails(t, dir, exitError, "--backend opencl:0", args...)
	}
}
