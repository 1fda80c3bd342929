package ptxsim

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"

	"github.com/tandem-gpu/tandem/internal/host"
)

func tree[F float32 | float64](part []F) F {
	for step := len(part) / 2; step > 0; step /= 2 {
		for l := range step {
			part[l] += part[l+step]
		}
	}
	return part[0]
}

func testReduce(t *program) {
	const n, blocks = 1000, 3
	x := floats[float32](n)
	got := prefill[float32](blocks, 7)
	t.launch("reduce", x1(blocks), x1(128), int32(n), x, output{got})
	want := make([]float32, blocks)
	for b := range want {
		part := make([]float32, 128)
		for l := range part {
			for i := b*128 + l; i < n; i += 128 * blocks {
				part[l] += x[i]
			}
		}
		want[b] = tree(part)
	}
	same(t, "sums", got, want)
}

func testDot(t *program) {
	const n = 777
	x, y, got := floats[float64](n), slices.Repeat([]float64{1.0 / 3, -0.1, 7}, n/3), prefill[float64](1, 7)
	t.launch("dot", x1(1), x1(64), int32(n), x, y, output{got})
	part := make([]float64, 64)
	for i := range n {
		part[i%64] = math.FMA(x[i], y[i], part[i%64])
	}
	same(t, "dot", got, []float64{tree(part)})
}

func testStencil2D(t *program) {
	const w, h = 37, 21
	in, got, want := floats[float32](w*h), prefill[float32](w*h, 7), make([]float32, w*h)
	t.launch("stencil2d", [3]int{3, 3, 1}, [3]int{16, 8, 1}, int32(w), int32(h), in, output{got})
	at := func(x, y int) float32 { return in[min(max(y, 0), h-1)*w+min(max(x, 0), w-1)] }
	for y := range h {
		for x := range w {
			c := at(x, y)
			sum := at(x-1, y) + at(x+1, y) + at(x, y-1) + at(x, y+1) - float32(4*c)
			want[y*w+x] = c + float32(0.2*sum)
		}
	}
	same(t, "out", got, want)
}

func testStencil3D(t *program) {
	const nx, ny, nz = 9, 7, 6
	in, got, want := floats[float64](nx*ny*nz), prefill[float64](nx*ny*nz, 7), make([]float64, nx*ny*nz)
	t.launch("stencil3d", [3]int{3, 2, 3}, [3]int{4, 4, 2}, int32(nx), int32(ny), int32(nz), in, output{got})
	for i := range in {
		x, y, z := i%nx, i/nx%ny, i/nx/ny
		want[i] = in[i]
		if x > 0 && y > 0 && z > 0 && x < nx-1 && y < ny-1 && z < nz-1 {
			sum := in[i-1] + in[i+1] + in[i-nx] + in[i+nx] + in[i-nx*ny] + in[i+nx*ny]
			want[i] = math.FMA(0.1, sum-float64(6*in[i]), in[i])
		}
	}
	same(t, "out", got, want)
}

func testHistogram(t *program) {
	data, got, want := ints[uint8](5000, 256), make([]uint32, 256), make([]uint32, 256)
	t.launch("histogram", x1(5), x1(64), int32(len(data)), data, got)
	for _, v := range data {
		want[v]++
	}
	same(t, "counts", got, want)
}

func testScan(t *program) {
	const n, blocks = 600, 5
	x, totals := ints[int32](n, 1<<31), prefill[int32](blocks, 7)
	want, sum := make([]int32, n), int32(0)
	for i, v := range x {
		sum += v
		want[i] = sum
	}
	t.launch("scan", x1(blocks), x1(128), int32(n), x, output{totals})
	t.launch("scan_add", x1(blocks), x1(128), int32(n), x, totals)
	same(t, "scan", x, want)
}

func testSoftmax(t *program) {
	const rows, cols = 3, 100
	x, y := floats[float32](rows*cols), prefill[float32](rows*cols, 7)
	t.launch("softmax", x1(rows), x1(64), int32(cols), x, output{y})
	for r := range rows {
		row, s := x[r*cols:][:cols], 0.0
		for _, v := range row {
			s += math.Exp(float64(v))
		}
		for j, v := range row {
			near(t, "softmax", float64(y[r*cols+j]), math.Exp(float64(v))/s, 1e-6)
		}
	}
}

func testBitonic(t *program) {
	keys := ints[uint32](512, 1000)
	want := slices.Clone(keys)
	slices.Sort(want[:256])
	slices.Sort(want[256:])
	t.launch("bitonic", x1(2), x1(128), keys)
	same(t, "keys", keys, want)
}

func testNbody(t *program) {
	const n = 100
	b, got := floats[float32](4*n), prefill[float32](4*n, 7)
	t.launch("nbody", x1(2), x1(64), int32(n), b, output{got})
	want := make([]float32, 4*n)
	for i := range n {
		p := b[4*i:]
		var ax, ay, az float32
		for j := range 128 {
			var q [4]float32
			if j < n {
				q = [4]float32(b[4*j:])
			}
			dx, dy, dz := q[0]-p[0], q[1]-p[1], q[2]-p[2]
			r2 := float32(float32(dx*dx)+float32(dy*dy)) + float32(dz*dz) + 0.01
			f := q[3] / float32(r2*float32(math.Sqrt(float64(r2))))
			ax += float32(dx * f)
			ay += float32(dy * f)
			az += float32(dz * f)
		}
		copy(want[4*i:], []float32{ax, ay, az, p[3]})
	}
	same(t, "acc", got, want)
}

func testLife(t *program) {
	const w, h = 20, 13
	in, got, want := ints[uint8](w*h, 2), prefill[uint8](w*h, 7), make([]uint8, w*h)
	t.launch("life", [3]int{3, 2, 1}, [3]int{8, 8, 1}, int32(w), int32(h), in, output{got})
	for i := range in {
		x, y, n := i%w, i/w, uint8(0)
		for k := range 9 {
			if k != 4 {
				n += in[(y+k/3-1+h)%h*w+(x+k%3-1+w)%w]
			}
		}
		if n == 3 || n == 2 && in[i] == 1 {
			want[i] = 1
		}
	}
	same(t, "out", got, want)
}

func testMandelbrot(t *program) {
	const w, h, limit = 40, 30, 60
	got, want := prefill[uint16](w*h, 7), make([]uint16, w*h)
	t.launch("mandelbrot", [3]int{3, 4, 1}, [3]int{16, 8, 1}, int32(w), int32(h), int32(limit), output{got})
	for p := range want {
		cx, cy := -2.0+float64(3.0*float64(p%w))/w, -1.0+float64(2.0*float64(p/w))/h
		x, y, i := 0.0, 0.0, 0
		for ; i < limit; i++ {
			x2, y2 := float64(x*x), float64(y*y)
			if x2+y2 > 4 {
				break
			}
			y = float64(2*x*y) + cy
			x = x2 - y2 + cx
		}
		want[p] = uint16(i)
	}
	same(t, "steps", got, want)
}

func testMatvec(t *program) {
	const rows, vectors = 5, 50
	a, x, got := floats[float32](rows*vectors*4), floats[float32](vectors*4), prefill[float32](rows, 7)
	slices.Reverse(x)
	t.launch("matvec", x1(rows), x1(32), int32(vectors), a, x, output{got})
	want := make([]float32, rows)
	for r := range want {
		for l := range 32 {
			s := float32(0)
			for j := 4 * l; j < 4*vectors; j++ {
				if j/4%32 == l {
					s = host.FMA32(a[r*4*vectors+j], x[j], s)
				}
			}
			want[r] += s
		}
	}
	same(t, "y", got, want)
}

func testInt64(t *program) {
	special := []uint64{
		1, 2, 3, 7, 10, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 62, 1<<63 - 1, 1 << 63, 1<<63 + 1, 1<<64 - 1,
		0xfedcba9876543210,
	}
	var x, y []uint64
	for _, a := range append(special, 0) {
		for _, b := range special {
			x, y = append(x, a), append(y, b)
		}
	}
	x, y = append(x, ints[uint64](50, 1<<63)...), append(y, ints[uint64](50, 1<<40)...)
	got, want := prefill[uint64](16*len(x), 7), []uint64{}
	t.launch("int64", x1(len(x)/64+1), x1(64), int32(len(x)), x, y, output{got})
	for i, a := range x {
		b := y[i]
		if b == 0 {
			b = 1
		}
		sa, sb := int64(a), int64(b)
		hi, _ := bits.Mul64(a, b)
		shi := hi - a&uint64(sb>>63) - b&uint64(sa>>63)
		diff := max(a, b) - min(a, b)
		want = append(want, a*b, a/b, a%b, uint64(sa/sb), uint64(sa%sb), hi, shi, bits.RotateLeft64(a, int(b&63)),
			uint64(sa>>(b&63)), diff,
			uint64(min(sa, sb)), uint64(uint32(a))*uint64(uint32(b)), uint64(int64(int32(a))*int64(int32(b))),
			a/10+b%1000, uint64(sa/7-sb%12),
			a^(^b&0x0123456789abcdef))
	}
	for i := range x { // a rotation by zero is a|a here, as in the kernel
		if y[i]&63 == 0 {
			want[16*i+7] = x[i]
		}
	}
	same(t, "out", got, want)
}

func testMathD(t *program) {
	x := append(floats[float64](60), 1, 2, 0.5, 100, 1e-300, 700, 3e5)
	for i := range x {
		x[i] = math.Abs(x[i])
	}
	got := prefill[float64](8*len(x), 7)
	t.launch("mathd", x1(2), x1(64), int32(len(x)), x, output{got})
	for i, a := range x {
		o := got[8*i:]
		same(t, "exact", []float64{o[0], o[1], o[2], o[7]}, []float64{math.Sqrt(a), 1 / a, a / 3, math.Floor(a) +
			math.RoundToEven(a) + math.Trunc(a)})
		if a < 700 {
			near(t, "exp", o[3], math.Exp(-a), 1e-14)
		}
		near(t, "log", o[4], math.Log(a), 1e-14)
		near(t, "sin", o[5], math.Sin(a), 1e-13)
		near(t, "pow", o[6], math.Pow(a, 1.25), 1e-14)
	}
}

func testMathF(t *program) {
	x := append(floats[float32](60), 1, 2, 0.5, 60, 1e-30, 3e5)
	for i := range x {
		x[i] = float32(math.Abs(float64(x[i])))
	}
	got := prefill[float32](10*len(x), 7)
	t.launch("mathf", x1(2), x1(64), int32(len(x)), x, output{got})
	for i, a := range x {
		o, d := got[10*i:], float64(a)
		same(t, "exact", o[:3], []float32{float32(math.Sqrt(d)), 1 / a, a / 3})
		if a < 80 {
			near(t, "exp", float64(o[3]), math.Exp(-d), 1e-6)
			near(t, "tanh", float64(o[9]), math.Tanh(d)+math.Exp2(-d)+math.Log2(d), 1e-5)
		}
		near(t, "log", float64(o[4]), math.Log(d), 1e-6)
		near(t, "sin", float64(o[5]), math.Sin(d), 1e-6)
		if c := math.Cos(float64(a * 100000)); math.Abs(c) > 1e-3 {
			near(t, "cos", float64(o[6]), c, 1e-5)
		}
		near(t, "pow", float64(o[7]), math.Pow(d, 1.25), 1e-6)
		near(t, "rsqrt", float64(o[8]), 1/math.Sqrt(d), 1e-6)
	}
}

func testMachine(t *program) {
	program := []uint8{5, 3, 2, 0, 4, 1, 9, 6, 3, 5, 17, 1, 8, 7, 0, 2, 9, 4, 3, 7, 9}
	in, got := append(ints[int32](40, 1000), -5, 1<<31-1, -1<<31), prefill[int32](43, 7)
	t.launch("machine", x1(2), x1(32), int32(len(in)), program, int32(len(program)), in, output{got})
	want := make([]int32, len(in))
	for i, v := range in {
		want[i] = runMachine(program, v)
	}
	same(t, "out", got, want)
}

func runMachine(program []uint8, v int32) int32 {
	var stack [8]int32
	top, steps := 0, int32(0)
	stack[0] = v
	for pc := 0; pc < len(program) && steps < 1000; pc, steps = pc+1, steps+1 {
		s := &stack[top]
		down, up := (top+7)&7, (top+1)&7
		switch program[pc] {
		case 0:
			stack[up], top = *s, up
		case 1:
			stack[down], top = stack[down]+*s, down
		case 2:
			stack[down], top = stack[down]**s, down
		case 3:
			*s = -*s
		case 4:
			*s ^= *s >> 3
		case 5:
			pc++
			stack[up], top = int32(program[pc]), up
		case 6:
			if *s&1 != 0 {
				pc++
			}
		case 7:
			if *s > 100000 {
				pc = -1
			}
			*s /= 3
		case 8:
			*s <<= 2
		case 9:
			*s += steps
		}
	}
	return stack[top] + 7*steps
}

func testMedian(t *program) {
	const w, h = 19, 11
	in, got, want := ints[uint16](w*h, 65536), prefill[uint16](w*h, 7), make([]uint16, w*h)
	t.launch("median", [3]int{2, 2, 1}, [3]int{16, 8, 1}, int32(w), int32(h), in, output{got})
	for i := range in {
		var v []uint16
		for y := max(i/w-1, 0); y <= min(i/w+1, h-1); y++ {
			v = append(v, in[y*w+max(i%w-1, 0):][:min(i%w+1, w-1)-max(i%w-1, 0)+1]...)
		}
		slices.Sort(v)
		want[i] = v[len(v)/2]
	}
	same(t, "out", got, want)
}

type particle struct {
	X, Y    float32
	VX, VY  float64
	Bounces int32
	Alive   uint8
	Pad     [3]uint8
}

func testParticles(t *program) {
	type world struct {
		Left, Right float32
		DT          float64
	}
	v := floats[float64](40)
	p := make([]particle, 20)
	for i := range p {
		p[i] = particle{
			X: float32(v[2*i]), Y: float32(i), VX: 3 * v[2*i+1], VY: v[i], Bounces: int32(i % 4), Alive: uint8(i % 5),
		}
	}
	want := slices.Clone(p)
	w := world{-0.75, 0.75, 0.125}
	for i := range want {
		q := &want[i]
		if q.Alive == 0 {
			continue
		}
		q.X += float32(q.VX * w.DT)
		q.Y += float32(q.VY * w.DT)
		if q.X < w.Left || q.X > w.Right {
			q.VX = -q.VX
			q.Bounces++
		}
		if q.Bounces > 2 {
			q.Alive = 0
		}
	}
	t.launch("particles", x1(1), x1(32), int32(len(p)), p, w)
	same(t, "particles", p, want)
}

func testCRC32(t *program) {
	const n, length = 10, 33
	data, got, want := ints[uint8](n*length, 256), prefill[uint32](n, 7), make([]uint32, n)
	t.launch("crc32", x1(1), x1(32), int32(n), int32(length), data, output{got})
	for i := range want {
		want[i] = crc32.ChecksumIEEE(data[i*length:][:length])
	}
	same(t, "crc", got, want)
}

func testSHA256(t *program) {
	messages := []string{
		"", "abc", "The quick brown fox jumps over the lazy dog",
		"0123456789012345678901234567890123456789012345678901234",
	}
	var blocks []uint8
	var want []uint32
	for _, m := range messages { // one block each, with the padding that the hash prescribes
		b := make([]byte, 64)
		copy(b, m)
		b[len(m)] = 0x80
		binary.BigEndian.PutUint64(b[56:], uint64(8*len(m)))
		blocks = append(blocks, b...)
		sum := sha256.Sum256([]byte(m))
		for i := 0; i < 32; i += 4 {
			want = append(want, binary.BigEndian.Uint32(sum[i:]))
		}
	}
	got := prefill[uint32](len(want), 7)
	t.launch("sha256", x1(1), x1(32), int32(len(messages)), blocks, output{got})
	same(t, "digests", got, want)
}
