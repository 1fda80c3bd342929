package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/examples/internal/exampletest"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
	"github.com/tandem-gpu/tandem/rmath/f32"
)

// checks compare each kernel with plain Go that does the same in another way. Small sizes, which
// are most of the time no multiples of a group's, are for devices that are slow.
var checks = []struct {
	name         string
	check        func(t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int)
	small, large [][2]int
}{
	{"matmul", checkMatmul, [][2]int{{1, 0}, {5, 23}, {16, 16}}, [][2]int{{40, 33}, {70, 129}}},
	{"nbody", checkNbody, [][2]int{{1}, {67}}, [][2]int{{64}, {500}}},
	{"wave", checkWave, [][2]int{{1, 1}, {17, 35}}, [][2]int{{16, 32}, {100, 77}}},
	{"sum", checkSum, [][2]int{{0}, {1}, {2500}}, [][2]int{{2048}, {100003}}},
	{"prefixsum", checkPrefixSum, [][2]int{{1}, {300}}, [][2]int{{128}, {40000}}},
	{"sort", checkSort, [][2]int{{1}, {256}, {700}}, [][2]int{{255}, {5000}, {8192}}},
	{"histogram", checkHistogram, [][2]int{{0}, {1000}}, [][2]int{{100003}}},
	{"mandelbrot", checkMandelbrot, [][2]int{{13, 9}}, [][2]int{{150, 101}}},
	{"life", checkLife, [][2]int{{1, 1}, {9, 2}}, [][2]int{{3, 1}, {50, 9}}},
	{"convolve", checkConvolve, [][2]int{{1, 1}, {17, 19}}, [][2]int{{3, 50}, {64, 99}}},
	{"sha256", checkSHA256, [][2]int{{3, 70}}, [][2]int{{64, 1}, {200, 300}}},
	{"shortestpaths", checkShortestPaths, [][2]int{{1}, {35}}, [][2]int{{16}, {100}}},
	{"blackscholes", checkBlackScholes, [][2]int{{0}, {1}, {600}}, [][2]int{{10007}}},
}

// Every kernel gives the bits of its reference, on every device.
func TestKernels(t *testing.T) {
	exampletest.Each(t, func(t *testing.T, spec string) {
		runtime.LockOSThread() // oclgrind keeps its state by thread
		s := open(t, spec)
		for _, c := range checks {
			sizes := c.small
			if spec != "cudasim" && !testing.Short() {
				sizes = slices.Concat(sizes, c.large)
			}
			for _, size := range sizes {
				c.check(t, s, rand.New(rand.NewPCG(1, 2)), size)
				if t.Failed() {
					t.Fatalf("kernel %s, size %v", c.name, size)
				}
			}
		}
	})
}

func open(t *testing.T, spec string) *linalg.Session {
	t.Helper()
	s, err := linalg.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same compares bits.
func same[T any](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !bytes.Equal(backend.Bytes(got), backend.Bytes(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func random[T linalg.Element](rows, cols int, r *rand.Rand) linalg.Matrix[T] {
	return filled(rows, cols, func() T { return T(r.NormFloat64() * 100) })
}

// poison is a matrix that no kernel may leave as it is.
func poison[T linalg.Element](rows, cols int) linalg.Matrix[T] {
	nan := math.NaN()
	return filled(rows, cols, func() T { return T(nan) })
}

func filled[T linalg.Element](rows, cols int, f func() T) linalg.Matrix[T] {
	m := linalg.NewMatrix[T](rows, cols, nil)
	for i := range m.Data {
		m.Data[i] = f()
	}
	return m
}

func upload[T any](t *testing.T, s *linalg.Session, m linalg.Matrix[T]) *linalg.Array[T] {
	t.Helper()
	a, err := linalg.Upload(s, m)
	ok(t, err)
	t.Cleanup(func() { a.Free() })
	return a
}

func row[T any](t *testing.T, s *linalg.Session, x []T) *linalg.Array[T] {
	t.Helper()
	return upload(t, s, linalg.NewMatrix(1, len(x), x))
}

func download[T any](t *testing.T, a *linalg.Array[T]) []T {
	t.Helper()
	m, err := a.Download()
	ok(t, err)
	return m.Data
}

func checkMatmul(t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int) {
	testMatmul[float32](t, s, r, size)
	testMatmul[float64](t, s, r, size)
	testMatmul[int32](t, s, r, size)
}

// In three loops, on host memory and on parts of arrays.
func testMatmul[T float32 | float64 | int32](t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int) {
	m, n, k := size[0], size[0]+2, size[1]
	a, b, want := random[T](m, k, r), random[T](k, n, r), linalg.NewMatrix[T](m, n, nil)
	for p := range k {
		for i := range m {
			for j := range n {
				want.Set(i, j, gpu.FMA(a.At(i, p), b.At(p, j), want.At(i, j)))
			}
		}
	}
	c := poison[T](m, n)
	ok(t, launchMatmul[T](s, tiles(m, n, side), c, a, b))
	same(t, "host memory", c.Data, want.Data)
	big := upload(t, s, poison[T](m+3, n+5))
	part := big.Slice(2, m+2, 3, n+3)
	ok(t, launchMatmul[T](s, tiles(m, n, side), part, upload(t, s, a), b))
	same(t, "part of an array", download(t, part), want.Data)
}

// The kernel for matrices gives the bits of linalg.MatMul, also in plain Go.
func TestMatmul(t *testing.T) {
	exampletest.Each(t, func(t *testing.T, spec string) {
		s, r := open(t, spec), rand.New(rand.NewPCG(1, 2))
		a, b, c := random[float32](21, 35, r), random[float32](35, 18, r), poison[float32](21, 18)
		want, err := linalg.MatMul(a, b, linalg.On(s))
		ok(t, err)
		ok(t, launchMatmul[float32](s, tiles(21, 18, side), c, a, b))
		same(t, "compiled", c.Data, want.Data)
		clear(c.Data)
		on := func(m linalg.Matrix[float32]) gpu.Matrix[float32] {
			return gpu.Matrix[float32]{Data: m.Data, Rows: m.Rows, Cols: m.Cols, Stride: m.Stride}
		}
		ok(t, gpu.Run(tiles(21, 18, side), func(it gpu.Item) { matmul(it, on(c), on(a), on(b)) }))
		same(t, "plain Go", c.Data, want.Data)
	})
}

// Body by body and component by component.
func checkNbody(t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int) {
	const dt = 0.125
	n := size[0]
	now, velocity, next := make([]body, n), make([]vec, n), make([]body, n)
	for i := range now {
		now[i] = body{vec{r.Float32(), r.Float32(), r.Float32()}, r.Float32()}
		velocity[i] = vec{r.Float32(), r.Float32(), r.Float32()}
	}
	places := func(b body) [3]float32 { return [3]float32{b.at.x, b.at.y, b.at.z} }
	wantNext, wantVelocity := slices.Clone(now), slices.Clone(velocity)
	for i := range now {
		var pull [3]float32
		for _, other := range now {
			d := places(other)
			r2 := float32(0)
			for c := 2; c >= 0; c-- {
				d[c] -= places(now[i])[c]
				r2 = gpu.FMA(d[c], d[c], r2)
			}
			r2 += softening
			f := other.mass / (r2 * float32(math.Sqrt(float64(r2))))
			for c := range pull {
				pull[c] = gpu.FMA(f, d[c], pull[c])
			}
		}
		v := velocity[i]
		v = vec{gpu.FMA(dt, pull[0], v.x), gpu.FMA(dt, pull[1], v.y), gpu.FMA(dt, pull[2], v.z)}
		p := now[i].at
		wantVelocity[i] = v
		wantNext[i].at = vec{gpu.FMA(dt, v.x, p.x), gpu.FMA(dt, v.y, p.y), gpu.FMA(dt, v.z, p.z)}
	}
	to, from, speed := row(t, s, next), row(t, s, now), row(t, s, velocity)
	ok(t, moveBodies(s, to, from, speed, dt))
	same(t, "places", download(t, to), wantNext)
	same(t, "velocities", download(t, speed), wantVelocity)
	ok(t, launchNbody(s, groups(n, bodies), next, now, velocity, dt))
	same(t, "places in host memory", next, wantNext)
	same(t, "velocities in host memory", velocity, wantVelocity)
}

func checkWave(t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int) {
	testWave[float32](t, s, r, size)
	testWave[float64](t, s, r, size)
}

// Three steps, in a matrix with a border of zeros.
func testWave[T float32 | float64](t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int) {
	const c2 = 0.3
	rows, cols := size[0], size[1]
	u := random[T](rows, cols, r)
	next, now, before := upload(t, s, poison[T](rows, cols)), upload(t, s, u), upload(t, s, u)
	for range 3 {
		ok(t, moveWave(s, next, now, before, c2))
		next, now, before = before, next, now
	}
	wide := cols + 2
	a := make([]T, (rows+2)*wide)
	for i := range rows {
		copy(a[(i+1)*wide+1:], u.Row(i))
	}
	b := slices.Clone(a)
	for range 3 {
		c := slices.Clone(a)
		for i := 1; i <= rows; i++ {
			for j := 1; j <= cols; j++ {
				at := i*wide + j
				around := (a[at-wide] + a[at+wide]) + (a[at-1] + a[at+1])
				c[at] = gpu.FMA(T(c2), gpu.FMA(-4, a[at], around), gpu.FMA(2, a[at], -b[at]))
			}
		}
		a, b = c, a
	}
	got := download(t, now)
	for i := range rows {
		same(t, fmt.Sprint("row ", i), got[i*cols:(i+1)*cols], a[(i+1)*wide+1:(i+2)*wide-1])
	}
}

func checkSum(t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int) {
	testSum[float32](t, s, r, size[0])
	testSum[int32](t, s, r, size[0])
}

// The tree from its root down.
func testSum[T float32 | int32](t *testing.T, s *linalg.Session, r *rand.Rand, n int) {
	x := random[T](1, n, r)
	groupSum := func(x []T, first, step int) T {
		var tree func(l, n int) T
		tree = func(l, n int) (sum T) {
			if n < lanes {
				return tree(l, 2*n) + tree(l+n, 2*n)
			}
			for i := first + l; i < len(x); i += step {
				sum += x[i]
			}
			return sum
		}
		return tree(0, 1)
	}
	var sums []T
	for g := range sumGroups {
		sums = append(sums, groupSum(x.Data, g*lanes, sumGroups*lanes))
	}
	got, err := sumOf(s, upload(t, s, x))
	ok(t, err)
	same(t, "sum", []T{got}, []T{groupSum(sums, 0, lanes)})
}

func checkPrefixSum(t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int) {
	x := filled(1, size[0], r.Int32)
	a := upload(t, s, x)
	ok(t, scan(s, a))
	for i := 1; i < len(x.Data); i++ {
		x.Data[i] += x.Data[i-1]
	}
	same(t, "sums", download(t, a), x.Data)
}

func checkSort(t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int) {
	x := filled(1, size[0], func() int32 { return r.Int32N(2*int32(size[0])) - int32(size[0]) })
	x.Data[0], x.Data[len(x.Data)/2] = math.MinInt32, math.MaxInt32
	a := upload(t, s, x)
	ok(t, sortInts(s, a))
	slices.Sort(x.Data)
	same(t, "sorted", download(t, a), x.Data)
}

func checkHistogram(t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int) {
	data := make([]uint8, size[0])
	want := make([]uint32, bins)
	for i := range data {
		data[i] = uint8(r.NormFloat64() * 40)
		want[data[i]]++
	}
	counts, err := count(s, row(t, s, data))
	ok(t, err)
	same(t, "counts", download(t, counts), want)
	ok(t, counts.Free())
	got := make([]uint32, bins)
	ok(t, launchHistogram(s, backend.Grid1(8, 64), got, data))
	same(t, "counts in host memory", got, want)
}

func checkMandelbrot(t *testing.T, s *linalg.Session, _ *rand.Rand, size [2]int) {
	got, err := picture(s, size[0], size[1])
	ok(t, err)
	want := image.NewGray(got.Rect)
	step := 3 / float64(size[0])
	top := -step * float64(size[1]) / 2
	for i := range want.Pix {
		cx := -2.25 + float64(float64(i%size[0])*step)
		cy := top + float64(float64(i/size[0])*step)
		x, y, turns := 0.0, 0.0, 0
		for ; turns < 100 && float64(x*x)+float64(y*y) <= 4; turns++ {
			y, x = 2*float64(x*y)+cy, float64(x*x)-float64(y*y)+cx
		}
		if turns < 100 {
			want.Pix[i] = uint8(255 * (turns + 1) / 100)
		}
	}
	same(t, "pixels", got.Pix, want.Pix)
}

// Cell by cell, for three generations.
func checkLife(t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int) {
	rows, wide := size[0], size[1]
	cols := 64 * wide
	now, poisoned := make([]uint64, rows*wide), make([]uint64, rows*wide)
	for i := range now {
		now[i], poisoned[i] = r.Uint64(), ^uint64(0)
	}
	alive := func(i, j int) int {
		i, j = (i+rows)%rows, (j+cols)%cols
		return int(now[i*wide+j/64] >> (j % 64) & 1)
	}
	next, from := row(t, s, poisoned), row(t, s, now)
	for range 3 {
		ok(t, generation(s, next, from, wide))
		want := make([]uint64, len(now))
		for i := range rows {
			for j := range cols {
				n := -alive(i, j)
				for y := i - 1; y <= i+1; y++ {
					n += alive(y, j-1) + alive(y, j) + alive(y, j+1)
				}
				if n == 3 || n == 2 && alive(i, j) == 1 {
					want[i*wide+j/64] |= 1 << (j % 64)
				}
			}
		}
		same(t, "cells", download(t, next), want)
		now, next, from = want, from, next
	}
}

// The sum over all elements of the matrix that the filter reaches.
func checkConvolve(t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int) {
	rows, cols := size[0], size[1]
	in, weights := random[float32](rows, cols, r), random[float32](taps, taps, r)
	out := upload(t, s, poison[float32](rows, cols))
	ok(t, filter(s, out, upload(t, s, in), weights.Data))
	want := make([]float32, rows*cols)
	for at := range want {
		i, j := at/cols, at%cols
		for y := min(rows-1, i+reach); y >= max(0, i-reach); y-- {
			for x := min(cols-1, j+reach); x >= max(0, j-reach); x-- {
				want[at] = gpu.FMA(weights.At(i+reach-y, j+reach-x), in.At(y, x), want[at])
			}
		}
	}
	same(t, "elements", download(t, out), want)
}

func checkSHA256(t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int) {
	messages := make([][]byte, size[0])
	var want [][32]byte
	for i := range messages {
		messages[i] = make([]byte, i*size[1]/size[0]) // all lengths up to size[1]
		for j := range messages[i] {
			messages[i][j] = byte(r.Uint32())
		}
		want = append(want, sha256.Sum256(messages[i]))
	}
	got, err := digests(s, messages)
	ok(t, err)
	same(t, "digests", got, want)
}

// Floyd and Warshall's three loops.
func checkShortestPaths(t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int) {
	n := size[0]
	d := filled(n, n, func() int32 {
		if r.IntN(4) > 0 {
			return unreachable
		}
		return r.Int32N(1000)
	})
	for i := range n {
		d.Set(i, i, 0)
	}
	a := upload(t, s, d)
	ok(t, shortestPaths(s, a))
	for k := range n {
		for i := range n {
			for j := range n {
				d.Set(i, j, min(d.At(i, j), d.At(i, k)+d.At(k, j)))
			}
		}
	}
	same(t, "lengths", download(t, a), d.Data)
}

// The formula again, and near to what it is in float64: there puts are less than calls by
// the same in every model.
func checkBlackScholes(t *testing.T, s *linalg.Session, r *rand.Rand, size [2]int) {
	const rate, volatility = 0.03, 0.25
	options := make([]option, size[0])
	for i := range options {
		options[i] = option{50 + 100*r.Float32(), 50 + 100*r.Float32(), 0.1 + 3*r.Float32()}
	}
	w, err := worth(s, row(t, s, options), rate, volatility)
	ok(t, err)
	values := download(t, w)
	ok(t, w.Free())
	calls, puts := values[:len(options)], values[len(options):]
	fma := gpu.FMA[float32]
	tail := func(x float32) float32 { // beyond x, which is not negative
		u := 1 / fma(0.2316419, x, 1)
		sum := float32(0)
		for _, c := range []float32{1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530} {
			sum = fma(u, sum, c)
		}
		return float32(0.3989422804) * f32.Exp(-float32(x*x)/2) * float32(u*sum)
	}
	below := func(x float32) float32 {
		if x < 0 {
			return tail(-x)
		}
		return 1 - tail(x)
	}
	exact := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	want, wantPuts := make([]float32, len(options)), make([]float32, len(options))
	for i, o := range options {
		root := float32(volatility) * float32(math.Sqrt(float64(o.years)))
		high := fma(fma(volatility, volatility/2, rate), o.years, f32.Log(o.price/o.strike)) / root
		paid := o.strike * f32.Exp(-rate*o.years)
		want[i] = fma(o.price, below(high), -float32(paid*below(high-root)))
		wantPuts[i] = fma(paid, below(root-high), -float32(o.price*below(-high)))

		p, k, y := float64(o.price), float64(o.strike), float64(o.years)
		d := (math.Log(p/k) + (rate+volatility*volatility/2)*y) / (volatility * math.Sqrt(y))
		later := k * math.Exp(-rate*y)
		call := p*exact(d) - later*exact(d-volatility*math.Sqrt(y))
		near := func(what string, got float32, want float64) {
			if math.Abs(float64(got)-want) > 1e-4 {
				t.Errorf("%+v: %s %v, want %v", o, what, got, want)
			}
		}
		near("call", calls[i], call)
		near("put", puts[i], call-p+later)
	}
	same(t, "calls", calls, want)
	same(t, "puts", puts, wantPuts)
}

// The program shows the same on every device.
func TestRun(t *testing.T) {
	exampletest.Run(t, func(w io.Writer, spec string) error {
		names := []string{
			"matmul", "nbody", "sum", "prefixsum", "sort", "histogram", "life", "convolve", "sha256", "blackscholes",
		}
		return run(w, spec, "", names)
	}, `device: *
matmul: [4 5] [10 11]
nbody: at 0.0001 and 0.8580 after 10 steps
sum: 1 to 10000 is 50005000
prefixsum: of odd numbers [1 4 9 16 25] to 1000000
sort: [0 1 2 3 4] to [1004 1005 1006 1007 1008]
histogram: 3 e, 4 o, 8 spaces
life: the glider is at (4, 4)
convolve: an edge becomes [0.0 0.0 0.0 0.2 0.4 0.6 0.8 0.8 0.6]
sha256: of abc ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
blackscholes: to buy at 100 in a year is worth 10.4506, to sell 5.5735
`)
}

// All of it, with the picture.
func TestPicture(t *testing.T) {
	file := filepath.Join(t.TempDir(), "set.png")
	ok(t, run(io.Discard, "cpu", file, nil))
	f, err := os.Open(file)
	ok(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	ok(t, err)
	if in, out := img.At(150, 100), img.At(0, 0); img.Bounds().Dx() != 300 || in != (color.Gray{}) || out == in {
		t.Errorf("%v, %v in the middle and %v in the corner", img.Bounds(), in, out)
	}
	if err := run(io.Discard, "cpu", "", []string{"nothing"}); err == nil {
		t.Error("a name that no kernel has is no error")
	}
}
