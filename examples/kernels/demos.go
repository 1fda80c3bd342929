package main

import (
	"errors"
	"fmt"
	"image/png"
	"io"
	"math/bits"
	"os"

	"github.com/tandem-gpu/tandem/linalg"
)

// A demo shows one kernel in a line.
type demo struct {
	name string
	show func(*stage) error
}

// A stage is where demos show: what they print to, the device, and the file for a picture.
type stage struct {
	io.Writer
	s   *linalg.Session
	png string
}

var demos = []demo{
	{"matmul", (*stage).matmul},
	{"nbody", (*stage).nbody},
	{"wave", (*stage).wave},
	{"sum", (*stage).sum},
	{"prefixsum", (*stage).prefixSum},
	{"sort", (*stage).sort},
	{"histogram", (*stage).histogram},
	{"mandelbrot", (*stage).mandelbrot},
	{"life", (*stage).life},
	{"convolve", (*stage).convolve},
	{"sha256", (*stage).sha256},
	{"shortestpaths", (*stage).shortestPaths},
	{"blackscholes", (*stage).blackScholes},
}

func (t *stage) matmul() error {
	a := linalg.NewMatrix(2, 3, []float32{1, 2, 3, 4, 5, 6})
	b := linalg.NewMatrix(3, 2, []float32{1, 0, 0, 1, 1, 1})
	c := linalg.NewMatrix[float32](2, 2, nil)
	err := launchMatmul[float32](t.s, tiles(2, 2, side), c, a, b)
	fmt.Fprintln(t, "matmul:", c.Row(0), c.Row(1))
	return err
}

// A light body falls towards a heavy one, and this hardly to that.
func (t *stage) nbody() error {
	now, err1 := vector(t.s, []body{{mass: 1}, {at: vec{x: 1}, mass: 0.001}})
	next, err2 := linalg.NewArray[body](t.s, 1, 2)
	velocity, err3 := linalg.NewArray[vec](t.s, 1, 2)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	for range 10 {
		if err := moveBodies(t.s, next, now, velocity, 0.05); err != nil {
			return err
		}
		now, next = next, now
	}
	m, err := now.Download()
	if err != nil {
		return err
	}
	fmt.Fprintf(t, "nbody: at %.4f and %.4f after 10 steps\n", m.Data[0].at.x, m.Data[1].at.x)
	return nil
}

// A drop in the middle of a pond.
func (t *stage) wave() error {
	const n, steps = 64, 40
	drop := linalg.NewMatrix[float32](n, n, nil)
	drop.Set(n/2, n/2, 1)
	var u [3]*linalg.Array[float32]
	for i := range u {
		var err error
		if u[i], err = linalg.Upload(t.s, drop); err != nil {
			return err
		}
	}
	for i := range steps {
		if err := moveWave(t.s, u[(i+2)%3], u[(i+1)%3], u[i%3], 0.5); err != nil {
			return err
		}
	}
	m, err := u[(steps+1)%3].Download()
	if err != nil {
		return err
	}
	fmt.Fprintf(t, "wave: %.4f in the middle, %.4f at 20 from it, after %d steps\n", m.At(n/2, n/2), m.At(n/2, n/2+20),
		steps)
	return nil
}

// vector is a row of elements of any type on the device.
func vector[T any](s *linalg.Session, x []T) (*linalg.Array[T], error) {
	return linalg.Upload(s, linalg.NewMatrix(1, len(x), x))
}

// numbers is f(0), ..., f(n-1) on the device.
func (t *stage) numbers(n int, f func(i int) int32) (*linalg.Array[int32], error) {
	x := make([]int32, n)
	for i := range x {
		x[i] = f(i)
	}
	return vector(t.s, x)
}

func (t *stage) sum() error {
	x, err := t.numbers(10000, func(i int) int32 { return int32(i + 1) })
	if err != nil {
		return err
	}
	s, err := sumOf(t.s, x)
	fmt.Fprintln(t, "sum: 1 to 10000 is", s)
	return err
}

func (t *stage) prefixSum() error {
	x, err := t.numbers(1000, func(i int) int32 { return int32(2*i + 1) })
	if err != nil {
		return err
	}
	if err := scan(t.s, x); err != nil {
		return err
	}
	m, err := x.Download()
	if err != nil {
		return err
	}
	fmt.Fprintln(t, "prefixsum: of odd numbers", m.Data[:5], "to", m.Data[999])
	return nil
}

func (t *stage) sort() error {
	x, err := t.numbers(1000, func(i int) int32 { return int32(i * 617 % 1009) })
	if err != nil {
		return err
	}
	if err := sortInts(t.s, x); err != nil {
		return err
	}
	m, err := x.Download()
	if err != nil {
		return err
	}
	fmt.Fprintln(t, "sort:", m.Data[:5], "to", m.Data[995:])
	return nil
}

func (t *stage) histogram() error {
	data, err := vector(t.s, []byte("the quick brown fox jumps over the lazy dog"))
	if err != nil {
		return err
	}
	counts, err := count(t.s, data)
	if err != nil {
		return err
	}
	m, err := counts.Download()
	if err != nil {
		return err
	}
	fmt.Fprintf(t, "histogram: %d e, %d o, %d spaces\n", m.Data['e'], m.Data['o'], m.Data[' '])
	return nil
}

func (t *stage) mandelbrot() error {
	img, err := picture(t.s, 300, 200)
	if err != nil {
		return err
	}
	black := 0
	for _, p := range img.Pix {
		if p == 0 {
			black++
		}
	}
	fmt.Fprintf(t, "mandelbrot: %d of %d pixels are black\n", black, len(img.Pix))
	if t.png == "" {
		return nil
	}
	f, err := os.Create(t.png)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := png.Encode(f, img); err != nil {
		return err
	}
	return f.Close()
}

// A glider, which 4 generations move by one cell in both directions.
func (t *stage) life() error {
	now, err1 := vector(t.s, []uint64{2, 4, 7, 0, 0, 0, 0, 0})
	next, err2 := linalg.NewArray[uint64](t.s, 1, 8)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for range 16 {
		if err := generation(t.s, next, now, 1); err != nil {
			return err
		}
		now, next = next, now
	}
	m, err := now.Download()
	if err != nil {
		return err
	}
	for i, row := range m.Data {
		if row != 0 {
			fmt.Fprintf(t, "life: the glider is at (%d, %d)\n", i, bits.TrailingZeros64(row|m.Data[i+1]|m.Data[i+2]))
			break
		}
	}
	return nil
}

// A filter that blurs, on an edge.
func (t *stage) convolve() error {
	edge := linalg.NewMatrix[float32](9, 9, nil)
	for i := range edge.Data {
		if i%9 > 4 {
			edge.Data[i] = 1
		}
	}
	weights := make([]float32, taps*taps)
	for i := range weights {
		weights[i] = 1.0 / taps / taps
	}
	in, err := linalg.Upload(t.s, edge)
	if err != nil {
		return err
	}
	out, err := linalg.NewArray[float32](t.s, 9, 9)
	if err != nil {
		return err
	}
	if err := filter(t.s, out, in, weights); err != nil {
		return err
	}
	m, err := out.Download()
	if err != nil {
		return err
	}
	fmt.Fprintf(t, "convolve: an edge becomes %.1f\n", m.Row(4))
	return nil
}

func (t *stage) sha256() error {
	d, err := digests(t.s, [][]byte{[]byte("abc")})
	if err != nil {
		return err
	}
	fmt.Fprintf(t, "sha256: of abc %x\n", d[0])
	return nil
}

// A ring of streets, each one way.
func (t *stage) shortestPaths() error {
	const n = 50
	ring := linalg.NewMatrix[int32](n, n, nil)
	for i := range n {
		for j := range n {
			switch j {
			case i:
			case (i + 1) % n:
				ring.Set(i, j, 3)
			default:
				ring.Set(i, j, unreachable)
			}
		}
	}
	d, err := linalg.Upload(t.s, ring)
	if err != nil {
		return err
	}
	if err := shortestPaths(t.s, d); err != nil {
		return err
	}
	m, err := d.Download()
	if err != nil {
		return err
	}
	fmt.Fprintln(t, "shortestpaths: on a ring of 50, one step back takes", m.At(1, 0))
	return nil
}

func (t *stage) blackScholes() error {
	options, err := vector(t.s, []option{{price: 100, strike: 100, years: 1}})
	if err != nil {
		return err
	}
	w, err := worth(t.s, options, 0.05, 0.2)
	if err != nil {
		return err
	}
	m, err := w.Download()
	if err != nil {
		return err
	}
	fmt.Fprintf(t, "blackscholes: to buy at 100 in a year is worth %.4f, to sell %.4f\n", m.At(0, 0), m.At(1, 0))
	return nil
}
