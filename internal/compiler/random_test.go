package compiler

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend/backendtest"
)

var (
	programs = flag.Int("programs", 8, "how many `random` programs TestRandom compares")
	seed     = flag.Uint64("seed", 1, "the `seed` of the first of them")
	keep     = flag.String("keep", "", "keep a package that differs in this `folder`")
	on       = flag.String("on", "cpu opencl cudasim", "the `backends` of TestRandom")
)

// Random kernels give the same bits as plain Go, on the cpu device as machine code, with OpenCL and
// on the simulated GPU. Of four packages one is compiled by NVRTC instead of clang, one runs in the
// checked mode, and one as the Go that is printed for the cpu device. docs/kernels.md names seeds
// that PoCL 3.1 has wrong. A long run:
// go test ./internal/compiler -run Random -programs 10000 -timeout 0. On a simulated arm64
// processor: the same with CGO_ENABLED=0 GOARCH=arm64 GOFLAGS=-exec=qemu-aarch64 and
// QEMU_LD_PREFIX, on the cpu device. Plain Go fuses products with sums there: a difference counts
// where TANDEM_NATIVE=off has none.
func TestRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("runs programs on the simulated GPU")
	}
	const batch = 50
	for done := 0; done < *programs; done += batch {
		first := *seed + uint64(done)
		g := &generator{r: rand.New(rand.NewPCG(first, 2))}
		n := min(batch, *programs-done)
		kernels := g.file(n)
		dir := newModule(t, map[string]string{
			"kernels.go": kernels, "main.go": strings.Replace(mainText, "CHECKS", g.checks.String(), 1),
		})
		fail := func(what, text string) {
			if *keep != "" {
				os.CopyFS(filepath.Join(*keep, fmt.Sprint(first)), os.DirFS(dir))
			}
			t.Errorf("seed %d: %s\n%s", first, what, text)
		}
		o := Options{PTX: Clang(), Native: ownMachine()}
		if !strings.Contains(*on, "cudasim") {
			o.PTX = nil
		}
		t.Setenv("ON", *on)
		t.Setenv("CHECKED", "")
		t.Setenv("TANDEM_NATIVE", os.Getenv("TANDEM_NATIVE"))
		switch done / batch % 4 {
		case 1:
			if os.Getenv("TANDEM_NVRTC") != "" {
				o.PTX = nil
			}
		case 2:
			t.Setenv("CHECKED", "1")
		case 3:
			t.Setenv("TANDEM_NATIVE", "off")
		}
		if err := Write(dir, o); err != nil {
			fail("compiling", err.Error())
			continue
		}
		out, err := goTool(t, dir, "run", ".")
		if strings.Contains(out, "no device") {
			backendtest.Require(t, "opencl", fmt.Errorf("%s", out))
		}
		if err != nil || !strings.HasSuffix(out, "done\n") {
			fail("running", out)
		}
		os.RemoveAll(dir)
		t.Logf("seed %d: %d programs: %s", first, n, strings.TrimSpace(out))
	}
}

const mainText = `package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

type data struct {
	n   int
	f   float64
	w   outer
	q   [4]float32
	out []uint64
	i   []int32
	x   []float32
	y   []float64
	u   []uint8
	s   []pair
	ai  []int32
	au  []uint64
	m   gpu.Matrix[float32]
	b   gpu.Matrix[float64]
}

func host[T linalg.Element](m gpu.Matrix[T]) linalg.Matrix[T] {
	return linalg.Matrix[T]{Rows: m.Rows, Cols: m.Cols, Stride: m.Stride, Data: m.Data}
}

func numbers[T gpu.Number](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(i*37%120) / T(i%5+1)
		if i%3 == 1 {
			x[i] = -x[i]
		}
	}
	return x
}

func newData(programs int) *data {
	d := &data{n: 7, f: 1.75, out: make([]uint64, 96*8*programs), q: [4]float32{0.1, -2, 1e20, 3}}
	d.w = outer{vec: vec{0.7, -3e38}, p: pair{a: -77, b: 1e-3, c: [3]uint8{255, 128, 1}, d: true, e: -0.5},
		v: [2]vec{{1, 2}, {-1e-3, 1 << 24}}, k: -100, m: [4]uint16{1, 20, 300, 65535}, t: 0.3}
	for i := range 96 {
		d.i = append(d.i, int32(i*i*i*7919-300000))
		d.x = append(d.x, float32(i-40)*0.37)
		d.y = append(d.y, float64(i*i)/7-100)
		d.u = append(d.u, uint8(i*37))
		d.s = append(d.s, pair{a: int16(i * 1001), b: float64(i) / 3,
			c: [3]uint8{uint8(i), uint8(2 * i), 3}, d: i%3 == 0, e: float32(i)})
	}
	d.ai, d.au = numbers[int32](8), numbers[uint64](8)
	d.m = gpu.Matrix[float32]{numbers[float32](12 * 11), 12, 8, 11}
	d.b = gpu.Matrix[float64]{numbers[float64](8 * 5), 8, 4, 5}
	return d
}

var (
	sessions []*linalg.Session
	failed   bool
)

func check(name string, grid backend.Grid, programs int, plain func(gpu.Item, *data),
	launch func(*linalg.Session, backend.Grid, *data) error,
) {
	want := newData(programs)
	run(name, grid, func(it gpu.Item) { plain(it, want) }, func(s *linalg.Session) func() {
		got := newData(programs)
		if err := launch(s, grid, got); err != nil {
			fail(name, s, err)
			return func() {}
		}
		return func() {
			same(name, s, got.out, want.out)
			same(name, s, got.i, want.i)
			same(name, s, got.u, want.u)
			same(name, s, got.s, want.s)
			same(name, s, got.ai, want.ai)
			same(name, s, got.au, want.au)
			same(name, s, got.m.Data, want.m.Data)
		}
	})
}

func checkGeneric[T gpu.Number](name string, grid backend.Grid, programs int,
	plain func(it gpu.Item, n int, f T, out []uint64, x, y []T),
	launch func(s *linalg.Session, grid backend.Grid, n int, f T, out []uint64, x, y []T) error,
) {
	const n, f = 7, 3
	y := numbers[T](96)
	out, x := make([]uint64, 96*8*programs), numbers[T](96)
	run(name, grid, func(it gpu.Item) { plain(it, n, f, out, x, y) }, func(s *linalg.Session) func() {
		gotOut, gotX := make([]uint64, len(out)), numbers[T](96)
		if err := launch(s, grid, n, f, gotOut, gotX, y); err != nil {
			fail(name, s, err)
			return func() {}
		}
		return func() {
			same(name, s, gotOut, out)
			same(name, s, gotX, x)
		}
	})
}

// run calls plain for every work-item, and launches on every device; what launch gives compares.
func run(name string, grid backend.Grid, plain func(gpu.Item), launch func(*linalg.Session) func()) {
	if only := os.Getenv("ONLY"); only != "" && only != name {
		return
	}
	if err := gpu.Run(grid, plain); err != nil {
		fmt.Println(name, "plain Go:", err)
		failed = true
		return
	}
	for _, s := range sessions {
		launch(s)()
	}
}

func fail(name string, s *linalg.Session, v ...any) {
	fmt.Println(append([]any{name, s.Info().Driver}, v...)...)
	failed = true
}

// same compares got and want; a NaN is like another.
func same[T comparable](name string, s *linalg.Session, got, want []T) {
	for i, g := range got {
		if w := want[i]; g != w && fmt.Sprint(g) != fmt.Sprint(w) {
			fail(name, s, fmt.Sprintf("element %d of %T: %v, want %v", i, want, g, w))
			return
		}
	}
}

func main() {
	for _, spec := range strings.Fields(os.Getenv("ON")) {
		s, err := linalg.Open(spec)
		if err != nil {
			log.Fatal(err)
		}
		s.SetChecked(os.Getenv("CHECKED") != "")
		sessions = append(sessions, s)
	}
CHECKS
	if !failed {
		fmt.Println("done")
	}
}
`
