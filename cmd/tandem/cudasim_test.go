package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/linalg"
)

// What TANDEM_BACKEND=cudasim promises: the simulated GPU gives the bytes of the sequential chain,
// through the program and through linalg.

// simulated is M, K, N: a single element, and shapes that fit no tile.
var simulated = [][3]int{{1, 1, 1}, {5, 7, 23}, {33, 65, 17}, {40, 24, 130}}

// onCudasim chooses the simulated GPU by the environment.
func onCudasim(t *testing.T) {
	t.Helper()
	t.Setenv(backend.EnvBackend, "cudasim")
	need(t, "cudasim")
}

func TestCudasim(t *testing.T) {
	t.Run("float32", cudasim[float32])
	t.Run("float64", cudasim[float64])
	t.Run("int32", cudasim[int32])
}

func cudasim[T linalg.Element](t *testing.T) {
	onCudasim(t)
	s, err := linalg.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if driver := s.Info().Driver; driver != "cudasim" {
		t.Fatalf("the device is one of %s", driver)
	}
	shapes := simulated
	if testing.Short() {
		shapes = shapes[:2]
	}
	rng := rand.New(rand.NewPCG(7, 8))
	for _, kind := range kinds {
		if element.TypeOf[T]() == element.Int32 && (kind == "subnormal" || kind == "underflow") {
			continue
		}
		for _, shape := range shapes {
			t.Run(fmt.Sprintf("%s-%dx%dx%d", kind, shape[0], shape[1], shape[2]), func(t *testing.T) {
				a, b := values[T](kind, shape[0], shape[1], false, rng), values[T](kind, shape[1], shape[2], true, rng)
				simulatedFiles(t, a, b)
				simulatedArrays(t, s, a, b, values[T]("special", shape[0], shape[2], false, rng))
			})
		}
	}
}

// simulatedFiles multiplies, transposes, adds and scales files.
func simulatedFiles[T linalg.Element](t *testing.T, a, b linalg.Matrix[T]) {
	at := in(t.TempDir())
	pa, pb := save(t, at("a.npy"), a), write(t, at("b.npy"), encode(layouts[3], b)) // big-endian, in Fortran order
	report := must(t, "matmul", pa, pb, "-o", at("c.npy"))
	if !strings.Contains(report, "cudasim:0") {
		t.Errorf("the report does not name the device:\n%s", report)
	}
	checkFile(t, at("c.npy"), []int{a.Rows, b.Cols}, product(a, b))
	must(t, "transpose", pb, "-o", at("turned.npy"))
	checkFile(t, at("turned.npy"), []int{b.Cols, b.Rows}, turned(b))
	must(t, "add", pa, pa, "-o", at("sum.npy"))
	checkFile(t, at("sum.npy"), []int{a.Rows, a.Cols}, each(a, func(x T) T { return x + x }))
	must(t, "scale", pa, "--by", "-3", "-o", at("scaled.npy"))
	checkFile(t, at("scaled.npy"), []int{a.Rows, a.Cols}, each(a, func(x T) T { return -3 * x }))
}

// simulatedArrays computes -2*A*B + 3*C on arrays on the device, with A and B as they are and
// transposed.
func simulatedArrays[T linalg.Element](t *testing.T, s *linalg.Session, a, b, c linalg.Matrix[T]) {
	want := linalg.NewMatrix(c.Rows, c.Cols, append([]T(nil), c.Data...))
	minusTwo := T(0) - 2
	host.GemmReference(a.Rows, b.Cols, a.Cols, minusTwo, a.Data, a.Stride, b.Data, b.Stride, 3, want.Data, want.Stride)
	for _, op := range []struct {
		a, b   blas.Transpose
		ma, mb linalg.Matrix[T]
	}{
		{blas.NoTrans, blas.NoTrans, a, b},
		{blas.Trans, blas.NoTrans, turned(a), b},
		{blas.NoTrans, blas.Trans, a, turned(b)},
		{blas.Trans, blas.Trans, turned(a), turned(b)},
	} {
		x, errX := linalg.Upload(s, op.ma)
		y, errY := linalg.Upload(s, op.mb)
		z, errZ := linalg.Upload(s, c)
		if err := errors.Join(errX, errY, errZ); err != nil {
			t.Fatal(err)
		}
		if err := z.Gemm(minusTwo, op.a, x, op.b, y, 3); err != nil {
			t.Fatal(err)
		}
		got, err := z.Download()
		if err := errors.Join(err, x.Free(), y.Free(), z.Free()); err != nil {
			t.Fatal(err)
		}
		if digest(got) != digest(want) {
			t.Errorf("Gemm with %c and %c: other bits than those of the chain", op.a, op.b)
		}
	}
}

// digest is the bytes of a matrix, with NaN made canonical.
func digest[T linalg.Element](m linalg.Matrix[T]) string {
	return string(backend.Bytes(canonical(m).Data))
}

func turned[T linalg.Element](m linalg.Matrix[T]) linalg.Matrix[T] {
	r := linalg.NewMatrix[T](m.Cols, m.Rows, nil)
	for i := range m.Rows {
		for j := range m.Cols {
			r.Set(j, i, m.At(i, j))
		}
	}
	return r
}

func each[T linalg.Element](m linalg.Matrix[T], f func(x T) T) linalg.Matrix[T] {
	r := linalg.NewMatrix[T](m.Rows, m.Cols, nil)
	for i := range m.Data {
		r.Data[i] = f(m.Data[i])
	}
	return r
}

// A kernel of one's own goes through NVRTC and the simulator. Its mistakes come back with its own
// lines.
func TestCudasimRunsUserKernels(t *testing.T) {
	onCudasim(t)
	dir, args := kernelDir(t)
	at := in(dir)
	args = append(replaced(args, "opencl", "cudasim"), "-o", at("y2.npy"), "-o", at("z.npy"))
	needNVRTC(t, args)
	must(t, args...)
	checkFile(t, at("y2.npy"), []int{1, 5}, linalg.NewMatrix(1, 5, []float32{13.25, 26.25, 39.25, 52.25, 65.25}))
	checkFile(t, at("z.npy"), []int{5, 1}, linalg.NewMatrix(5, 1, []int32{0, 2, 4, 6, 8}))
	write(t, at("broken.cl"), []byte(strings.Replace(axpy, "FACTOR, x[i]", "FACTR, x[i]", 1)))
	fails(t, dir, exitError, "broken.cl(5)", replaced(args, "axpy.cl", "broken.cl")...)
	for name, mistake := range map[string]struct{ text, says, line string }{
		"beyond": {"z[i + 1] = 1;", "out-of-bounds", "beyond.cl:3"},
		"race":   {"LOCALMEM int t[16];\n t[i] = i; z[i] = t[15 - i];", "data race", "race.cl:4"},
		"wide":   {"*(__global int4 *)(z + i + 1) = make_int4(i, i, i, i);", "misaligned", "wide.cl:3"},
		"stuck":  {"if (i < 3) barrier(CLK_LOCAL_MEM_FENCE);\n z[i] = 1;", "barrier", "stuck.cl:3"},
	} {
		file := write(t, at(name+".cl"),
			fmt.Appendf(nil, "__kernel void %s(__global int *z) {\n int i = (int)get_local_id(0);\n %s\n}\n", name,
				mistake.text))
		run := []string{
			"run", file, "--kernel", name, "--grid", "1", "--block", "16", "--arg", "out:i4:16", "-o", at("out.npy"),
		}
		fails(t, dir, exitError, mistake.says, run...)
		fails(t, dir, exitError, mistake.line, run...)
	}
}

// needNVRTC skips the test where a run finds no NVRTC, or fails it where TANDEM_REQUIRE asks for
// one.
func needNVRTC(t *testing.T, args []string) {
	t.Helper()
	if code, _, stderr := tandem(args...); code != exitOK && strings.Contains(stderr, "There is no NVRTC here") {
		backendtest.Require(t, "nvrtc", errors.New(stderr))
	}
}

// Without NVIDIA's driver TANDEM_BACKEND=cuda is one error, which names the library and why it
// could not be loaded, and auto goes on without.
func TestWithoutCUDA(t *testing.T) {
	exe := program(t)
	at := in(t.TempDir())
	a := save(t, at("a.npy"), linalg.NewMatrix(2, 2, []float32{1, 2, 3, 4}))
	garbage := write(t, at("libcuda.so.1"), []byte("no library"))
	multiply := func(choice, library string) (code int, output string) {
		cmd := exec.Command(exe, "matmul", a, a, "-o", at("c.npy"))
		cmd.Env = append(os.Environ(), backend.EnvBackend+"="+choice, "TANDEM_CUDA_LIBRARY="+library)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	for library, reason := range map[string]string{"/nonexistent/libcuda.so": "No such file", garbage: ""} {
		for _, choice := range []string{"cuda", "cuda:0"} {
			code, out := multiply(choice, library)
			if code != exitError || strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "tandem: cuda: ") {
				t.Errorf("%s: exit code %d\n%s", choice, code, out)
			}
			for _, want := range []string{library + ": ", reason, "TANDEM_CUDA_LIBRARY", "no device"} {
				if want != "" && strings.Count(out, want) != 1 {
					t.Errorf("%s: not once %q in\n%s", choice, want, out)
				}
			}
		}
		if _, err := os.Stat(at("c.npy")); err == nil {
			t.Error("a failed run left an output file")
		}
		for _, choice := range []string{"", "auto"} {
			if code, out := multiply(choice, library); code != exitOK {
				t.Errorf("auto: exit code %d\n%s", code, out)
			}
			checkFile(t, at("c.npy"), []int{2, 2}, linalg.NewMatrix(2, 2, []float32{7, 10, 15, 22}))
			if err := os.Remove(at("c.npy")); err != nil {
				t.Fatal(err)
			}
		}
	}
}
