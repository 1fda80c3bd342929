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
	programs = flag.Int("programs", 8, "how many `random` kernels TestRandom compares")
	seed     = flag.Uint64("seed", 1, "the `seed` of the first of them")
	keep     = flag.String("keep", "", "keep a package that differs in this `folder`")
)

// Random kernels give the same bits as plain Go, on the cpu device, with OpenCL and on the
// simulated GPU. A long run: go test ./internal/compiler -run Random -programs 10000 -timeout 0.
func TestRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("runs programs on the simulated GPU")
	}
	const batch = 20
	for done := 0; done < *programs; done += batch {
		first := *seed + uint64(done)
		g := &generator{r: rand.New(rand.NewPCG(first, 2))}
		n := min(batch, *programs-done)
		dir := newModule(t, map[string]string{"kernels.go": g.file(n), "main.go": mainFile(n)})
		fail := func(what, text string) {
			if *keep != "" {
				os.CopyFS(filepath.Join(*keep, fmt.Sprint(first)), os.DirFS(dir))
			}
			t.Fatalf("seed %d: %s\n%s", first, what, text)
		}
		if err := Write(dir, Options{PTX: Clang()}); err != nil {
			fail("compiling", err.Error())
		}
		out, err := goTool(t, dir, "run", ".")
		if strings.Contains(out, "no device") {
			backendtest.Require(t, "opencl", fmt.Errorf("%s", out))
		}
		if err != nil || !strings.HasSuffix(out, "done\n") {
			fail("running", out)
		}
		t.Logf("seed %d: %d programs: %s", first, n, strings.TrimSpace(out))
	}
}

// mainFile runs the kernels and compares.
func mainFile(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b,
			"\tcheck(\"k%d\", func(it gpu.Item, d *data) {\n"+
				"\t\tk%[1]d(it, d.n, d.f, d.w, d.q, d.out, d.i, d.x, d.y, d.u, d.s)\n\t},\n"+
				"\t\tfunc(s *linalg.Session, d *data) error { return "+
				"launchK%[1]d(s, grid, d.n, d.f, d.w, d.q, d.out, d.i, d.x, d.y, d.u, d.s) })\n", i)
	}
	return strings.Replace(mainText, "CHECKS", b.String(), 1)
}

const mainText = `package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

var grid = backend.Grid1(3, 32)

type data struct {
	n   int
	f   float64
	w   pair
	q   [4]float32
	out []uint64
	i   []int32
	x   []float32
	y   []float64
	u   []uint8
	s   []pair
}

func newData() *data {
	d := &data{n: 7, f: 1.75, out: make([]uint64, 96*8), q: [4]float32{0.1, -2, 1e20, 3}}
	d.w = pair{a: -77, b: 1e-3, c: [3]uint8{255, 128, 1}, d: true, e: -0.5}
	for i := range 96 {
		d.i = append(d.i, int32(i*i*i*7919-300000))
		d.x = append(d.x, float32(i-40)*0.37)
		d.y = append(d.y, float64(i*i)/7-100)
		d.u = append(d.u, uint8(i*37))
		d.s = append(d.s, pair{a: int16(i * 1001), b: float64(i) / 3,
			c: [3]uint8{uint8(i), uint8(2 * i), 3}, d: i%3 == 0, e: float32(i)})
	}
	return d
}

var sessions []*linalg.Session

func check(name string, plain func(gpu.Item, *data), launch func(*linalg.Session, *data) error) {
	if only := os.Getenv("ONLY"); only != "" && only != name {
		return
	}
	start := time.Now()
	defer func() {
		if d := time.Since(start); d > 2*time.Second {
			fmt.Println(name, d)
		}
	}()
	want := newData()
	if err := gpu.Run(grid, func(it gpu.Item) { plain(it, want) }); err != nil {
		fmt.Println(name, "plain Go:", err)
		return
	}
	for _, s := range sessions {
		got, began := newData(), time.Now()
		err := launch(s, got)
		if d := time.Since(began); d > 5*time.Second {
			fmt.Println(name, s.Info().Driver, d)
		}
		if err != nil {
			fmt.Println(name, s.Info().Driver, err)
			os.Exit(1)
		}
		for i := range want.out {
			if got.out[i] != want.out[i] {
				fmt.Printf("%s %s: work-item %d value %d: %#x, want %#x\n",
					name, s.Info().Driver, i/8, i%8, got.out[i], want.out[i])
				os.Exit(1)
			}
		}
		same(name, s.Info().Driver, got.i, want.i)
		same(name, s.Info().Driver, got.u, want.u)
		same(name, s.Info().Driver, got.s, want.s)
	}
}

func same[T comparable](name, device string, got, want []T) {
	for i := range want {
		if got[i] != want[i] {
			fmt.Printf("%s %s: element %d of %T: %v, want %v\n", name, device, i, want, got[i], want[i])
			os.Exit(1)
		}
	}
}

func main() {
	for _, spec := range []string{"cpu", "opencl", "cudasim"} {
		s, err := linalg.Open(spec)
		if err != nil {
			log.Fatal(err)
		}
		sessions = append(sessions, s)
	}
CHECKS
	fmt.Println("done")
}
`
