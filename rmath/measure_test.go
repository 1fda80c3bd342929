package rmath

import (
	"flag"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/rmath/internal/mp"
)

var (
	measure = flag.String("measure", "", "functions to measure, with commas, or all")
	points  = flag.Int("points", 100_000_000, "points of each function that -measure tries")
	record  = flag.Bool("record", false, "write what -measure finds to testdata")
)

func TestMain(m *testing.M) {
	flag.Parse()
	mp.Prepare(3500)
	os.Exit(m.Run())
}

// A definition says what a function is. One of two arguments is measured as a function of one at
// a time: a family of functions, each with the other argument fixed.
type definition struct {
	name   string
	bound  float64 // the error that is promised, in ulp
	f      func(x float64) float64
	series func(x mp.Series) mp.Series
	family func(r *rand.Rand, turn int) member // for functions of two arguments, instead

	// Where arguments are drawn, as often from one range as from another.
	ranges []span

	edges []float64 // arguments to try beside those that every function has
}

// A span is the numbers from lo to hi, which have one sign, added to at, which is 0 or 1.
type span struct{ lo, hi, at float64 }

// draw spreads half of the numbers evenly over the span; the others take its binades in turn.
func (s span) draw(r *rand.Rand, turn int) float64 {
	if turn%2 == 0 {
		return s.at + (s.lo + float64((s.hi-s.lo)*r.Float64()))
	}
	near, far := s.lo, s.hi
	if math.Abs(near) > math.Abs(far) {
		near, far = far, near
	}
	_, first := math.Frexp(near)
	_, last := math.Frexp(math.Nextafter(far, 0))
	x := math.Ldexp(math.Copysign(0.5+r.Float64()/2, far), first+turn/2%(last-first+1))
	return s.at + max(min(near, far), min(x, max(near, far)))
}

// A member is a function of one argument with the other fixed, and a point of it.
type member struct {
	f      func(x float64) float64
	series func(x mp.Series) mp.Series
	x      float64
	other  float64
	plain  bool // nothing cancels
}

// draw is a member of the function's family, and an argument: of each range in turn.
func (d *definition) draw(r *rand.Rand, turn int) member {
	if d.family != nil {
		return d.family(r, turn)
	}
	n := len(d.ranges)
	return member{f: d.f, series: d.series, x: d.ranges[turn%n].draw(r, turn/n)}
}

// precision of a reference near x: a difference of numbers near 1 may be as small as x.
func (m *member) precision(x float64) uint {
	_, e := math.Frexp(x)
	if m.plain {
		e = 0
	}
	return 170 + uint(max(0, -e))
}

// A block is a function near c: high + low + a[0] u + a[1] u^2 ... for the argument c + u 2^e, with
// |u| <= 1. All but high is below 2^-10 of it, so that rounding does not count, and the Taylor
// series has an error of about 2^-70.
type block struct {
	c, high, low float64
	e            int
	a            [terms - 1]float64
}

const terms = 8

// block is the block around m.x; false if it would be a point, or nearly so, or where results are
// not normal numbers.
func (m *member) block() (b block, ok bool) {
	s := m.series(mp.Variable(mp.New(m.precision(m.x), m.x), terms))
	order := s[0].MantExp(nil)
	if s[0].Sign() == 0 || order < -1000 || order > 1022 {
		return b, false
	}
	ulps := ulpExponent(m.x)
	_, e := math.Frexp(m.x)
	e -= 5
	for k, less := range []int{1: 11, 5: 72, 6: 74, 7: 76} {
		if less > 0 && s[k].Sign() != 0 {
			n := order - less - s[k].MantExp(nil) - 1
			e = min(e, int(math.Floor(float64(n)/float64(k))))
		}
	}
	if e < ulps+4 {
		return b, false
	}
	b.c, b.e = m.x, e
	b.high = float(s[0])
	b.low = float(mp.Sub(s[0], mp.New(64, b.high)))
	for i := range b.a {
		b.a[i] = float(mp.Scale(s[i+1], e*(i+1)))
	}
	return b, true
}

// error is how far y is from the function of x, in ulp.
func (b *block) error(x, y float64) float64 {
	u := math.Ldexp(x-b.c, -b.e)
	a := &b.a
	rest := b.low + u*(a[0]+u*(a[1]+u*(a[2]+u*(a[3]+u*(a[4]+u*(a[5]+u*a[6]))))))
	return math.Ldexp(y-b.high-rest, -ulpExponent(b.high+rest))
}

// ulpExponent is the exponent of x's last place.
func ulpExponent(x float64) int {
	return max(int(math.Float64bits(x)>>52&0x7ff), 1) - 1075
}

func float(x mp.Num) float64 {
	f, _ := x.Float64()
	return f
}

// error is how far y is from the function of x, in ulp, by multiple precision. Where the value
// rounds to infinity, this alone is right.
func (m *member) error(x, y float64) float64 {
	want := m.series(mp.Series{mp.New(m.precision(x)+60, x)})[0]
	nearest := float(want)
	if math.IsInf(nearest, 0) || math.IsInf(y, 0) {
		if y == nearest {
			return 0
		}
		return math.Inf(1)
	}
	return float(mp.Scale(mp.Sub(want, mp.New(64, y)), -ulpExponent(nearest)))
}

// A result is the largest error, and where.
type result struct {
	worst  float64
	at     member
	digest uint64
	tried  int
}

func (r *result) add(m *member, x, y, err float64) {
	r.tried++
	r.digest = mix(r.digest, y)
	if err = math.Abs(err); !(err <= r.worst) && (r.worst == r.worst) {
		r.worst, r.at = err, *m
		r.at.x = x
	}
}

// mix adds a result to a digest, as FNV-1a does, word by word. All NaN are one.
func mix(h uint64, y float64) uint64 {
	b := math.Float64bits(y)
	if y != y {
		b = 0x7ff8000000000000
	}
	return (h ^ b) * 0x100000001b3
}

const (
	chunks    = 64
	blockSize = 2000
)

// chunk measures n points, the same ones in each call.
func (d *definition) chunk(c uint64, n int) (res result) {
	h := fnv.New64()
	h.Write([]byte(d.name))
	r := rand.New(rand.NewPCG(h.Sum64(), c))
	for turn := int(c) * (n/blockSize + 1); res.tried < n; turn++ {
		m := d.draw(r, turn)
		b, ok := m.block()
		if !ok {
			x := m.x
			y := m.f(x)
			res.add(&m, x, y, m.error(x, y))
			continue
		}
		for range min(blockSize, n-res.tried, 1<<min(20, b.e-ulpExponent(b.c)+1)) {
			x := max(-largest, min(b.c+math.Ldexp(2*r.Float64()-1, b.e), largest))
			y := m.f(x)
			res.add(&m, x, y, b.error(x, y))
		}
	}
	return res
}

// measure measures n points.
func (d *definition) measure(n int) (total result) {
	var results [chunks]result
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for c := range next {
				results[c] = d.chunk(uint64(c), n/chunks)
			}
		})
	}
	for c := range chunks {
		next <- c
	}
	close(next)
	wg.Wait()
	for _, r := range results {
		if !(r.worst <= total.worst) {
			total.worst, total.at = r.worst, r.at
		}
		total.digest = (total.digest ^ r.digest) * 0x100000001b3
		total.tried += r.tried
	}
	return total
}

// closer goes on around the worst point, ever closer: errors are largest where a table's bins meet,
// which are narrow places. Its points are not in the digest.
func (d *definition) closer(r *result) {
	for range 4 {
		from := r.at.x
		one := definition{name: d.name, f: r.at.f, series: r.at.series}
		for _, at := range []float64{0, 1, -1} {
			for k := 4; k < 44 && from != at; k += 3 {
				x := from - at
				for _, end := range []float64{x * (1 + math.Ldexp(1, -k)), x * (1 - math.Ldexp(1, -k))} {
					if d.family != nil || d.has(at+end) {
						one.ranges = append(one.ranges, span{lo: x, hi: end, at: at})
					}
				}
			}
		}
		near := one.measure(len(one.ranges) * chunks * blockSize)
		if near.at.other = r.at.other; near.worst > r.worst {
			r.worst, r.at = near.worst, near.at
		}
	}
}

// The errors of the functions that the flag names stay within their bounds.
func TestMeasure(t *testing.T) {
	if *measure == "" {
		t.Skip("make rmath-measure tries 10^8 points a function")
	}
	for _, d := range definitions {
		if *measure != "all" && !slices.Contains(strings.Split(*measure, ","), d.name) {
			continue
		}
		begin := time.Now()
		r := d.measure(*points)
		d.closer(&r)
		t.Logf("%s: %.5f ulp at %v (%v), %d points, %016x, %v", d.name, r.worst, r.at.x, r.at.other, r.tried, r.digest,
			time.Since(begin).Round(time.Second))
		d.report(t, r)
		if *record && r.worst <= d.bound {
			d.record(t, r)
		}
	}
}

func (d *definition) report(t *testing.T, r result) {
	t.Helper()
	if !(r.worst <= d.bound) {
		t.Errorf("%s(%v), other argument %v: an error of %.4f ulp, above %v", d.name, r.at.x, r.at.other, r.worst,
			d.bound)
	}
}

// The measurement finds an error of 1 ulp.
func TestMeasureFindsErrors(t *testing.T) {
	broken := *definitions[0]
	broken.f = func(x float64) float64 { return math.Nextafter(Exp(x), 0) }
	if r := broken.chunk(chunks, 1000); r.worst < 1.4 || r.worst > 1.6 {
		t.Errorf("an error of 1 ulp more is measured as %v", r.worst)
	}
}
