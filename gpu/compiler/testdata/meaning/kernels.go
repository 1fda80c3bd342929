package main

import (
	"math"

	"github.com/tandem-gpu/tandem/gpu"
)

func square(x int32) int32      { return x * x }
func next(x *int32) int32       { *x += 7; return *x }
func twice(x, y int32) int32    { return 2*x + y }
func swap(x, y *int32) bool     { *x, *y = *y, *x; return true }
func both(x int32) (a, b int32) { return x, -x }

type counter struct {
	n    int32
	list [4]int32
}

func (c counter) value() int32         { return c.n + c.list[1] }
func (c *counter) step() int32         { c.n += 3; c.list[1]++; return c.n }
func (c counter) plus(x int32) counter { return counter{n: c.n + x, list: c.list} }

func pairOf(x *int32) (a, b int32) { return square(*x), next(x) }

// calls: a call has its result before a later one changes what it was called with.
//
//tandem:kernel
func calls(it gpu.Item, out []int64) {
	a := int32(2)
	p, q := square(a), next(&a)
	out[0], out[1] = int64(p), int64(q)
	out[2] = int64(square(a)*1000 + next(&a))
	out[3] = int64(twice(square(a), next(&a)))
	p, q = pairOf(&a)
	out[4], out[5] = int64(p), int64(q)
	c := counter{n: 1, list: [4]int32{1, 2, 3, 4}}
	out[6] = int64(c.value()*100 + c.step())
	v := counter{square(c.n), [4]int32{c.value(), c.step(), 2: square(c.n), 3: c.step()}}
	out[7] = int64(v.n + 10*v.list[0] + 100*v.list[1] + 1000*v.list[2] + 10000*v.list[3])
	a = 1
	v.list[square(a)] = next(&a)
	a = 1
	v.list[square(a)] += next(&a) + square(a)
	out[8] = int64(v.list[0] + 10*v.list[1] + 100*v.list[2] + 1000*v.list[3])
	a = 1
	out[9] = int64(v.list[square(a)&3] - v.list[next(&a)&3])
	s := out[square(a)&3 : next(&a)]
	out[10] = int64(len(s))
	out[11] = int64(v.plus(square(a)).plus(next(&a)).n)
	b := int32(5)
	out[12] = int64(max(square(a), next(&a), square(b)) + min(square(a), next(&a)))
	if x := square(a); x > 0 && swap(&a, &b) && square(a) == x {
		out[13] = 1
	}
	switch square(a) {
	case square(b), next(&a), square(a) + next(&b):
		out[14] = int64(a)
	default:
		out[14] = int64(a) << 20
	}
	var (
		r, t = square(b), next(&b)
		u    = [2]int32{square(b), next(&b)}
	)
	out[15] = int64(r) + int64(t)<<16 + int64(u[0])<<32 + int64(u[1])<<48
	p, v = next(&a), counter{square(a), [4]int32{next(&a), square(a)}}
	out[16] = int64(p + v.n + v.list[0] + v.list[1])
	out[17] = int64(math.Sqrt(float64(square(a))) + float64(next(&a)))
	x, y := a > 3 && b > 100, next(&a) // a logical operation has its place, too
	if x {
		out[18] = int64(y)
	}
	w := [2]bool{a < 100 && swap(&a, &b), a < b || next(&a) == 0}
	if w[0] && w[1] {
		out[19] = int64(a)
	}
	m := gpu.Matrix[int64]{Data: out[24:], Rows: 2, Cols: 2, Stride: 2}
	m.Set(0, 0, 5)
	out[20] = m.At(0, 0) + set(m, 77)
	total := int32(0)
	add := func(x int32) int32 { total += x; return total }
	out[21] = int64(add(1)*100 + square(add(2))*10 + add(3))
	out[22] = int64(twice(square(total), add(5)))
	for i := int32(0); square(i) < 50+b*0; i += square(1) + next(&b)*0 {
		out[23] += int64(i)
	}
}

// unread: results that are assigned again, and that nothing reads.
//
//tandem:kernel
func unread(it gpu.Item, out []int64) {
	a, b := both(int32(out[0]))
	a = b * 3
	_ = a
	c, d := both(b)
	if c > 100 {
		d++
	}
	_ = d
	out[1] = int64(b)
}

func set(m gpu.Matrix[int64], x int64) int64 { m.Set(0, 0, x); return x }

// assignments: the operands on the left are fixed before anything is assigned.
//
//tandem:kernel
func assignments(it gpu.Item, out []int64) {
	x := out[8:16]
	x, x[0] = x[1:], 5
	x[0] = 7
	i := 0
	i, x[i:][1] = 1, 77
	i, x[i:][i+1] = 2, 78
	c := counter{n: 9}
	a := 7
	a, d := 3, counter{n: int32(a)}
	out[0], out[1] = int64(a), int64(d.n)
	a, e := 4, [2]int{a, a}
	out[2], out[3] = int64(a), int64(e[0]+e[1])
	c, f := counter{n: c.n + 1}, c
	out[4], out[5] = int64(c.n), int64(f.n)
	e[0], e[1] = e[1]+1, e[0]
	e, a = [2]int{e[1], e[0]}, e[0]
	out[6], out[7] = int64(e[0]*100+e[1]*10+a), int64(i)
	var y, z = out[16:20], out[16:24]
	y, z, y[1], z[2], y[len(z)-8] = z[1:], y, 1, 2, 3
	y[0], z[3] = 4, int64(len(y)*10+len(z))
	t := [3][2]int32{{1, 2}, {3, 4}, {5, 6}}
	t[0], t[1], t[2] = t[1], t[2], t[0]
	p := &t[1]
	t[0], p[0] = *p, t[0][1]
	out[20] = int64(t[0][0] + 10*t[0][1] + 100*t[1][0] + 1000*t[1][1] + 10000*t[2][0])
	var g, h int32
	g, t[g&1][1] = both(h + 6)
	out[21] = int64(g) + int64(t[0][1])*10
}

type box struct {
	k    int32
	list [4]int32
	deep [2][3]int32
}

// ranges: a range over an array has the values of before the loop, wherever the array is.
//
//tandem:kernel
func ranges(it gpu.Item, out []int64, boxes []box) {
	b := &boxes[0]
	for i, v := range b.list {
		b.list[3-i] = 10 * v
		out[0] = out[0]*7 + int64(v)
	}
	p := &b.deep[1]
	for i, v := range *p {
		p[2-i] = v + 50
		out[1] = out[1]*7 + int64(v)
	}
	for i, v := range p { // the array itself
		p[2-i] = v + 1
		out[2] = out[2]*7 + int64(v)
	}
	for i, v := range boxes[1].list {
		boxes[1].list[(i+1)%4] = v + 1
		out[3] = out[3]*7 + int64(v)
	}
	for i, row := range boxes[1].deep {
		for j, v := range row {
			boxes[1].deep[1-i][2-j] = v + 3
			out[4] = out[4]*7 + int64(v)
		}
	}
	s := boxes[1].list[:]
	for i, v := range s { // what the slice leads to
		s[(i+1)%4] = v + 1
		out[5] = out[5]*7 + int64(v)
	}
	c := boxes[0]
	for i, v := range c.list {
		c.list[3-i] = 2 * v
		out[6] = out[6]*7 + int64(v)
	}
	change := func() { c.list[3]++; boxes[0].k++ }
	for _, v := range c.list {
		change()
		out[7] = out[7]*7 + int64(v)
	}
	for _, v := range boxes[0].list {
		bump(&boxes[0])
		out[8] = out[8]*7 + int64(v)
	}
	t := gpu.Local[[4]int32](it)
	for i := range t {
		t[i] = int32(i)
	}
	for i, v := range *t {
		t[3-i] += 5
		out[9] = out[9]*7 + int64(v)
	}
	k := 2
	for k, c.list[k] = range c.list {
		out[10] = out[10]*7 + int64(c.list[k])
	}
}

func bump(b *box) {
	for i := range b.list {
		b.list[i]++
	}
}

func local1(x int32) int32 {
	type t struct{ a, b int32 }
	return t{x, 1}.a
}

func local2(x int64) int64 {
	type t struct {
		a [3]int64
		b int8
	}
	v := t{b: int8(x)}
	v.a[2] = x
	return v.a[2] + int64(v.b)
}

func local3[T gpu.Number](x T) T {
	type t struct{ v T }
	{
		type t struct{ v, w T }
		return t{x, x}.v + t{w: x}.w
	}
}

type (
	Foo    struct{ a int32 }
	a2_Foo struct{ a, b, c int64 }
	sp_Foo struct{ a, b int64 }
	Foo_2  struct{ a, b int64 }
	_2     struct{ x int8 }
	a10    [10]int32
)

var (
	a1   = [2]int32{1, 2}
	a1_  = [2]int32{3, 4}
	c_a1 = [2]int32{5, 6}
	a_1  = [11]int32{7}
)

// names: what has the same name is not the same, and what C would make the same is told apart.
//
//tandem:kernel
func names(it gpu.Item, out []int64) {
	out[0] = int64(local1(5)) + local2(40) + int64(local3(int32(7))) + int64(local3(2.5)*8)
	f, g, h := Foo{1}, Foo_2{2, 3}, _2{4}
	out[1] = int64(f.a) + g.a*10 + g.b*100 + int64(h.x)*1000
	é := int64(1)
	{
		u00e9 := int64(20)
		é += u00e9
		{
			é := é * 3
			u00e9 += é
		}
		out[2] = é + u00e9*1000
	}
	ä, ä2, u00e4 := 1, 10, 100
	{
		ä := ä * 2
		ä2 += ä
		u00e4 += ä2
	}
	out[3] = int64(ä + ä2 + u00e4)
	out[4] = int64(a1[it.Global(0)] + 10*a1_[0] + 100*c_a1[1] + 1000*a_1[0])
	l1, r, b1, w, x_ := int64(1), int64(2), int64(3), int64(4), int64(5)
	{
		l1, l1_, r2 := l1+1, l1+2, r+2
		out[5] = l1 + 10*l1_ + 100*r2 + 1000*b1 + 10000*w + 100000*x_
	}
	short, union, volatile, __global, barrier, uchar, i64, FN, AT := 1, 2, 3, 4, 5, 6, 7, 8, 9
	out[6] = int64(short + union*10 + volatile*100 + __global*1000 + barrier*10000 + uchar + i64 + FN + AT)
	type é2 struct{ ö, u00f6 int64 }
	z := é2{1, 2}
	out[7] = z.ö + 10*z.u00f6
	foos := [2]Foo{{1}, {2}}
	part, named, cut := foos[out[3]&1:], a2_Foo{c: 300}, sp_Foo{b: 4000}
	out[8] = int64(foos[1].a) + int64(part[0].a)*10 + named.c + cut.b
}

type node[T any] struct{ v T }

func (n node[T]) get() T {
	type kept struct{ a T }
	return kept{n.v}.a
}

func visit[T any](n node[T]) T {
	var x T
	x = n.get()
	return x
}

// strangers: a type of a function as what a type parameter of others stands for.
//
//tandem:kernel
func strangers(it gpu.Item, out []int64) {
	type own struct{ a, b int64 }
	out[0] = visit(node[own]{own{5, 6}}).b + int64(visit(node[int8]{3})) + visit(node[node[own]]{}).get().a
}

type i32 = int32

// convert and div: with a type they are called as functions of OpenCL C and of the text are.
//
//tandem:kernel int
func convert[T gpu.Integer](it gpu.Item, out []T) { out[0] += 5 }

//tandem:kernel i32
func div[T gpu.Integer](it gpu.Item, out []T) { out[0] = 77 / out[0] }

const near = 1.00000005960464477626

func of[T gpu.Float](x T) T     { return x + T(1.00000005960464477626) }
func named[T gpu.Float](x T) T  { return T(near)*x + near*x - T(1)/T(3) }
func mixed[T gpu.Number](x T) T { return (x+3)*T(2) + T(7/2) }

// constants: a constant that is converted is rounded once, to the type that it has then.
//
//tandem:kernel
func constants(it gpu.Item, out []float64) {
	out[0] = float64(of(float32(0)))
	out[1] = of(0.0)
	out[2] = float64(named(float32(3)))
	out[3] = named(3.0)
	out[4] = float64(float32(near))
	out[5] = float64(float32(float64(near)))
	var x float64 = near
	out[6] = float64(float32(x))
	out[7] = float64(mixed(int8(100))) + float64(mixed(uint16(7)))
	const half = 1 << 3 / 2.0
	out[8] = half
	var n uint8 = 3
	out[9] = float64(int64(1 << n))
	var w int64 = 1 << n
	out[10] = float64(w)
	out[11] = float64(float32(16777217.0)) + float64(float32(1e-46)) + float64(float32(0.1))
}

// flat is a long switch, and a long sum.
//
//tandem:kernel
func flat(it gpu.Item, out []int64) {
	x := int(out[0])
	n := 0
	for n < 3 {
		switch x + n {
		/*CASES*/
		}
		n++
	}
	out[1] = int64(n)
	out[2] = int64(x /*TERMS*/)
	out[3] = int64(int32(x) /*NESTED*/)
	ok := x > 0 /*ANDS*/
	if ok {
		out[4] = 1
	}
}

// paces: between barriers, loops in steps of the group and of the grid, to ends of all kinds.
//
//tandem:kernel
//tandem:group 8 4
func paces(it gpu.Item, out []int64, x []int32, n, low int) {
	t := gpu.Local[[7][11]int32](it)
	left := it.Group(0)*13 - 3
	for i := it.Local(1); i < 7; i += 4 {
		for j := it.Local(0); j < 11; j += it.LocalSize(0) {
			t[i][j] = int32(i*100 + j)
			if k := left + i*11 + j; k >= 0 && k < len(x) {
				t[i][j] += x[k]
			}
		}
	}
	it.Barrier()
	for i := it.Global(1); i < 9; i += it.GlobalSize(1) {
		for j := it.Global(0); j < n-low; j += it.GlobalSize(0) {
			v := int64(t[(i+j)%7][j%11])
			gpu.AtomicAdd(&out[j&7], v)
			out[10+i*50+j] = v + int64(uint8(j)&3)
		}
	}
	it.Barrier()
	y := it.Local(1)
	if low < 4 {
		for j := it.Local(0); j < low+4; j += 8 {
			t[y][j] = x[j] - int32(y)
		}
	}
	turns := it.Local(0)
	for ; turns < n; turns += it.LocalSize(0) {
		t[y][it.Local(0)]++
	}
	it.Barrier()
	gpu.AtomicAdd(&out[8], int64(turns)+int64(t[y][it.Local(0)]))
}

// chains, shares, fills and folds: loops in steps of the grid, or of the group, whose turns share
// memory with those of the same work-item before.
//
//tandem:kernel
func chains(it gpu.Item, out []int64, n int) {
	for i := it.Global(0); i < n; i += it.GlobalSize(0) {
		if i >= it.GlobalSize(0) {
			out[i] = out[i-it.GlobalSize(0)]*3 + int64(i)
		}
	}
}

//tandem:kernel
func shares(it gpu.Item, out []int64, n int) {
	for i := it.Global(0); i < n; i += it.GlobalSize(0) {
		at := i % it.GlobalSize(0)
		out[at] = out[at]*3 + int64(i)
	}
}

//tandem:kernel
func fills(it gpu.Item, out []int64, n int) {
	t := gpu.Local[[32]int64](it)
	t[it.Local(0)] = 1
	it.Barrier()
	for i := it.Local(0); i < n; i += it.LocalSize(0) {
		at := i % it.LocalSize(0)
		t[at] = t[at]*3 + int64(i)
	}
	it.Barrier()
	out[it.Global(0)] = t[it.Local(0)]
}

//tandem:kernel
//tandem:group 8 4
func folds(it gpu.Item, out []int64, n int) {
	t := gpu.Local[[4][8]int64](it)
	x, y := it.Local(0), it.Local(1)
	t[y][x] = 1
	it.Barrier()
	for i := it.Local(0); i < n; i += it.LocalSize(0) {
		for j := it.Local(1); j < n; j += 4 {
			t[j%4][i%8] = t[j%4][i%8]*3 + int64(i*n+j)
		}
	}
	it.Barrier()
	for j := it.Local(1); j < n; j += 4 {
		for i := it.Local(0); i < n; i += it.LocalSize(0) {
			t[j%4][i%8] = t[j%4][i%8]*5 + int64(i*n+j)
		}
	}
	it.Barrier()
	out[(it.Group(0)*4+y)*8+x] = t[y][x]
}

// parting: the group leaves from between two barriers, or some work-items behind these.
//
//tandem:kernel
func parting(it gpu.Item, out []int64, n int) {
	t := gpu.Local[[8]int64](it)
	i, l := it.Global(0), it.Local(0)
	t[l] = int64(i)
	it.Barrier()
	sum := int64(0)
	for k := range l {
		sum += t[k]
	}
	if n > 3 {
		out[i] = sum
		return
	}
	it.Barrier()
	t[l] = sum
	it.Barrier()
	if l%3 == 2 {
		return
	}
	out[i] = sum + t[7-l]
}

type (
	kind interface {
		on() bool
		bits() int
		of(x int64) int64
	}
	less struct{}
	more struct{}
)

func (less) on() bool         { return false }
func (more) on() bool         { return true }
func (less) bits() int        { return 24 }
func (more) bits() int        { return 53 }
func (less) of(x int64) int64 { return -x }
func (more) of(x int64) int64 { return x }

func room[K kind](k K) int {
	if k.bits() > 24 && k.on() {
		return 8
	}
	return 0
}

// kinds: constants of a type decide what runs.
//
//tandem:kernel less more
func kinds[K kind](it gpu.Item, k K, out []int64) {
	a := int32(1)
	for i := range out {
		if k.on() && next(&a) > 20 && i%3 == 0 || i == 9 {
			out[i] += int64(a)
			continue
		}
		switch {
		case k.bits() == 24:
			out[i] = k.of(int64(i + room(k)))
		case !k.on() || out[0] == 77:
			out[i] = 5
		default:
			out[i] = int64(next(&a)) << uint(k.bits()-50+room(k))
		}
		if !k.on() {
			if i > 20 {
				break
			}
			continue
		}
		out[i] += k.of(out[(i+k.bits())%len(out)])
		low, high := pairOf(&a)
		out[i] += int64(low) - int64(high)
	}
	if next(&a) > 0 && k.bits()-24 != 0 || false {
		out[4] = int64(a)
		return
	}
	out[3] = 99 + int64(a)
}

// zeros: by 0 a quotient and a remainder are 0, whether all work-items divide by it or some.
//
//tandem:kernel int8 int16 int32 int64 int uint8 uint16 uint32 uint64 uint
func zeros[T gpu.Integer](it gpu.Item, out, x []T, none T) {
	if i := it.Global(0); i < len(x) {
		a, b := x[i], x[(i+1)%len(x)]
		out[i], out[20+i], out[40+i], out[60+i] = a/b, a%b, a/none, a%none
		for j := range 3 {
			if b < T(j) {
				out[80+i] += 9/b + T(j)%b
			}
		}
	}
	if gpu.Uniform(it, 5/none) == 0 {
		it.Barrier()
		if it.Global(0) == 0 {
			out[100] = 77 % none
		}
	}
}

//tandem:map int32 uint8
func over[T gpu.Integer](a, b T) T { return a/b + b%(a-b) }

func vector(n int) [3]int     { return [3]int{n, 2 * n, 3} }
func boxOf(k int32) box       { return box{k: k, list: [4]int32{k, 1, 2, 3}} }
func firsts(k int) (int, box) { return k, boxOf(int32(k)) }

func turn(it gpu.Item, t []int64, x int64) {
	l := it.Local(0)
	it.Barrier()
	v := t[7-l]
	it.Barrier()
	t[l] = 3*v + x
}

// conditions: structs and arrays of the whole group decide about barriers.
//
//tandem:kernel
func conditions(it gpu.Item, out []int64, b box, n int) {
	t := gpu.Local[[8]int64](it)
	t[it.Local(0)] = int64(it.Global(0))
	if boxOf(int32(n)) == b {
		turn(it, t[:], 1)
	}
	if c := [2]int{n, 1}; c != [2]int{3, 1} || vector(n)[n%3] == 4 {
		turn(it, t[:], 2)
	}
	out[it.Global(0)] = t[it.Local(0)]
}

//tandem:kernel
func loops(it gpu.Item, out []int64, b box, n int) {
	t := gpu.Local[[8]int64](it)
	t[it.Local(0)] = int64(it.Global(0))
	for k := 0; vector(k)[k%3] < n; k++ {
		turn(it, t[:], 3)
		if boxOf(int32(k)) == b {
			break
		}
	}
	var own struct {
		n int
		b box
	}
	own.n, own.b = firsts(n)
	for own.n > 0 && own.b.k > 1 {
		turn(it, t[:], 4)
		own.n -= 2
	}
	out[it.Global(0)] = t[it.Local(0)]
}

//tandem:kernel
func switches(it gpu.Item, out []int64, b box, n int) {
	t := gpu.Local[[8]int64](it)
	t[it.Local(0)] = int64(it.Global(0))
	switch vector(n)[n&1] {
	case n:
		turn(it, t[:], 5)
	case vector(n + 1)[0]:
		turn(it, t[:], 6)
	}
	switch b.list {
	case boxOf(1).list, boxOf(int32(n)).list:
		turn(it, t[:], 7)
	}
	out[it.Global(0)] = t[it.Local(0)]
}

// A walk is what the group shares, beside what is each work-item's own.
type walk struct {
	own  int64
	left int
	b    box
	sub  struct{ k, n int }
}

func (w walk) meet(it gpu.Item, t []int64) int64 {
	if w.left > 2 {
		turn(it, t, 9)
	}
	return w.own + t[it.Local(0)]
}

// fields: what the group shares of a struct decides, whatever the other fields are.
//
//tandem:kernel
func fields(it gpu.Item, out []int64, b box, n int) {
	t := gpu.Local[[8]int64](it)
	l := it.Local(0)
	t[l] = int64(it.Global(0))
	w := walk{own: t[l], left: n, b: b}
	for w.left > 0 {
		turn(it, t[:], 8)
		w.own += t[l]
		w.left -= 2
		if w.b.list[w.left&3] == 2 {
			turn(it, t[:], 2)
			w.b.k++
		}
	}
	v := w // a copy
	v.left, v.own = n, v.own*int64(l)
	w.own += v.meet(it, t[:])
	if v.sub.n += n; v.sub.n == 3 || v.b == b {
		turn(it, t[:], 3)
		v = walk{v.own + 1, int(w.b.k), w.b, v.sub}
	}
	switch v.left {
	case 3, 4:
		turn(it, t[:], 4)
	case n:
		return
	}
	var ways [2]walk // whose elements differ as wholes
	ways[l&1].own = w.own
	out[it.Global(0)] = t[l] + v.own*10 + ways[1].own + int64(v.b.k)
}

// lengths: a matrix without elements has none, whatever its stride.
//
//tandem:kernel
func lengths(it gpu.Item, out []int64, m gpu.Matrix[int32]) {
	out[0], out[1], out[2] = int64(len(m.Data)), int64(m.Rows), int64(m.Cols)
	for i := range m.Data {
		out[3] += int64(m.Data[i])
	}
}
