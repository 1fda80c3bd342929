package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/cpu"
	"github.com/tandem-gpu/tandem/examples/seeds"
	"github.com/tandem-gpu/tandem/linalg"
)

// BenchmarkBesideC holds kernels on the cpu device, as machine code of each kind and as Go, and on
// PoCL, against the same in plain C on two threads (testdata/beside.c), as clang-19 and gcc make it
// for processors with AVX2, and against Numba, where Python has it. All take turns; each gives the
// median over turns of the median run of some 20 ms. What is not installed is left out.
//
//	go test -run '^$' -bench BesideC -benchtime 7x -cpu 2 ./examples/kernels
func BenchmarkBesideC(b *testing.B) {
	list := append(devices(b), processes(b)...)
	for _, k := range besideKernels {
		byTurns(b, &k, list)
	}
}

// BenchmarkLaunches is what a launch takes in all, of kernels that do little, in the same way.
func BenchmarkLaunches(b *testing.B) {
	list := devices(b)
	for _, n := range []int{10, 256, 1 << 16} {
		start := func(s *linalg.Session) (work, error) { return startDouble(s, n) }
		byTurns(b, &besideKernel{name: fmt.Sprint(n), start: start}, list)
	}
}

func byTurns(b *testing.B, k *besideKernel, list []rival) {
	b.Run(k.name, func(b *testing.B) {
		var ready []contender
		for _, r := range list {
			if c := r(b, k); c.run != nil {
				ready = append(ready, c)
			}
		}
		for range b.N {
			for i := range ready {
				time.Sleep(50 * time.Millisecond) // threads of the one before, such as OpenMP's, wait awake
				ready[i].times = append(ready[i].times, ready[i].run(b))
			}
		}
		b.ReportMetric(0, "ns/op")
		for _, c := range ready {
			slices.Sort(c.times)
			b.ReportMetric(c.times[len(c.times)/2]/1000, c.name+"-µs")
		}
	})
}

// A contender runs a kernel for some time, and gives what a run takes in ns.
type contender struct {
	name  string
	run   func(b *testing.B) float64
	times []float64
}

// A rival makes a contender of a kernel; one without run where it has no such kernel.
type rival func(*testing.B, *besideKernel) contender

// devices are the cpu device, with each kind of code, and PoCL.
func devices(b *testing.B) (list []rival) {
	for _, d := range []struct{ name, spec, native string }{
		{"avx512", "cpu", "avx512"}, {"avx2", "cpu", "avx2"}, {"off", "cpu", "off"}, {"pocl", "opencl", ""},
	} {
		b.Setenv(cpu.EnvNative, d.native)
		s, err := linalg.Open(d.spec)
		if err != nil {
			b.Log(d.name, "is not there:", err)
			continue
		}
		b.Cleanup(func() { s.Close() })
		list = append(list, func(b *testing.B, k *besideKernel) contender { return k.on(b, s, d.name) })
	}
	return list
}

// processes are C, as two compilers make it, and Numba.
func processes(b *testing.B) (list []rival) {
	commands := map[string][]string{"numba": {"python3", "testdata/beside_numba.py"}}
	for _, compiler := range []string{"clang-19", "gcc"} {
		program := filepath.Join(b.TempDir(), "beside")
		out, err := exec.Command(compiler, "-O3", "-march=x86-64-v3", "-ffp-contract=off", "-fno-math-errno",
			"-o", program, "testdata/beside.c", "-lm", "-lpthread").CombinedOutput()
		if err != nil {
			b.Log(compiler, "is not there:", err, string(out))
			continue
		}
		commands[compiler] = []string{program}
	}
	for _, name := range []string{"clang-19", "gcc", "numba"} {
		if commands[name] == nil {
			continue
		}
		p, err := start(b, commands[name])
		if err != nil {
			b.Log(name, "is not there:", err)
			continue
		}
		list = append(list, func(b *testing.B, k *besideKernel) contender { return p.contender(b, k, name) })
	}
	return list
}

// A process is another program that runs kernels: for each line "NAME RUNS" it prints what a run
// takes, and the sum of the results.
type process struct {
	in  io.Writer
	out *bufio.Reader
}

func start(b *testing.B, command []string) (*process, error) {
	cmd := exec.Command(command[0], command[1:]...)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return nil, err
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return &process{in, bufio.NewReader(out)}, nil
}

func (p *process) ask(name string, runs int) (ns, sum float64, err error) {
	fmt.Fprintln(p.in, name, runs)
	line, err := p.out.ReadString('\n')
	if err != nil {
		return 0, 0, err
	}
	_, err = fmt.Sscan(line, &ns, &sum)
	return ns, sum, err
}

// contender is nothing where the process does not have the kernel.
func (p *process) contender(b *testing.B, k *besideKernel, name string) contender {
	ns, sum, err := p.ask(k.name, 3)
	if err != nil || ns == 0 {
		return contender{}
	}
	k.compare(b, name, sum)
	return contender{name: name, run: func(b *testing.B) float64 {
		ns, _, err := p.ask(k.name, runsOf(ns))
		check(b, err)
		return ns
	}}
}

// runsOf is how many runs of ns take some 20 ms.
func runsOf(ns float64) int { return 1 + int(20e6/ns) }

// A besideKernel is a kernel that has a rival in C: start brings its data to the device.
type besideKernel struct {
	name  string
	start func(s *linalg.Session) (work, error)
	sum   float64 // of the first one's results
}

// work is a kernel with its data. again, where it is not nil, comes before every run.
type work struct {
	again, run func() error
	sum        func() (float64, error)
}

// compare finds results that are not those of the first contender, of which some are rounded in
// another way.
func (k *besideKernel) compare(b *testing.B, name string, sum float64) {
	b.Helper()
	if k.sum == 0 {
		k.sum = sum
	}
	if math.Abs(sum-k.sum) > 1e-5*math.Abs(k.sum) {
		b.Errorf("%s: the sum of its results is %v, want %v", name, sum, k.sum)
	}
}

// on is k as a contender on the device of s.
func (k *besideKernel) on(b *testing.B, s *linalg.Session, name string) contender {
	w, err := k.start(s)
	check(b, err)
	once := func() float64 {
		if w.again != nil {
			check(b, w.again())
		}
		check(b, s.Wait())
		start := time.Now()
		check(b, w.run())
		check(b, s.Wait())
		return float64(time.Since(start))
	}
	once()
	sum, err := w.sum()
	check(b, err)
	k.compare(b, name, sum)
	ns := once()
	return contender{name: name, run: func(b *testing.B) float64 {
		times := make([]float64, runsOf(ns))
		for i := range times {
			times[i] = once()
		}
		slices.Sort(times)
		return times[len(times)/2]
	}}
}

// number is element k of the data, and unit the same from 0 to 1.
func number(k int) uint32 {
	n := uint32(k) * 2654435761
	return n ^ n>>16
}

func unit(k int) float32 { return float32(number(k)&0xffff) / 65536 }

func integer(k int) int32 { return int32(number(k)) }

// besideKernels are the kernels of this folder, and two of examples/seeds.
var besideKernels = []besideKernel{
	{name: "double", start: func(s *linalg.Session) (work, error) { return startDouble(s, many) }},
	{name: "sum", start: startSum},
	{name: "nbody", start: startNbody},
	{name: "blackscholes", start: startBlackScholes},
	{name: "mandelbrot", start: startMandelbrot},
	{name: "histogram", start: startHistogram},
	{name: "naive", start: func(s *linalg.Session) (work, error) { return startProduct(s, true) }},
	{name: "matmul", start: func(s *linalg.Session) (work, error) { return startProduct(s, false) }},
	{name: "wave", start: startWave},
	{name: "convolve", start: startConvolve},
	{name: "life", start: startLife},
	{name: "sha256", start: startSHA256},
	{name: "prefixsum", start: startPrefixSum},
	{name: "sort", start: startSort},
	{name: "shortestpaths", start: startPaths},
}

const many = 1 << 22

// data is rows by cols elements on the device; element k is f(k).
func data[T any](s *linalg.Session, rows, cols int, f func(k int) T) (*linalg.Array[T], linalg.Matrix[T], error) {
	m := linalg.Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: make([]T, rows*cols)}
	for k := range m.Data {
		m.Data[k] = f(k)
	}
	a, err := linalg.Upload(s, m)
	return a, m, err
}

// sumOver is the sum of f over the elements of a.
func sumOver[T any](a *linalg.Array[T], f func(k int, x T) float64) func() (float64, error) {
	return func() (sum float64, err error) {
		m, err := a.Download()
		for k, x := range m.Data {
			sum += f(k, x)
		}
		return sum, err
	}
}

func value[T linalg.Element | uint8 | uint32](_ int, x T) float64 { return float64(x) }

func size(_ int, x float32) float64 { return math.Abs(float64(x)) }

func startDouble(s *linalg.Session, n int) (work, error) {
	x, _, err := data(s, 1, n, unit)
	run := func() error { return seeds.LaunchMyKernel[float32](s, groups(n, 256), x) }
	return work{run: run, sum: sumOver(x, value)}, err
}

func startSum(s *linalg.Session) (work, error) {
	x, _, err := data(s, 1, many, unit)
	var sum float32
	run := func() (err error) {
		sum, err = sumOf(s, x)
		return err
	}
	return work{run: run, sum: func() (float64, error) { return float64(sum), nil }}, err
}

func startNbody(s *linalg.Session) (work, error) {
	const n = 4096
	now, _, err1 := data(s, 1, n, func(k int) body {
		return body{vec{unit(4 * k), unit(4*k + 1), unit(4*k + 2)}, unit(4*k + 3)}
	})
	next, err2 := linalg.NewArray[body](s, 1, n)
	velocity, err3 := linalg.NewArray[vec](s, 1, n)
	run := func() error { return moveBodies(s, next, now, velocity, 0.01) }
	sum := sumOver(next, func(_ int, b body) float64 { return float64(b.at.x) })
	return work{run: run, sum: sum}, errors.Join(err1, err2, err3)
}

func startBlackScholes(s *linalg.Session) (work, error) {
	const n = 1 << 18
	options, _, err1 := data(s, 1, n, func(k int) option {
		return option{50 + 100*unit(3*k), 50 + 100*unit(3*k+1), 1 + unit(3*k+2)}
	})
	calls, err2 := linalg.NewArray[float32](s, 1, n)
	puts, err3 := linalg.NewArray[float32](s, 1, n)
	run := func() error {
		return launchBlackScholes(s, backend.Grid1(8, 64), calls, puts, options, 0.05, 0.2)
	}
	return work{run: run, sum: sumOver(calls, value)}, errors.Join(err1, err2, err3)
}

func startMandelbrot(s *linalg.Session) (work, error) {
	const width, height = 900, 600
	step := 3 / float64(width)
	pixels, err := linalg.NewArray[uint8](s, height, width)
	run := func() error {
		return launchMandelbrot(s, tiles(height, width, 8), pixels, width, -2.25, -step*height/2, step, 100)
	}
	return work{run: run, sum: sumOver(pixels, value)}, err
}

func startHistogram(s *linalg.Session) (work, error) {
	x, _, err1 := data(s, 1, many, func(k int) uint8 { return uint8(number(k) % 200) })
	counts, err2 := linalg.NewArray[uint32](s, 1, bins)
	run := func() error { return launchHistogram(s, backend.Grid1(8, 64), counts, x) }
	sum := sumOver(counts, func(k int, n uint32) float64 { return float64(k) * float64(n) })
	return work{run: run, sum: sum}, errors.Join(err1, err2)
}

func startProduct(s *linalg.Session, naive bool) (work, error) {
	const n = 512
	a, _, err1 := data(s, n, n, func(k int) float32 { return unit(k) - 0.5 })
	b, _, err2 := data(s, n, n, func(k int) float32 { return unit(k%n*n+k/n) - 0.5 })
	c, err3 := linalg.NewArray[float32](s, n, n)
	launch := launchMatmul[float32, *linalg.Array[float32], *linalg.Array[float32], *linalg.Array[float32]]
	if naive {
		launch = seeds.LaunchMatmul[float32, *linalg.Array[float32], *linalg.Array[float32], *linalg.Array[float32]]
	}
	run := func() error { return launch(s, tiles(n, n, side), c, a, b) }
	if naive {
		run = func() error { return launch(s, tiles(n, n, side), a, b, c) }
	}
	return work{run: run, sum: sumOver(c, size)}, errors.Join(err1, err2, err3)
}

func startWave(s *linalg.Session) (work, error) {
	const n = 1504
	before, _, err1 := data(s, n, n, unit)
	now, _, err2 := data(s, n, n, func(k int) float32 { return unit(k + 7) })
	next, err3 := linalg.NewArray[float32](s, n, n)
	run := func() error { return moveWave(s, next, now, before, 0.3) }
	return work{run: run, sum: sumOver(next, size)}, errors.Join(err1, err2, err3)
}

func startConvolve(s *linalg.Session) (work, error) {
	const n = 1504
	in, _, err1 := data(s, n, n, func(k int) float32 { return unit(k + 7) })
	weights, _, err2 := data(s, 1, taps*taps, unit)
	out, err3 := linalg.NewArray[float32](s, n, n)
	run := func() error { return launchConvolve(s, convolveKernel.GridFor(n, n), out, in, weights) }
	return work{run: run, sum: sumOver(out, size)}, errors.Join(err1, err2, err3)
}

func startLife(s *linalg.Session) (work, error) {
	const wide, high = 32, 2048
	now, _, err1 := data(s, 1, high*wide, func(k int) uint64 { return uint64(number(k)) * 0x9e3779b97f4a7c15 })
	next, err2 := linalg.NewArray[uint64](s, 1, high*wide)
	run := func() error { return generation(s, next, now, wide) }
	sum := sumOver(next, func(_ int, x uint64) float64 { return float64(bits.OnesCount64(x)) })
	return work{run: run, sum: sum}, errors.Join(err1, err2)
}

func startSHA256(s *linalg.Session) (work, error) {
	const n, length = 8192, 300
	texts, _, err1 := data(s, 1, n*length, func(k int) uint8 { return uint8(number(k)) })
	ends, _, err2 := data(s, 1, n, func(k int) uint32 { return uint32((k + 1) * length) })
	digest, err3 := linalg.NewArray[uint32](s, n, 8)
	run := func() error { return launchHash(s, groups(n, 64), digest, texts, ends) }
	return work{run: run, sum: sumOver(digest, value)}, errors.Join(err1, err2, err3)
}

const numbers = 1 << 20

// mixed is a sum that the order of numbers changes.
func mixed(k int, x int32) float64 { return float64(x) * float64(k%7) }

func startPrefixSum(s *linalg.Session) (work, error) {
	x, _, err := data(s, 1, numbers, integer)
	return work{run: func() error { return scan(s, x) }, sum: sumOver(x, mixed)}, err
}

func startSort(s *linalg.Session) (work, error) {
	x, m, err := data(s, 1, numbers, integer)
	again := func() error { return x.CopyFrom(m) }
	return work{again: again, run: func() error { return sortInts(s, x) }, sum: sumOver(x, mixed)}, err
}

func startPaths(s *linalg.Session) (work, error) {
	const n = 512
	ways, _, err := data(s, n, n, func(k int) int32 {
		if k/n == k%n {
			return 0
		}
		return 1 + int32(number(k)%100000)
	})
	return work{run: func() error { return shortestPaths(s, ways) }, sum: sumOver(ways, value)}, err
}
