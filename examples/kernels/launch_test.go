package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/gpu/compiler"
	"github.com/tandem-gpu/tandem/linalg"
)

// A launch refuses what has no memory or the wrong shape, and nothing runs.
func TestLaunchRefuses(t *testing.T) {
	s, other := open(t, "cpu"), open(t, "cpu")
	m := linalg.NewMatrix[float32](4, 4, nil)
	foreign, err := linalg.Upload(other, m)
	if err != nil {
		t.Fatal(err)
	}
	grid := backend.Grid2(1, 1, 16, 16)
	for _, c := range []struct {
		err  error
		want string
	}{
		{
			launchMatmul[float32](s, grid, m, (*linalg.Array[float32])(nil), m),
			"argument a of kernel matmul_float32: invalid argument: it is a nil array",
		},
		{
			launchMatmul[float32](s, grid, m, m, foreign),
			"argument b of kernel matmul_float32: invalid argument: 4x4 float32 on",
		},
		{
			launchMatmul[float32](s, grid, m, linalg.Matrix[float32]{Rows: 4, Cols: 4, Stride: 3}, m),
			"argument a of kernel",
		},
		{launchMatmul[float32](s, backend.Grid2(1, 1, 64, 64), m, m, m), "4096 work-items a group"},
		{launchMatmul[float32](s, grid, m, m, linalg.Matrix[float32]{
			Rows: 4, Cols: 400, Stride: 4,
			Data: m.Data,
		}), "argument b"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", c.err, c.want)
		}
	}
	if err := launchMatmul[float32](nil, grid, m, m, m); !errors.Is(err, backend.ErrArgument) {
		t.Errorf("without a session: %v", err)
	}
	s.Close()
	if err := launchMatmul[float32](s, grid, m, m, m); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// An index out of range is an error of the launch that names the kernel's line.
func TestPanicNamesLine(t *testing.T) {
	s := open(t, "cpu")
	m := linalg.NewMatrix[float32](20, 20, nil)
	err := launchMatmul[float32](s, backend.Grid2(1, 1, 17, 17), m, m, m) // the tiles have 16 rows
	file := "matmul.go:"
	if gpu.Goroutines {
		file = "index out of range"
	}
	if !errors.Is(err, backend.ErrLaunch) || !strings.Contains(err.Error(), file) ||
		!strings.Contains(err.Error(), "index out of range") {
		t.Errorf("error is %v", err)
	}
}

// A typed launch allocates nothing that Session.Launch would not.
func TestLaunchAllocates(t *testing.T) {
	if gpu.Goroutines {
		t.Skip("work-items are goroutines")
	}
	s := open(t, "cpu")
	s.SetChecked(false)
	m, err := linalg.Upload(s, linalg.NewMatrix[float32](4, 4, nil))
	if err != nil {
		t.Fatal(err)
	}
	grid := backend.Grid2(1, 1, 16, 16)
	if n := testing.AllocsPerRun(100, func() {
		if err := launchMatmul[float32](s, grid, m, m, m); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a launch", n)
	}
}

// What a typed launch takes beside Session.Launch: a grid without groups, so that nothing runs.
func BenchmarkLaunch(b *testing.B) {
	s, err := linalg.Open("cpu")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	m, err := linalg.Upload(s, linalg.NewMatrix[float32](4, 4, nil))
	if err != nil {
		b.Fatal(err)
	}
	grid := backend.Grid2(0, 1, 16, 16)
	b.Run("typed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := launchMatmul[float32](s, grid, m, m, m); err != nil {
				b.Fatal(err)
			}
		}
	})
	k, err := s.CompileSource(matmulFloat32Kernel)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Session.Launch", func(b *testing.B) {
		b.ReportAllocs()
		n := backend.Int64(4)
		for b.Loop() {
			if err := s.Launch(k, grid, m, backend.Int64(0), n, n, n, m, backend.Int64(0), n, n, n,
				m, backend.Int64(0), n, n, n); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Text of an older kernel never runs: the launch says that the generated file is stale. Changes
// elsewhere in the file do not count.
func TestStale(t *testing.T) {
	program := `package main

import (
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() {
	s, err := linalg.Open("cpu")
	if err != nil {
		panic(err)
	}
	m := linalg.NewMatrix[float32](2, 2, []float32{1, 2, 3, 4})
	c := linalg.NewMatrix[float32](2, 2, nil)
	fmt.Println(launchMatmul[float32](s, backend.Grid2(1, 1, 16, 16), c, m, m), c.Data)
}
`
	text, err := os.ReadFile("matmul.go")
	ok(t, err)
	kernel := string(text)
	root, err := filepath.Abs("../../build")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(root, "stale")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	write := func(name, text string) { ok(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)) }
	write("main.go", program)
	write("matmul.go", kernel)
	ok(t, compiler.Write(dir, compiler.Options{}))
	for _, c := range []struct{ from, to, want string }{
		{"", "", "<nil> [7 10 15 22]\n"},
		{"// matmul is", "// unrelated moves the kernel.\nfunc unrelated() {}\n\n// matmul is", "<nil> [7 10 15 22]\n"},
		{"acc = gpu.FMA(", "acc += gpu.FMA(", "kernels_tandem.go is stale"},
		{"const tile = 16", "const tile = 8", "kernels_tandem.go is stale"},
	} {
		write("matmul.go", strings.Replace(kernel, c.from, c.to, 1))
		cmd := exec.Command("go", "run", ".")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("with %q: %v\n%s", c.to, err, out)
		}
	}
}

// What is compiled to text alone, as for "tandem run", is what the generated file has.
func TestInstances(t *testing.T) {
	list, err := compiler.Instances(".")
	ok(t, err)
	want := map[string]*backend.Source{
		"matmul[int32]": matmulInt32Kernel, "nbody": nbodyKernel, "sortPass": sortPassKernel, "hash": hashKernel,
	}
	for _, k := range list {
		w := want[k.Name]
		if w == nil {
			continue
		}
		delete(want, k.Name)
		s := k.Source
		if s.Name != w.Name || s.Text != w.Text || s.Group != w.Group || !slices.Equal(s.Params, w.Params) {
			t.Errorf("%s: %+v", k.Name, s)
		}
	}
	if len(want) > 0 {
		t.Errorf("not among the instances: %v", want)
	}
}

// A kernel that takes long, after many that did not, does not keep the garbage collector waiting,
// and with it all goroutines.
func TestLongLaunchBesideCollector(t *testing.T) {
	s := open(t, "cpu")
	for _, grid := range []backend.Grid{backend.Grid2(1, 1, 8, 8), backend.Grid2(1, 2, 8, 8)} {
		pixels := make([]uint8, 1)
		launch := func(limit int32) error { return launchMandelbrot(s, grid, pixels, 1, 0, 0, 0, limit) }
		for range 50 {
			if err := launch(10); err != nil {
				t.Fatal(err)
			}
		}
		end := make(chan error, 1)
		go func() { end <- launch(1e8) }()
		time.Sleep(50 * time.Millisecond)
		runtime.GC()
		select {
		case err := <-end:
			t.Errorf("%v: the collection has waited for the kernel: %v", grid, err)
		default:
			if err := <-end; err != nil {
				t.Error(err)
			}
		}
	}
}
