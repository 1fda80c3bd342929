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
// checked mode, and one as the Go that is printed for the cpu device. docs/hardware.md has
// what PoCL 3.1 gets wrong. A long run:
// go test ./gpu/compiler -run Random -programs 10000 -timeout 0. On a simulated arm64
// processor: the same with CGO_ENABLED=0 GOARCH=arm64 GOFLAGS=-exec=qemu-aarch64 and
// QEMU_LD_PREFIX, on the cpu device. Plain Go fuses products with sums there: a difference counts
// where TANDEM_NATIVE=off has none.
func TestRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("runs programs on the simulated GPU")
	}
	testRandom(t, *on)
}

// Where slices are shorter than random kernels take them for, the cpu device gives one of the
// errors that plain Go has, with its index, length and line, as machine code and as Go. Of 800
// programs from seed 5000 on all that have an error in plain Go have one. Four differ: of seeds
// 5000 and 5600 three kernels name another index of the same line, since Go leaves open whether an
// index or a call comes first; one of seed 5350 has, in some runs, the line of a function literal
// for that of the call whose argument it is.
func TestRandomErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles random programs")
	}
	t.Setenv("CUT", "50")
	testRandom(t, "cpu")
}

func testRandom(t *testing.T, on string) {
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
		if !strings.Contains(on, "cudasim") {
			o.PTX = nil
		}
		if !strings.Contains(on, "cpu") {
			o.Native = nil
		}
		t.Setenv("ON", on)
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
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

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
	if cut > 0 {
		d.i, d.x, d.y = slices.Clip(d.i[:cut]), slices.Clip(d.x[:cut+1]), slices.Clip(d.y[:cut+2])
		d.u, d.s = slices.Clip(d.u[:cut+3]), slices.Clip(d.s[:cut+4])
	}
	return d
}

// cut is how many elements slices have of the 96 that kernels take them for; 0: all.
var cut, _ = strconv.Atoi(os.Getenv("CUT"))

var (
	sessions []*linalg.Session
	failed   bool
)

func check(name string, grid backend.Grid, programs int, plain func(gpu.Item, *data),
	launch func(*linalg.Session, backend.Grid, *data) error,
) {
	want := newData(programs)
	run(name, grid, func(it gpu.Item) { plain(it, want) }, func(s *linalg.Session) (func(), error) {
		got := newData(programs)
		err := launch(s, grid, got)
		return func() {
			same(name, s, got.out, want.out)
			same(name, s, got.i, want.i)
			same(name, s, got.u, want.u)
			same(name, s, got.s, want.s)
			same(name, s, got.ai, want.ai)
			same(name, s, got.au, want.au)
			same(name, s, got.m.Data, want.m.Data)
		}, err
	})
}

func checkGeneric[T gpu.Number](name string, grid backend.Grid, programs int,
	plain func(it gpu.Item, n int, f T, out []uint64, x, y []T),
	launch func(s *linalg.Session, grid backend.Grid, n int, f T, out []uint64, x, y []T) error,
) {
	const n, f = 7, 3
	length := 96
	if cut > 0 {
		length = cut
	}
	y := numbers[T](length + 1)
	out, x := make([]uint64, 96*8*programs), numbers[T](length)
	run(name, grid, func(it gpu.Item) { plain(it, n, f, out, x, y) }, func(s *linalg.Session) (func(), error) {
		gotOut, gotX := make([]uint64, len(out)), numbers[T](length)
		err := launch(s, grid, n, f, gotOut, gotX, y)
		return func() {
			same(name, s, gotOut, out)
			same(name, s, gotX, x)
		}, err
	})
}

// run calls plain for every work-item, and launches on every device; what launch gives compares.
func run(name string, grid backend.Grid, plain func(gpu.Item), launch func(*linalg.Session) (func(), error)) {
	if only := os.Getenv("ONLY"); only != "" && only != name {
		return
	}
	panics := panicsOf(grid, plain)
	if len(panics) > 0 && cut == 0 {
		fmt.Println(name, "plain Go:", panics)
		failed = true
		return
	}
	for _, s := range sessions {
		switch compare, err := launch(s); {
		case len(panics) > 0 && !isOneOf(err, panics):
			fail(name, s, fmt.Sprintf("error %v, want one of %v", err, panics))
		case len(panics) > 0:
			errs++
		case err != nil:
			fail(name, s, err)
		default:
			compare()
		}
	}
}

// errs is how many launches gave an error as they should.
var errs int

// panicsOf are the panics of plain Go in all groups, each with its line. Those of a group go on to
// the next barrier, since each may be the one that a device meets first.
func panicsOf(grid backend.Grid, plain func(gpu.Item)) (list map[string]bool) {
	var mu sync.Mutex
	list = map[string]bool{}
	for g := range grid.Count() {
		gpu.RunGroups(grid, g, g+1, func(it gpu.Item) {
			defer func() {
				if p := recover(); p != nil {
					mu.Lock()
					list[place()+": "+strings.TrimPrefix(fmt.Sprint(p), "runtime error: ")] = true
					mu.Unlock()
				}
			}()
			plain(it)
		})
	}
	return list
}

// place is the line of a kernel whose panic is recovered.
func place() string {
	pc := make([]uintptr, 100)
	frames := runtime.CallersFrames(pc[:runtime.Callers(0, pc)])
	for {
		f, more := frames.Next()
		if filepath.Base(f.File) == "kernels.go" {
			return fmt.Sprint("kernels.go:", f.Line)
		}
		if !more {
			return "?"
		}
	}
}

// isOneOf tells whether err is one of the panics.
func isOneOf(err error, panics map[string]bool) bool {
	for p := range panics {
		line, text, _ := strings.Cut(p, ": ")
		if err != nil && strings.Contains(err.Error(), text) && strings.Contains(err.Error(), line) {
			return true
		}
	}
	return false
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
	if cut > 0 {
		fmt.Println(errs, "errors")
	}
	if !failed {
		fmt.Println("done")
	}
}
`
