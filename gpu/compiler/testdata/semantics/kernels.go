package main

import (
	"math"
	"math/bits"

	"github.com/tandem-gpu/tandem/gpu"
)

type celsius float32

type vec struct{ x, y, z float32 }

func (a vec) dot(b vec) float32 { return a.x*b.x + a.y*b.y + a.z*b.z }
func (a *vec) add(b vec)        { a.x, a.y, a.z = a.x+b.x, a.y+b.y, a.z+b.z }

type body struct {
	vec
	mass float64
	tag  int8
	id   int
	_    bool
	ok   bool
}

type measure interface {
	~float32 | ~float64
}

// convert: floats that an integer does not have saturate, NaN is 0; dividing an integer by 0 gives
// 0.
//
//tandem:kernel
func convert(it gpu.Item, out []int64, in []float64, zero int32) {
	i := it.Global(0)
	if i >= len(in) {
		return
	}
	v, f := in[i], float32(in[i])
	out = out[16*i:]
	out[0], out[1], out[2], out[3] = int64(int8(v)), int64(int16(f)), int64(int32(v)), int64(v)
	out[4], out[5], out[6], out[7] = int64(uint8(f)), int64(uint16(v)), int64(uint32(f)), int64(uint64(v)>>1)
	out[8], out[9] = int64(7/zero), int64(7%zero)
	out[10] = int64(uint8(200) / uint8(zero))
	out[11] = int64(math.MinInt32 / (zero - 1))
	out[12] = int64(math.MinInt32 % (zero - 1))
	out[13] = int64(f)
}

// order: what Go says about the order of evaluation, copies and scopes.
//
//tandem:kernel
func order(it gpu.Item, out []int64) {
	if it.Global(0) > 0 {
		return
	}
	a := [4]int{3, 1, 2, 0}
	i := 0
	i, a[i] = 1, 7
	out[0], out[1] = int64(a[0]), int64(a[1])
	n := 0
	next := func() int { n++; return n }
	out[2] = int64(next()*100 + next()*10 + next())
	if false && next() > 0 || next() == 4 {
		out[3] = int64(n)
	}
	sum := 0
	for k, v := range a {
		a[3-k] = 50
		sum += v
	}
	out[4] = int64(sum)
	sum = 0
	for k := range 3 {
		k *= 10
		sum += k
	}
	out[5] = int64(sum)
	b := a
	b[0]++
	out[6] = int64(a[0] - b[0])
	if x := 5; x > 3 {
		x := x * 2
		out[7] = int64(x)
	}
	out[8] = out[7]
	out[8], out[7] = out[7]+1, out[8]+2
	p, q := vec{1, 2, 3}, vec{1, 2, 3}
	if p == q && a != b {
		out[9] = 1
	}
	p.add(q)
	pp := &p
	pp.add(vec{y: 0.5})
	out[10] = int64(p.dot(q) * 4)
	var s body
	s.add(p)
	s.mass = 2
	t := s
	t.id = -1
	out[11] = int64(t.x) + int64(s.id)
	switch y := a[1]; {
	case y > 1000:
		out[12] = 1
	case y == 50:
		out[12] = 2
		fallthrough
	case y == -1:
		out[12] += 40
	default:
		out[12] = 9
	}
	switch next() {
	case 4, next() - 1:
		out[13] = int64(n)
	}
outer:
	for x := 0; ; x++ {
		for y := range 5 {
			switch {
			case x*y == 6:
				break outer
			case y > x:
				continue outer
			}
			out[14] += int64(x*10 + y)
		}
	}
	c := celsius(1) / 3
	out[15] = int64(math.Float32bits(float32(c * 3)))
}

// limits: integers wrap, shifts by the width or more give 0 or -1, min and max take NaN and -0 as
// Go does, constants are exact.
//
//tandem:kernel int8 uint8 int16 uint16 int32 uint32 int64 uint64 int uint
func limits[T gpu.Integer](it gpu.Item, out []T, x T, n uint8) {
	if it.Global(0) > 0 {
		return
	}
	out[0] = x + T(100)
	out[1] = x * x * x
	out[2] = -x
	out[3] = x << n
	out[4] = x >> n
	out[5] = x << (n & 7)
	out[6] = x >> (n & 3)
	out[7] = ^x &^ 5
	out[8] = T(100) + T(27)
	out[9] = T(100)*T(1)<<n | 1
	out[10] = x / 3
	out[11] = x % 3
	out[12] = min(x, 3, x-1)
	out[13] = gpu.FMA(x, x, 7)
	x--
	x *= 3
	x <<= 1
	out[14] = x
	const third = 1.0 / 3
	out[15] = T(third*300) % 127
}

//tandem:kernel float32 float64
func floats[T measure](it gpu.Item, out []T, in []T) {
	i := it.Global(0)
	if i >= len(in) {
		return
	}
	x, y := in[i], in[(i*7+3)%len(in)]
	out = out[12*i:]
	out[0], out[1] = min(x, y), max(x, y)
	out[2] = x*y + y
	out[3] = gpu.FMA(x, y, -y)
	out[4] = x / y
	out[5] = T(0.1) * x
	out[6] = x + 1e-9
	out[7] = T(math.Sqrt(float64(x)))
	out[8] = -x
	out[9] = T(float32(x))
	out[10] = x - 1.0/3
	out[11] = T(int32(7)) / T(3)
}

// group: barriers in loops that the whole group leaves, local memory of helpers, and closures.
//
//tandem:kernel
func group(it gpu.Item, out []int32, n int, stop bool) {
	sums, tmp := gpu.Local[[64]int32](it), gpu.Local[[64]int32](it)
	l := it.Local(0)
	total := int32(0)
	for round := 0; ; round++ {
		sums[l] = int32(l*round + 1)
		it.Barrier()
		if round == n {
			break
		}
		if round%2 == 1 {
			it.Barrier()
			continue
		}
		total += reduce(it, sums, tmp, int32(round))
		it.Barrier()
	}
	if stop {
		out[it.Global(0)] = total
		return
	}
	it.Barrier()
	other := func(k int) int32 { return sums[(l+k)%it.LocalSize(0)] }
	total += other(3)
alone: // without a barrier, left by all or by none
	for i, j := 0, 8; i < j; i, j = i+1, j-2 {
		total += int32(j)
		if n > 3 {
			break alone
		}
		if n < 2 {
			continue alone
		}
		total *= 3
	}
	if l == 5 {
		return
	}
	out[it.Global(0)] = total
}

func reduce(it gpu.Item, v, tmp *[64]int32, scale int32) int32 {
	l := it.Local(0)
	tmp[l] = v[l] * scale
	for step := it.LocalSize(0) / 2; step > 0; step /= 2 {
		it.Barrier()
		if l < step {
			tmp[l] += tmp[l+step]
		}
	}
	it.Barrier()
	return tmp[0]
}

// bodies: structs in memory, with padding, bools and an embedded one.
//
//tandem:kernel
func bodies(it gpu.Item, b []body, table []uint16, flip bool, small int8, c celsius) {
	i := it.Global(0)
	if i >= len(b) {
		return
	}
	p := &b[i]
	p.add(vec{1, 2, float32(small)})
	p.mass *= 2
	p.tag -= small
	p.id = len(table) - i
	p.ok = p.ok != flip
	p.y += float32(c)
	b[i].z = b[i].dot(p.vec)
}

// count: atomic operations, and the size of a group that is fixed.
//
//tandem:kernel
//tandem:group 32
func count(it gpu.Item, bins []int32, wide []uint64, seen []uint32) {
	l := gpu.Local[[4]int32](it)
	if it.Local(0) < 4 {
		l[it.Local(0)] = 0
	}
	it.Barrier()
	i := it.Global(0)
	gpu.AtomicAdd(&l[i&3], int32(i))
	gpu.AtomicAdd(&wide[0], uint64(i)<<20)
	gpu.AtomicMax(&wide[1], uint64(i*i)<<40)
	gpu.AtomicMin(&wide[2], ^uint64(i))
	gpu.AtomicMin(&bins[4], int32(-i)+int32(-uint8(it.LocalSize(0))))
	gpu.AtomicOr(&seen[i/32], 1<<(i%32))
	gpu.AtomicXor(&bins[5], int32(i))
	gpu.AtomicAnd(&seen[8], ^uint32(i))
	old := gpu.AtomicCompareExchange(&seen[9], uint32(i), 77)
	if old != 77 && old != uint32(i) {
		gpu.AtomicExchange(&seen[10], 5)
	}
	it.Barrier()
	if it.Local(0) < 4 {
		gpu.AtomicAdd(&bins[it.Local(0)], l[it.Local(0)])
	}
}

// edges: conditions that keep work-items out, which the cpu device tests once for many of them, but
// not the last here.
//
//tandem:kernel
func edges(it gpu.Item, out []int64, rows, wide int) {
	x, y := it.Global(0), it.Global(1)
	at := y*wide + x
	if x >= wide || it.Global(2) > 0 {
		return
	}
	if half := len(out) / 2; y < rows-1 && half > x && at < half && at%3 < 2 {
		out[at] += int64(1000 + x)
		out[len(out)-1-at] += int64(it.Group(1)*10 + it.LocalSize(0))
	}
}

// steps: loops in steps of the grid, each turn of which stands alone.
//
//tandem:kernel
func steps(it gpu.Item, out []int64, rows, cols, most int) {
	shift := it.Local(2)
	for i := it.Global(1); i < rows; i += it.GlobalSize(1) {
		row := i*cols + shift
		across := it.GlobalSize(0)
		for j := it.Global(0); cols > j; j += across {
			if j < most {
				old := out[row+j]
				for k := range j % 4 {
					if k == 2 {
						break
					}
					old = old*3 + int64(k)
				}
				out[row+j] = old + int64(i-j)
			}
		}
	}
}

// slots, sums, ends and hops: loops in steps of the grid whose turns belong together.
//
//tandem:kernel
func slots(it gpu.Item, out []int64, n int) {
	id := it.Global(0)
	for i := id; i < n; i += it.GlobalSize(0) {
		out[id] = out[id]*3 + int64(i)
	}
}

//tandem:kernel
func sums(it gpu.Item, out []int64, n int) {
	last := int64(-1)
	for i := it.Global(0); i < n; i += it.GlobalSize(0) {
		out[i], last = last, int64(i)
	}
}

//tandem:kernel
func ends(it gpu.Item, out []int64, n int) {
	for i := it.Global(0); i < n; i += it.GlobalSize(0) {
		if i%7 == 3 {
			return
		}
		out[i] = int64(i)
	}
}

//tandem:kernel
func hops(it gpu.Item, out []int64, n int) {
	for i := it.Global(0); i < n; i += it.GlobalSize(0) {
		out[i] = int64(it.Local(0))
		i += it.GlobalSize(0)
	}
}

// A view is passed by value: each number in it is a parameter of the text.
type view[T measure] struct {
	min, max [2]T
	vec
	scale celsius
	steps int
	small uint8
	flip  bool
	_     int32
}

func (v *view[T]) double() { v.steps *= 2 }

func (v view[T]) center() (x, y T) { return (v.min[0] + v.max[0]) / 2, (v.min[1] + v.max[1]) / 2 }

// values: structs and arrays by value are each work-item's own.
//
//tandem:kernel float32 float64
func values[T measure](it gpu.Item, out []float64, v view[T], a [3]int16, plain vec) {
	i := it.Global(0)
	before := v.steps
	if i%2 == 0 {
		v.double()
		a[1]++
	}
	it.Barrier()
	x, y := v.center()
	if v.flip {
		x, y = y, x
	}
	r := [...]float64{
		float64(x), float64(y), float64(v.scale), float64(v.steps + before), float64(v.small),
		float64(a[0]) + float64(a[1])*256, float64(a[2]), float64(v.dot(plain)),
	}
	for j, w := range r {
		out[i*8+j] = w
	}
}

// The states of a machine, and a table that no code changes.
const (
	start = iota
	digits
	point
	failed = -1
)

type move struct {
	from  int8
	class uint8
	to    int8
}

var moves = [...]move{{start, '0', digits}, {digits, '0', digits}, {digits, '.', point}, {point, '0', point}}

var weights = [2][3]float32{{1, 0.5}, {2: 0.25}}

type stack[T gpu.Number] struct {
	data [8]T
	n    int
}

func (s *stack[T]) push(x T) bool {
	if s.n == len(s.data) {
		return false
	}
	s.data[s.n] = x
	s.n++
	return true
}

func (s *stack[T]) pop() (x T, ok bool) {
	if s.n == 0 {
		return 0, false
	}
	s.n--
	return s.data[s.n], true
}

func class(c uint8) uint8 {
	switch {
	case '0' <= c && c <= '9':
		return '0'
	case c == '.':
		return c
	}
	return ' '
}

func reversed[T gpu.Number](x []T) (first, last T) {
	for i, j := 0, len(x)-1; i < j; i, j = i+1, j-1 {
		x[i], x[j] = x[j], x[i]
	}
	return x[0], x[len(x)-1]
}

// subset has a line for each line of what kernels may contain.
//
//tandem:kernel
func subset(it gpu.Item, out []int64, text []uint8, f []float32) {
	id := it.Global(0)
	part := text[id*8 : id*8+8]
	state := int8(start)
words:
	for i, c := range part {
		k := class(c)
		for _, m := range moves {
			if m.from == state && m.class == k {
				state = m.to
				continue words
			}
		}
		switch {
		case i > 5:
			break words
		case k == ' ' && state == digits:
			state = start
		default:
			state = failed
			break words
		}
	}
	var s stack[int32]
	for v := int32(1); s.push(v * v); v++ {
	}
	sum := int64(0)
	for {
		v, ok := s.pop()
		if !ok {
			break
		}
		sum = sum*3 + int64(v)
	}
	own := [5]float32{4: f[id*4], 1: 2}
	a, b := reversed(own[:])
	c, d := reversed(f[id*4 : id*4+4])
	w := float32(0)
	for i := range weights {
		for j, v := range weights[i] {
			w += v * float32(i+j+1)
		}
	}
	out[id*4], out[id*4+1] = int64(state), sum
	out[id*4+2], out[id*4+3] = int64(a*16+b+own[3]), int64(c*100+d*10+w*8)
}

var edgeValues = [...]float64{math.Inf(1), -1, math.Inf(-1), math.NaN()}

var most, least32 = math.Inf(1), float32(math.Inf(-1))

// specials: infinities, NaN and signs, of both floats.
//
//tandem:kernel float32 float64
func specials[T measure](it gpu.Item, out []float64, sums []T, in []T, sign int) {
	i := it.Global(0)
	if i >= len(in) {
		return
	}
	x, y := in[i], in[(i*7+3)%len(in)]
	flag := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	out = out[16*i:]
	out[0] = flag(math.IsNaN(float64(x)))
	out[1], out[2] = flag(math.IsInf(float64(x), 1)), flag(math.IsInf(float64(x), -1))
	out[3], out[4] = flag(math.IsInf(float64(x), 0)), flag(math.IsInf(float64(x)*2, sign))
	out[5], out[6] = math.Copysign(float64(x), float64(y)), math.Copysign(3, float64(-x))
	out[7], out[8], out[9] = math.Inf(sign), math.Inf(0), math.Inf(-1)
	out[10], out[11] = math.NaN(), flag(math.Signbit(float64(x)))
	if x != x || y != y { // the sign of a NaN is not promised
		out[5], out[6], out[11] = 0, 0, 0
	}
	out[12], out[13] = edgeValues[i%4], most
	out[14], out[15] = float64(least32), flag(math.IsNaN(1))+float64(float32(math.Inf(-2)))
	low := T(math.Inf(1))
	for _, v := range in[:i+1] {
		low = min(low, v)
	}
	sums[i] = low
}

// words: what package math/bits has, of all widths.
//
//tandem:kernel
func words(it gpu.Item, out []uint64, in []uint64) {
	i := it.Global(0)
	if i >= len(in) {
		return
	}
	x, y := in[i], in[(i*5+1)%len(in)]
	a, b, c, d := uint8(x), uint16(x), uint32(x), uint(x)
	ints := [...]int{
		bits.OnesCount8(a), bits.OnesCount16(b), bits.OnesCount32(c), bits.OnesCount64(x), bits.OnesCount(d),
		bits.LeadingZeros8(a), bits.LeadingZeros16(b), bits.LeadingZeros32(c), bits.LeadingZeros64(x),
		bits.LeadingZeros(d), bits.TrailingZeros8(a), bits.TrailingZeros16(b), bits.TrailingZeros32(c),
		bits.TrailingZeros64(x), bits.TrailingZeros(d),
		bits.Len8(a), bits.Len16(b), bits.Len32(c), bits.Len64(x), bits.Len(d), bits.Len16(300),
	}
	r := int(y%131) - 65
	whole := [...]uint64{
		uint64(bits.Reverse8(a)), uint64(bits.Reverse16(b)), uint64(bits.Reverse32(c)), bits.Reverse64(x),
		uint64(bits.Reverse(d)), uint64(bits.ReverseBytes16(b)), uint64(bits.ReverseBytes32(c)),
		bits.ReverseBytes64(x), uint64(bits.ReverseBytes(d)), uint64(bits.RotateLeft8(a, r)),
		uint64(bits.RotateLeft16(b, r)), uint64(bits.RotateLeft32(c, r)), bits.RotateLeft64(x, r),
		uint64(bits.RotateLeft(d, r)),
	}
	out = out[64*i:]
	for j, n := range ints {
		out[j] = uint64(n)
	}
	for j, n := range whole {
		out[24+j] = n
	}
	out = out[40:]
	e := uint32(y)
	out[0], out[1] = bits.Mul64(x, y)
	out[2], out[3] = bits.Add64(x, y, x>>63)
	out[4], out[5] = bits.Sub64(x, y, y&1)
	out[6], out[7] = bits.Add64(x, ^x, 1)
	f, g := bits.Mul32(c, e)
	h, k := bits.Add32(c, e, 1)
	l, m := bits.Sub32(c, e, c&1)
	out[8], out[9], out[10] = uint64(f)<<32|uint64(g), uint64(h)<<32|uint64(k), uint64(l)<<32|uint64(m)
	n, o := bits.Mul(d, uint(y))
	n, o = bits.Add(n, o, 1)
	x, y = bits.Mul64(y, x)
	out[11], out[12], out[13], out[14] = uint64(n), uint64(o), x, y
	x, y = bits.Sub64(x, y, uint64(n>>63))
	out[15] = x ^ y<<1
}

func fill[T gpu.Number](t []T, x T) {
	for i := range t {
		t[i] = x + T(i)
	}
}

func total[T gpu.Number](t []T) (sum T) {
	for _, x := range t {
		sum += x
	}
	return sum
}

// shift moves the elements of the group's memory, whatever its size.
func shift[T gpu.Number](it gpu.Item, t []T, by int) {
	x := t[(it.Local(0)+by)%len(t)]
	it.Barrier()
	t[it.Local(0)] = x
	it.Barrier()
}

// slicesOf: local memory as slices, whole and in parts, for helpers that know no size.
//
//tandem:kernel int32 float64
func slicesOf[T gpu.Number](it gpu.Item, out []T, x []T) {
	t, wide := gpu.Local[[16]T](it), gpu.Local[[40]T](it)
	l := it.Local(0)
	t[l] = x[it.Global(0)]
	it.Barrier()
	shift(it, t[:], 3)
	shift(it, t[:], 2)
	if l == 3 {
		fill(wide[:20], t[0])
		fill(wide[20:], t[1])
		part := wide[8:24]
		fill(part[4:], 7)
	}
	it.Barrier()
	own := [4]T{1, 2, 3, T(l)}
	low, high := t[:l], t[l:]
	out[it.Global(0)] = total(low)*3 + total(high) + total(wide[l:]) + total(own[:]) + T(len(high[1:]))
}

// relax tells how often it went over the group's part of x until nothing changed.
func relax(it gpu.Item, t []int32) (turns int32) {
	l := it.Local(0)
	for changed := true; it.Any(changed); turns++ {
		low := min(t[max(l-1, 0)], t[min(l+1, len(t)-1)])
		it.Barrier()
		changed = low < t[l]
		if changed {
			t[l] = low
		}
		it.Barrier()
	}
	return turns
}

// votes: loops until nothing changes, and bounds that are read from memory, once for the group.
//
//tandem:kernel
func votes(it gpu.Item, out []int32, x, bounds []int32) {
	t := gpu.Local[[16]int32](it)
	l, g := it.Local(1)*it.LocalSize(0)+it.Local(0), it.Group(0)
	at := g*16 + l
	t[l] = x[at]
	it.Barrier()
	turns := int32(0)
	if it.LocalSize(1) == 1 {
		turns = relax(it, t[:])
	}
	sum := t[l]
	n := gpu.Uniform(it, bounds[g]+int32(l))
	for i := range n {
		t[l] = sum + i
		it.Barrier()
		sum += t[(l+int(n))%16]
		if it.Any(sum > 1000) {
			sum -= 100
			break
		}
	}
	small := gpu.Uniform(it, uint8(sum)) // of another type, and whose values differ
	if gpu.Uniform(it, sum%2 == 0) && it.Any(l == 3) {
		t[l] = sum
		it.Barrier()
		sum += t[l^1]
	}
	wide := gpu.Uniform(it, float64(sum)/3) + float64(gpu.Uniform(it, bounds[g]))
	all := !it.Any(!(x[at] > 0))
	if !all {
		sum++
	}
	if it.Any(false) || gpu.Uniform(it, wide < -1e6) {
		return
	}
	it.Any(true)
	out[at] = sum*100 + turns + int32(small)*3 + int32(wide)
}

// Operators are structs without fields.
type operator[T any] interface {
	apply(a, b T) T
	neutral() T
}

type plus struct{}

func (plus) apply(a, b int32) int32 { return a + b }
func (plus) neutral() int32         { return 0 }

type larger[T gpu.Number] struct{}

func (larger[T]) apply(a, b T) T { return max(a, b) }
func (larger[T]) neutral() T     { return 1 }

type latest struct {
	larger[int32]
	plus plus
}

type both struct {
	op    plus
	scale int32
}

type biased struct{ by int32 }

func (b biased) apply(x, y int32) int32 { return x + y*b.by }
func (b *biased) neutral() int32        { b.by++; return b.by }

type derived struct {
	pad int32
	biased
}

// reduceBy combines the numbers of a group by Op.
//
//tandem:kernel int32,plus int32,larger[int32] float64,larger[float64]
func reduceBy[T gpu.Number, Op operator[T]](it gpu.Item, op Op, out, x []T) {
	t := gpu.Local[[16]T](it)
	l := it.Local(0)
	t[l] = x[it.Global(0)]
	for n := 8; n > 0; n /= 2 {
		it.Barrier()
		if l < n {
			t[l] = combine[T, Op](t[:], l, n)
		}
	}
	var other Op
	if l == 0 {
		out[it.Group(0)] = op.apply(t[0], other.neutral())
	}
}

func combine[T any, Op operator[T]](t []T, l, n int) T {
	var op Op
	return op.apply(t[l], t[l+n])
}

func each[Op operator[int32]](op Op, x []int32) int32 {
	sum := op.neutral()
	for _, v := range x {
		sum = op.apply(sum, v)
	}
	return sum
}

// functors: structs without fields as variables, parameters, fields and literals.
//
//tandem:kernel
func functors(it gpu.Item, p plus, b both, out, x []int32) {
	var l larger[int32]
	type local struct{}
	var nothing local
	n := latest{plus: p}
	d := derived{100, biased{2}}
	out[it.Global(0)] = each(&d, x)
	list := [3]plus{}
	out[it.Global(0)] += d.by + each(p, x)*b.scale + each(l, x) + each(plus{}, x) + b.op.apply(3, 4) + each(n, x) +
		n.plus.apply(n.apply(5, 6), list[it.Global(0)%3].apply(1, 1))
	if n == (latest{}) && nothing == (local{}) {
		out[it.Global(0)]++
	}
}

// agreed and once are the code of docs/kernels.md.
//
//tandem:kernel
func agreed(it gpu.Item, out, x, count []int32) {
	t := gpu.Local[[16]int32](it)
	l := it.Local(0)
	t[l] = x[it.Global(0)]
	for changed := true; it.Any(changed); { // until nothing changes
		v := max(t[l], t[(l+1)%16])
		it.Barrier() // all have read
		changed = v != t[l]
		t[l] = v // all have written when Any goes on
	}
	n := gpu.Uniform(it, count[it.Group(0)]) // one value for the group
	for i := range n {
		it.Barrier()
		v := t[(l+1)%16]*3 + i
		it.Barrier()
		t[l] = v
	}
	out[it.Global(0)] = t[l]
}

//tandem:kernel float32
func once[T gpu.Float](it gpu.Item, a T, x, y []T) {
	if i := it.Global(0); i < len(x) {
		y[i] = gpu.FMA(a, x[i], y[i])
	}
}

var none float64

var noneOf [3]int32

func three(x uint64) (a, b, c uint64) { return x, ^x, x & 1 }

func over(it gpu.Item, left int32) bool { return !it.Any(left > 0) }

// until gives the turn after which all have less than the limit.
func until(it gpu.Item, t []int32, limit int32) int {
	for turn := range 20 {
		if !it.Any(t[it.Local(0)] >= limit) {
			return turn
		}
		t[it.Local(0)] /= 2
	}
	return -1
}

// helpers: what a group agrees on, as results of functions and in variables that change.
//
//tandem:kernel
func helpers(it gpu.Item, out, x []int32) {
	t := gpu.Local[[16]int32](it)
	i, l := it.Global(0), it.Local(0)
	t[l] = x[i]
	left, turns := x[i]%5, int32(0)
	for ; !over(it, left); left-- {
		turns++
	}
	n := gpu.Uniform(it, x[i]&7)
	rounds := int32(0)
	for n > 0 {
		it.Barrier()
		rounds += n
		n = gpu.Uniform(it, n/2)
	}
	vote := func(c bool) bool { return it.Any(c) || gpu.Uniform(it, l == 1) }
	switch {
	case vote(x[i] > 90):
		turns += 100
	case vote(turns > 1000):
		it.Barrier()
		turns += 200
	default:
		turns += 300
	}
	if sum, carry := bits.Add64(three(uint64(left))); gpu.FMA(three(sum)) > carry {
		turns += int32(carry)
	}
	at := until(it, t[:], 3)
	if at < 0 {
		return
	}
	out[i] = turns*1000 + rounds*10 + int32(at) + t[l] + int32(none) + noneOf[l%3]
}
