package f32

import (
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/internal/racetest"
)

var proof = flag.String("proof", "", "functions to prove over all 2^32 arguments, with commas, or all")

// A difference is an argument whose result is not the correctly rounded one.
type difference struct{ x, got, want float32 }

// A prover goes through the arguments of a chunk.
type prover struct {
	d       *definition
	sums    [2]uint64 // over the results for the chunk's arguments, and for their negatives
	results []float32
	angles  []angle
	decided []float32 // by multiple precision
	wrong   []difference
	size    int // of the last block
	series  map[region]*polynomial
	unknown []float32
}

func newProver(d *definition) *prover {
	return &prover{
		d: d, results: make([]float32, blockSize), angles: make([]angle, blockSize),
		series: map[region]*polynomial{}, size: blockSize,
	}
}

const (
	chunkBits = 24
	chunks    = 1 << (32 - chunkBits)
	blockSize = 1 << 16
	sign      = 1 << 31
)

// span proves the arguments from from to to, which have one sign; of a function with a symmetry
// also their negatives.
func (p *prover) span(from, to uint32) {
	regions := p.d.positive
	if from >= sign {
		regions = p.d.negative
	}
	const inf = 0x7f800000
	p.special(&from, to)
	start := from & sign
	for _, r := range regions {
		end := math.Float32bits(r.upTo) | from&sign
		lo, hi := max(from, start), min(to, end)
		if lo <= hi && start <= end {
			p.region(r, lo, hi, start)
		}
		start = end + 1
	}
	if lo := max(from, from&sign|inf); lo <= to { // infinity and NaNs
		if lo&^sign == inf {
			p.infinity(lo)
			lo++
		}
		p.each(lo, to, func(bits uint32, got float32) {
			if got == got {
				p.wrong = append(p.wrong, difference{math.Float32frombits(bits), got, nan()})
			}
		})
	}
}

// special proves the zero where the chunk begins with one.
func (p *prover) special(from *uint32, to uint32) {
	if *from&^sign != 0 {
		return
	}
	want := p.d.zero
	if *from != 0 {
		want = p.d.minusZero
	}
	p.same(*from, *from, want)
	if p.d.symmetry != 0 {
		p.compare(minus0, p.d.f(minus0), p.d.minusZero)
	}
	*from++
}

func (p *prover) infinity(bits uint32) {
	want := p.d.plusInf
	if bits >= sign {
		want = p.d.minusInf
	}
	p.same(bits, bits, want)
	if p.d.symmetry != 0 {
		p.compare(-infinity, p.d.f(-infinity), p.d.minusInf)
	}
}

func sameBits(x, y float32) bool {
	return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
}

func (p *prover) compare(x, got, want float32) {
	if !sameBits(got, want) {
		p.wrong = append(p.wrong, difference{x, got, want})
	}
}

// same proves that all results from lo to hi are want.
func (p *prover) same(lo, hi uint32, want float32) {
	p.each(lo, hi, func(bits uint32, got float32) {
		if got != want || got == 0 {
			p.compare(math.Float32frombits(bits), got, want)
		}
	})
}

// each computes the results from lo to hi, adds them to the digest, and visits them.
func (p *prover) each(lo, hi uint32, visit func(bits uint32, got float32)) {
	for n := uint32(0); lo <= hi && hi-lo < sign; lo += n {
		n = min(hi-lo+1, blockSize)
		p.compute(lo, int(n))
		for i, got := range p.results {
			visit(lo+uint32(i), got)
		}
	}
}

// compute fills results with those of n arguments from bits on, and looks at the arguments of the
// other sign if there is a symmetry.
func (p *prover) compute(bits uint32, n int) {
	p.results = p.results[:n]
	f, h := p.d.f, p.sums[0]
	for i := range p.results {
		r := f(math.Float32frombits(bits + uint32(i)))
		p.results[i] = r
		h = mix(h, r)
	}
	p.sums[0] = h
	if p.d.symmetry == 0 {
		return
	}
	h = p.sums[1]
	for i, r := range p.results {
		x := math.Float32frombits(bits + uint32(i) ^ sign)
		got := f(x)
		if want := r * float32(p.d.symmetry); !sameBits(got, want) && bits+uint32(i) != 0 {
			p.wrong = append(p.wrong, difference{x, got, want})
		}
		h = mix(h, got)
	}
	p.sums[1] = h
}

// mix adds a result to a digest, as FNV-1a does, word by word. All NaN are one.
func mix(h uint64, r float32) uint64 {
	b := math.Float32bits(r)
	if r != r {
		b = 0x7fc00000
	}
	return (h ^ uint64(b)) * 0x100000001b3
}

const mixStart = 0xcbf29ce484222325

// region proves the arguments from lo to hi, in region r, which begins at start.
func (p *prover) region(r region, lo, hi, start uint32) {
	switch r.kind {
	case given:
		p.same(lo, hi, float32(r.at))
	case constant:
		p.same(lo, hi, float32(r.at))
		if lo == start {
			p.rounds(start, float32(r.at))
		}
	case flat:
		p.same(lo, hi, float32(r.at))
		if lo == start {
			p.rounds(start, float32(r.at))
			p.rounds(math.Float32bits(r.upTo)|start&sign, float32(r.at))
		}
	case itself:
		if h := float64(r.upTo); lo == start && !p.d.isItself(h) {
			panic(fmt.Sprintf("%s(x) is not x below %v", p.d.name, h))
		}
		p.each(lo, hi, func(bits uint32, got float32) {
			if math.Float32bits(got) != bits {
				p.compare(math.Float32frombits(bits), got, math.Float32frombits(bits))
			}
		})
	case around:
		s := p.series[r]
		if s == nil {
			h := max(math.Abs(float64(r.upTo)-math.Abs(r.at)), math.Abs(math.Abs(value(start))-math.Abs(r.at)))
			var ok bool
			if s, ok = p.d.taylor(r.at, h); !ok {
				panic(fmt.Sprintf("%s: a polynomial around %v does not reach %v", p.d.name, r.at, r.upTo))
			}
			p.series[r] = s
		}
		for n := uint32(0); lo <= hi; lo += n {
			n = min(hi-lo+1, blockSize)
			p.compute(lo, int(n))
			p.block(lo, s)
		}
	case blocks:
		for n := uint32(0); lo <= hi; lo += n {
			n = p.fit(lo, hi)
		}
	case periodic:
		for n := uint32(0); lo <= hi; lo += n {
			n = min(hi-lo+1, blockSize-lo%blockSize) // of one binade
			p.compute(lo, int(n))
			p.angles = p.angles[:n]
			p.d.quarters(lo, p.angles)
			for i, q := range p.angles {
				p.check(lo+uint32(i), p.results[i], p.d.turn[q.k&3].at(q.f))
			}
		}
	}
}

// rounds proves that the value of the function of one argument rounds to want.
func (p *prover) rounds(bits uint32, want float32) {
	x := math.Float32frombits(bits)
	if y, ok := p.d.exactly(x); !ok || !sameBits(y, want) {
		p.wrong = append(p.wrong, difference{x, want, y})
	}
}

// isItself tells whether the function differs from x by less than 2^-26 x for |x| <= h: by its
// series at 0. The middle between x and the float32 beside it is at least 2^-25 x away.
func (d *definition) isItself(h float64) bool {
	s, ok := d.taylor(0, h)
	if !ok || s.lead != 0 || s.a[0]*s.scale != 1 {
		return false
	}
	rest, power := 0x1p-50, 1.0
	for _, a := range s.a[1:] {
		power *= h * s.scale
		rest += math.Abs(a) * power / s.a[0]
	}
	return rest < 0x1p-26
}

// value is the number with these bits.
func value(bits uint32) float64 { return float64(math.Float32frombits(bits)) }

// fit proves a block from lo on that a polynomial fits, and gives its size.
func (p *prover) fit(lo, hi uint32) uint32 {
	for n := min(hi-lo+1, uint32(p.size)*2, blockSize); ; n /= 2 {
		if n == 0 {
			panic(fmt.Sprintf("%s: no polynomial for %v", p.d.name, value(lo)))
		}
		a, b := value(lo), value(lo+n-1)
		c := (a + b) / 2
		if s, ok := p.d.taylor(c, math.Abs(b-c)); ok {
			p.compute(lo, int(n))
			p.block(lo, s)
			p.size = int(n)
			return n
		}
	}
}

// block proves the results by polynomial s.
func (p *prover) block(lo uint32, s *polynomial) {
	for i, got := range p.results {
		p.check(lo+uint32(i), got, s.at(value(lo+uint32(i))))
	}
}

// check proves one result: y is the value but for tolerance.
func (p *prover) check(bits uint32, got float32, y float64) {
	b := math.Float32bits(got)
	if math.Float32bits(float32(y*(1-tolerance))) == b && math.Float32bits(float32(y*(1+tolerance))) == b {
		return
	}
	p.decide(math.Float32frombits(bits), got)
}

func (p *prover) decide(x, got float32) {
	p.decided = append(p.decided, x)
	want, ok := p.d.exactly(x)
	if !ok {
		p.unknown = append(p.unknown, x)
	} else {
		p.compare(x, got, want)
	}
}

// A verdict is what the proof of a function gives.
type verdict struct {
	digest  string // of the digests of the chunks, in their order
	decided []float32
	wrong   []difference
	unknown []float32
	took    time.Duration
}

// prove goes through all arguments.
func (d *definition) prove() verdict {
	begin := time.Now()
	var sums [chunks]uint64
	var v verdict
	var mu sync.Mutex
	work := make(chan uint32)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			p := newProver(d)
			for c := range work {
				p.sums = [2]uint64{mixStart, mixStart}
				p.span(c<<chunkBits, c<<chunkBits|(1<<chunkBits-1))
				sums[c] = p.sums[0]
				if d.symmetry != 0 {
					sums[c+chunks/2] = p.sums[1]
				}
			}
			mu.Lock()
			defer mu.Unlock()
			v.decided = append(v.decided, p.decided...)
			v.wrong = append(v.wrong, p.wrong...)
			v.unknown = append(v.unknown, p.unknown...)
		})
	}
	last := uint32(chunks)
	if d.symmetry != 0 {
		last /= 2
	}
	for c := range last {
		work <- c
	}
	close(work)
	wg.Wait()
	text := fmt.Sprintf("%x", sums)
	v.digest, v.took = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:32], time.Since(begin)
	slices.SortFunc(v.decided, func(a, b float32) int {
		return cmp.Compare(math.Float32bits(a), math.Float32bits(b))
	})
	return v
}

// All 2^32 results of the functions that the flag names are correctly rounded.
func TestProof(t *testing.T) {
	if *proof == "" {
		t.Skip("make rmath-proof tries all arguments, which takes a minute or two a function")
	}
	for _, d := range definitions {
		if *proof != "all" && !slices.Contains(strings.Split(*proof, ","), d.name) {
			continue
		}
		v := d.prove()
		t.Logf("%s: %s, %d differences, %d of the results by multiple precision, %v", d.name, v.digest, len(v.wrong),
			len(v.decided), v.took.Round(time.Second))
		d.report(t, v.wrong, v.unknown)
		want := readProofs(t)[d.name]
		if *record && len(v.wrong)+len(v.unknown) == 0 {
			d.record(t, v)
		} else if v.digest != want.digest {
			t.Errorf("%s: the digest of all results is %s, the table has %s", d.name, v.digest, want.digest)
		}
	}
}

func (d *definition) report(t *testing.T, wrong []difference, unknown []float32) {
	t.Helper()
	for i, w := range wrong {
		if i == 20 {
			t.Errorf("%s: %d more", d.name, len(wrong)-i)
			break
		}
		t.Errorf("%s(%v): %v, want %v; %#08x: %#08x, want %#08x", d.name, w.x, w.got, w.want,
			math.Float32bits(w.x), math.Float32bits(w.got), math.Float32bits(w.want))
	}
	for _, x := range unknown {
		t.Errorf("%s(%v): 600 bits do not decide", d.name, x)
	}
}

// The proof in small: 1000 arguments from each of the 256 chunks, and all special ones.
func TestReference(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	for _, d := range definitions {
		p := newProver(d)
		for c := range uint32(chunks) {
			if d.symmetry != 0 && c >= chunks/2 {
				break
			}
			from := c << chunkBits
			p.span(from, from+100)
			p.span(from|0x800000, from|0x800000+100)
			p.span(from+c*0x9e3779&0x7fffff, from+c*0x9e3779&0x7fffff+800)
		}
		d.report(t, p.wrong, p.unknown)
	}
}

// The proof finds a result that is one unit in the last place off, of either sign, and a NaN that
// should be a number.
func TestProofFindsErrors(t *testing.T) {
	broken := *definitionOf(t, "Log")
	broken.f = func(x float32) float32 {
		switch x {
		case 3:
			return math.Nextafter32(Log(3), 2)
		case 5:
			return math.Nextafter32(Log(5), 0)
		case 7:
			return nan()
		}
		return Log(x)
	}
	p := newProver(&broken)
	for _, x := range []float32{2, 3, 5, 7} {
		p.span(math.Float32bits(x)-50, math.Float32bits(x)+50)
	}
	if len(p.wrong) != 3 || p.wrong[0].x != 3 || p.wrong[0].want != Log(3) || p.wrong[2].x != 7 {
		t.Errorf("found %v", p.wrong)
	}
	even := *definitionOf(t, "Sin")
	even.f = func(x float32) float32 { return Sin(max(x, -x)) }
	p = newProver(&even)
	p.span(math.Float32bits(1), math.Float32bits(1)+9)
	if len(p.wrong) != 10 {
		t.Errorf("a sine without a sign has %d errors, want 10", len(p.wrong))
	}
}

func definitionOf(t *testing.T, name string) *definition {
	i := slices.IndexFunc(definitions, func(d *definition) bool { return d.name == name })
	if i < 0 {
		t.Fatalf("no definition of %s", name)
	}
	return definitions[i]
}
