package ptxsim

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

func testBits(t *program) {
	x := append(ints[uint32](50, 1<<32), 0, 1, 1<<31, 1<<32-1)
	n := len(x)
	got, want := prefill[uint32](10*n, 7), []uint32{}
	t.launch("bits", x1(1), x1(64), int32(n), x, output{got})
	for i, a := range x {
		b := x[(i+1)%n]
		ffs := uint32(0)
		if a != 0 {
			ffs = uint32(bits.TrailingZeros32(a)) + 1
		}
		morton := uint32(0)
		for k := range 16 {
			morton |= (a >> k & 1) << (2 * k)
			morton |= (b >> k & 1) << (2*k + 1)
		}
		field, diff := uint32(int32(a<<11)>>20), max(a, b)-min(a, b)
		want = append(want, uint32(bits.OnesCount32(a))+64*uint32(bits.LeadingZeros32(a))+4096*ffs, bits.Reverse32(a),
			morton,
			bits.RotateLeft32(a, 7), a>>8&0xff|a&0xff<<8|b>>24<<16|b&0xff<<24,
			uint32(bits.OnesCount32(a)+bits.OnesCount32(b))+256*uint32(bits.LeadingZeros64(uint64(a))),
			uint32((uint64(b)<<32|uint64(a))<<(i&31)>>32), a&b^(^a&uint32(i)), a>>5&0x7f, field+diff+3)
	}
	same(t, "out", got, want)
}

func testGCD(t *program) {
	x, y := append(ints[uint32](30, 100000), 0, 12), append(ints[uint32](30, 720), 5, 0)
	n := len(x)
	got, pairs, want, wantPairs := prefill[uint32](n, 7), prefill[float64](2*n, 7), []uint32{}, []float64{}
	t.launch("gcd", x1(2), x1(16), int32(n), x, y, output{got}, output{pairs})
	var ackermann func(m, n int) int
	ackermann = func(m, n int) int {
		switch {
		case m == 0:
			return n + 1
		case n == 0:
			return ackermann(m-1, 1)
		}
		return ackermann(m-1, ackermann(m, n-1))
	}
	for i := range x {
		a, b := x[i], y[i]
		for b != 0 {
			a, b = b, a%b
		}
		want = append(want, a+1000000*uint32(ackermann(i%3, i%4)))
		wantPairs = append(wantPairs, float64(y[i])*0.5, float64(x[i]))
	}
	same(t, "out", got, want)
	same(t, "pairs", pairs, wantPairs)
}

func testCollatz(t *program) {
	const n = 300
	got, want := prefill[int32](n, 7), make([]int32, n)
	t.launch("collatz", x1(3), x1(32), int32(n), output{got})
	for i := range want {
		for v := uint64(i) + 1; v != 1; want[i]++ {
			if v&1 != 0 {
				v = 3*v + 1
			} else {
				v /= 2
			}
		}
	}
	same(t, "steps", got, want)
}

// clampTo is what CUDA's conversions to integers do: round, and limit to the range; NaN gives 0.
func clampTo(x, lo, hi float64) float64 {
	if x != x {
		return 0
	}
	return min(max(x, lo), hi)
}

func testConvert(t *program) {
	x := []float64{
		0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 1e3 + 0.25, -1e3 - 0.75, 123456.789, -123456.789, 8388607.5,
		16777217, 255.9, -128.5, 32767.5,
	}
	x = append(x, floats[float64](20)...)
	n := len(x)
	ints, longs := prefill[int32](10*n, 7), prefill[uint64](2*n, 7)
	fl, db := prefill[float32](4*n, 7), prefill[float64](2*n, 7)
	t.launch("convert", x1(1), x1(64), int32(n), x, output{ints}, output{longs}, output{fl}, output{db})
	var wantI []int32
	var wantL []uint64
	var wantF []float32
	var wantD []float64
	for _, a := range x {
		f := float32(a)
		d := float64(f)
		limit := func(v float64) int32 { return int32(clampTo(v, -1<<31, 1<<31-1)) }
		wantI = append(wantI, limit(math.Trunc(d)), limit(math.RoundToEven(d)), limit(math.Floor(d)),
			limit(math.Ceil(d)),
			int32(uint32(clampTo(math.Trunc(d), 0, 1<<32-1))), limit(math.Trunc(a)), int32(int8(limit(a))),
			int32(uint8(limit(a))),
			int32(int16(limit(a))), limit(math.RoundToEven(a)))
		wantL = append(wantL, uint64(int64(a)), uint64(max(d, 0)))
		square := ^uint64(0) // the range's end
		if v := float64(a*a) * 1e12; v < 1<<64 {
			square = uint64(v)
		}
		wantF = append(wantF, f, float32(limit(a)), float32(int64(a*1e6)), float32(square))
		long := int64(-1 << 63)
		if v := a * 1e15; v >= 1<<63 {
			long = 1<<63 - 1
		} else if v > -1<<63 {
			long = int64(v)
		}
		wantD = append(wantD, d*float64(float32(0.1)), float64(long))
	}
	same(t, "ints", ints, wantI)
	same(t, "longs", longs, wantL)
	same(t, "floats", fl, wantF)
	same(t, "doubles", db, wantD)
}

func testAtomics(t *program) {
	const n = 200
	x := ints[int32](n, 1<<20)
	out := []int32{-1 << 31, 1<<31 - 1, -1, 0, 0, 0, 0, 0, 0}
	sum, tickets, wide := []float32{0}, prefill[uint32](n, 7), []uint64{0, 0}
	want := slices.Clone(out)
	wantSum, wantTickets, wantWide := []float32{0}, make([]uint32, n), []uint64{0, 0}
	t.launch("atomics", x1(4), x1(64), int32(n), x, out, sum, output{tickets}, wide)
	for i, v := range x {
		want[0], want[1], want[2] = max(want[0], v), min(want[1], v), want[2]&v
		want[3] |= v
		want[4] ^= v
		want[5] -= v
		wantTickets[i] = uint32(want[6])
		want[6] = int32(atomicInc(uint64(want[6]), 1000))
		want[7] = int32(atomicDec(uint64(want[7]), 50))
		want[8] = v
		wantSum[0] += 0.25 * float32(v&7)
		wantWide[0] += uint64(v) * 1000003
		wantWide[1] = max(wantWide[1], uint64(v))
	}
	same(t, "out", out, want)
	same(t, "sum", sum, wantSum)
	same(t, "tickets", tickets, wantTickets) // blocks and threads run in order here
	same(t, "wide", wide, wantWide)
}

func testTranspose(t *program) {
	const rows, cols, lda, ldc = 35, 20, 23, 40
	a, c := ints[int32](rows*lda, 1000), prefill[int32](cols*ldc, -7)
	want := slices.Clone(c)
	for i := range rows {
		for j := range cols {
			want[j*ldc+i] = a[i*lda+j]
		}
	}
	t.launch("transpose", [3]int{2, 3, 1}, [3]int{16, 16, 1}, int32(rows), int32(cols), a, int32(lda), c, int32(ldc))
	same(t, "c", c, want)
}

func testHorner(t *program) {
	coefficients := []float64{1.0, -0.5, 0.25, -0.125, 3.5, 1e-3, -7.0, 0.0625}
	x := floats[float64](40)
	got, want := prefill[float64](80, 7), []float64{}
	t.launch("horner", x1(2), x1(32), int32(len(x)), x, output{got})
	for i, v := range x {
		s, u := 0.0, 0.0
		for k := 7; k >= 0; k-- {
			s = math.FMA(s, v, coefficients[k])
		}
		for k := i & 7; k >= 0; k-- {
			u = float64(u*v) + coefficients[k]
		}
		want = append(want, s, u)
	}
	same(t, "y", got, want)
}

func testDistance(t *program) {
	a, b, got := ints[uint8](128, 4), ints[uint8](160, 4)[32:], prefill[int32](2, 7)
	t.launch("distance", x1(2), x1(64), a, b, output{got})
	want := make([]int32, 2)
	for g := range want {
		var d [65][65]int32
		for i := range d {
			for j := range d {
				switch {
				case i == 0 || j == 0:
					d[i][j] = int32(i + j)
				default:
					d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+int32(flag(a[64*g+i-1] != b[64*g+j-1])))
				}
			}
		}
		want[g] = d[64][64]
	}
	same(t, "distance", got, want)
}

func testMonteCarlo(t *program) {
	const rounds, seed = 50, uint64(12345)
	got, want := prefill[uint32](64, 7), make([]uint32, 64)
	t.launch("montecarlo", x1(2), x1(32), int32(rounds), seed, output{got})
	for i := range want {
		s := seed + uint64(i)*0x9e3779b97f4a7c15
		for range rounds {
			s ^= s << 13
			s ^= s >> 7
			s ^= s << 17
			x, y := float32(s>>40)*0x1p-24, float32(s&0xffffff)*0x1p-24
			if float32(x*x)+float32(y*y) < 1 {
				want[i]++
			}
		}
	}
	same(t, "hits", got, want)
}

func testSmall(t *program) {
	x, y := append(ints[int8](60, 256), 0, -128, 127), append(ints[int16](60, 65536), -1<<15, 1<<15-1, 0)
	n := len(x)
	got, by, want, wantBy := prefill[int16](6*n, 7), prefill[uint8](n, 7), []int16{}, []uint8{}
	t.launch("small", x1(2), x1(32), int32(n), x, y, output{got}, output{by})
	for i := range x {
		a, b := int32(x[i]), int32(y[i])
		div, most := a, a
		if a == 0 {
			div = 1
		}
		if b > a {
			most = b - a
		}
		want = append(want, int16(a*b), int16(b/div), int16(uint16(b)%77), int16(b>>3), int16(most), int16((b*3+a)^^b))
		wantBy = append(wantBy, uint8(min(max(a+b, 0), 255)))
	}
	same(t, "out", got, want)
	same(t, "bytes", by, wantBy)
}

func testNearest(t *program) {
	const m, n = 150, 4
	points, from := floats[float32](2*m), floats[float32](2 * (m + n))[2*m:]
	copy(points[2*140:], points[2*3:2*3+2]) // a tie: the lower index wins
	copy(from, points[6:8])
	index, dist := prefill[int32](n, 7), prefill[float32](n, 7)
	t.launch("nearest", x1(n), x1(64), int32(m), points, from, output{index}, output{dist})
	wantI, wantD := make([]int32, n), make([]float32, n)
	for g := range n {
		best := float32(3e38)
		for j := range m {
			dx, dy := points[2*j]-from[2*g], points[2*j+1]-from[2*g+1]
			if s := float32(dx*dx) + float32(dy*dy); s < best {
				best, wantI[g] = s, int32(j)
			}
		}
		wantD[g] = float32(math.Sqrt(float64(best)))
	}
	same(t, "index", index, wantI)
	same(t, "dist", dist, wantD)
}

func testConvolve(t *program) {
	const w, h = 21, 13
	mask, in, got, want := floats[float32](25), floats[float32](w*h), prefill[float32](w*h, 7), make([]float32, w*h)
	slices.Reverse(mask)
	addr, size, err := t.mod.Global("mask")
	if err != nil || size != 100 {
		t.Fatal(size, err)
	}
	mem, _ := binary.Append(nil, binary.LittleEndian, mask)
	if err := t.dev.Write(addr, mem); err != nil {
		t.Fatal(err)
	}
	t.launch("convolve", [3]int{3, 2, 1}, [3]int{8, 8, 1}, int32(w), int32(h), in, output{got})
	for i := range want {
		for k, m := range mask {
			x, y, v := i%w+k%5-2, i/w+k/5-2, float32(0)
			if x >= 0 && x < w && y >= 0 && y < h {
				v = in[y*w+x]
			}
			want[i] += float32(m * v)
		}
	}
	same(t, "out", got, want)
}

func testLastBlock(t *program) {
	const n, blocks = 1000, 7
	x, part, ticket, total := ints[uint32](n, 1<<32), prefill[uint32](blocks, 7), []uint32{0}, []uint32{7}
	t.launch("lastblock", x1(blocks), x1(32), int32(n), x, output{part}, ticket, output{total})
	want := uint32(0)
	for _, v := range x {
		want += v
	}
	same(t, "total", total, []uint32{want})
	same(t, "ticket", ticket, []uint32{blocks})
}

func testWarp(t *program) {
	x, got, want := ints[int32](64, 100), prefill[int32](320, 7), []int32{}
	x[40] = 7
	t.launch("warp", x1(1), x1(64), x, output{got})
	count := int32(0)
	for _, v := range x {
		count += int32(flag(v > 50))
	}
	for i, v := range x {
		warp := x[i/32*32:][:32]
		sum, odd, any7 := int32(0), uint32(0), int32(0)
		for l, u := range warp {
			sum += u
			odd |= uint32(u&1) << l
			any7 |= int32(flag(u == 7))
		}
		before := v
		if i%32 > 0 {
			before = x[i-1]
		}
		want = append(want, sum, int32(odd), before, count, 1+2*any7)
	}
	same(t, "out", got, want)
}

func testDynamic(t *program) {
	x := floats[float32](96)
	want := make([]float32, 96)
	for i := range want {
		want[i] = x[i/48*48+(i%48+5)%48]
	}
	if err := t.try("dynamic", x1(2), x1(48), 48*4, int32(5), x); err != nil {
		t.Fatal(err)
	}
	same(t, "x", x, want)
}
