package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/kernels"
	"github.com/tandem-gpu/tandem/linalg"
	npyfiles "github.com/tandem-gpu/tandem/linalg/files"
)

// kinds of values, each with what it is made of.
var kinds = []string{"random", "subnormal", "underflow", "special"}

// values fills a matrix with values of a kind. B is the second operand of a product.
func values[T linalg.Element](kind string, rows, cols int, isB bool, rng *rand.Rand) linalg.Matrix[T] {
	m := linalg.NewMatrix[T](rows, cols, nil)
	for i := range m.Data {
		m.Data[i] = value[T](kind, isB, rng)
	}
	return m
}

func value[T linalg.Element](kind string, isB bool, rng *rand.Rand) T {
	var t T
	// a product is up to 2^-149, the smallest float32, and most vanish
	smallest, exponent := math.SmallestNonzeroFloat32, -75
	largest := math.MaxFloat32
	switch any(t).(type) {
	case int32:
		if kind == "special" {
			return T([]int32{math.MinInt32, math.MaxInt32, -1, 0, 1}[rng.IntN(5)])
		}
		return T(int32(rng.Uint32()))
	case float64:
		smallest, exponent, largest = math.SmallestNonzeroFloat64, -537, math.MaxFloat64
	}
	x := 2*rng.Float64() - 1
	switch {
	case kind == "subnormal" && !isB:
		return T(smallest * math.Round(1000*x))
	case kind == "underflow" && isB:
		return T(math.Ldexp(x, exponent+1))
	case kind == "underflow":
		return T(math.Ldexp(x, exponent))
	case kind == "special" && rng.IntN(16) == 0:
		list := []float64{0, math.Copysign(0, -1), smallest, -smallest, largest, -largest, 1, -1}
		if rng.IntN(20) == 0 {
			list = []float64{math.Inf(1), math.Inf(-1), math.NaN()}
		}
		return T(list[rng.IntN(len(list))])
	}
	return T(x)
}

// product is the sequential chain of fused multiply-adds, by definition.
func product[T linalg.Element](a, b linalg.Matrix[T]) linalg.Matrix[T] {
	c := linalg.NewMatrix[T](a.Rows, b.Cols, nil)
	host.GemmReference(a.Rows, b.Cols, a.Cols, 1, a.Data, a.Stride, b.Data, b.Stride, 0, c.Data, c.Stride)
	return c
}

// shapes are M, K, N.
var shapes = [][3]int{
	{1, 1, 1},
	{5, 7, 23},
	{64, 64, 64},
	{130, 70, 17},
	{127, 129, 257},
	{3, 300, 0},
	{3, 0, 300},
	{0, 3, 300},
}

func TestMatMulBits(t *testing.T) {
	racetest.Skip(t, "it is of bits")
	t.Run("float32", matMulBits[float32])
	t.Run("float64", matMulBits[float64])
	t.Run("int32", matMulBits[int32])
}

func matMulBits[T linalg.Element](t *testing.T) {
	type problem struct {
		name       string
		a, b, want linalg.Matrix[T]
	}
	var problems []problem
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range shapes {
		for _, kind := range kinds {
			if element.TypeOf[T]() == element.Int32 && (kind == "subnormal" || kind == "underflow") {
				continue
			}
			a, b := values[T](kind, s[0], s[1], false, rng), values[T](kind, s[1], s[2], true, rng)
			problems = append(problems, problem{
				fmt.Sprintf("%s-%dx%dx%d", kind, s[0], s[1], s[2]), a, b,
				product(a, b),
			})
		}
	}
	onBackends(t, func(t *testing.T, backend string) {
		at := in(t.TempDir())
		for n, p := range problems {
			for i, l := range layoutsOn(backend, n) {
				m := layouts[len(layouts)-1-i] // of B
				c := at(p.name + l.name + ".npy")
				must(t, "matmul", write(t, at("a.npy"), encode(l, p.a)), write(t, at("b.npy"), encode(m, p.b)), "-o", c,
					"--backend", backend)
				checkFile(t, c, []int{p.a.Rows, p.b.Cols}, p.want)
			}
		}
	})
}

// layoutsOn is the layouts for problem n on a backend, with their indices: all of them on cpu, one
// on the others and in short tests. A file is read and written before a backend sees its matrix.
func layoutsOn(backend string, n int) iter.Seq2[int, layout] {
	return func(yield func(int, layout) bool) {
		for i, l := range layouts {
			all := backend == "cpu" && !testing.Short()
			if (all || i == n%len(layouts)) && !yield(i, l) {
				return
			}
		}
	}
}

// The cases would not show a wrong answer if their results were all alike.
func TestMatMulCasesAreTelling(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, kind := range kinds {
		c := product(values[float32](kind, 130, 70, false, rng), values[float32](kind, 70, 17, true, rng))
		different := map[uint32]bool{}
		var negativeZeros, subnormals, nans int
		for _, v := range c.Data {
			different[math.Float32bits(v)] = true
			switch abs := math.Abs(float64(v)); {
			case v == 0 && math.Signbit(float64(v)):
				negativeZeros++
			case abs > 0 && abs < 0x1p-126:
				subnormals++
			case v != v:
				nans++
			}
		}
		t.Logf("%s: %d different values, %d times -0, %d subnormal, %d NaN",
			kind, len(different), negativeZeros, subnormals, nans)
		switch {
		case len(different) < 10,
			kind == "subnormal" && subnormals == 0,
			kind == "underflow" && (subnormals == 0 || negativeZeros == 0),
			kind == "special" && (nans == 0 || nans == len(c.Data)):
			t.Errorf("%s: tells too little", kind)
		}
	}
}

// What the seeds compute, on files.
func TestMatMulSeeds(t *testing.T) {
	onBackends(t, func(t *testing.T, backend string) {
		at := in(t.TempDir())
		a := linalg.NewMatrix[int32](4, 4, nil)
		for i := range a.Data {
			a.Data[i] = int32(i)
		}
		must(t, "matmul", save(t, at("a.npy"), a), at("a.npy"), "-o", at("c.npy"), "--backend", backend)
		checkFile(t, at("c.npy"), []int{4, 4},
			linalg.NewMatrix(4, 4, []int32{56, 62, 68, 74, 152, 174, 196, 218, 248, 286, 324, 362, 344, 398, 452, 506}))
		x, y := linalg.NewMatrix[float64](24, 12, nil), linalg.NewMatrix[float64](12, 22, nil)
		want := linalg.NewMatrix[float64](24, 22, nil)
		for m, v := range map[*linalg.Matrix[float64]]float64{&x: 3, &y: 4, &want: 144} {
			for i := range m.Data {
				m.Data[i] = v
			}
		}
		must(t, "matmul", save(t, at("x.npy"), x), save(t, at("y.npy"), y), "-o", at("z.npy"), "--backend", backend)
		checkFile(t, at("z.npy"), []int{24, 22}, want)
	})
}

// Files of float16, in either order of bytes and elements, are multiplied as float32, in memory and
// from file to file, and by files of float32.
func TestMatMulHalf(t *testing.T) {
	at := in(t.TempDir())
	const n = 100
	rng := rand.New(rand.NewPCG(16, 16))
	x, h := linalg.NewMatrix[float32](n, n, nil), linalg.NewMatrix[linalg.Float16](n, n, nil)
	for i := range h.Data {
		h.Data[i] = element.ToFloat16(float32(math.Ldexp(rng.NormFloat64(), rng.IntN(20)-16)))
		x.Data[i] = h.Data[i].Float32()
	}
	single := save(t, at("x.npy"), x)
	must(t, "matmul", single, single, "-o", at("want.npy"))
	want := read(t, at("want.npy"))
	for _, l := range layouts {
		half := write(t, at("half.npy"), encode(l, h))
		for _, args := range [][]string{{"matmul", half, half}, {"matmul", half, single}, {"matmul", single, half}} {
			for _, memory := range []string{"", "64KiB"} {
				t.Setenv(npyfiles.EnvHostMemory, memory)
				if must(t, append(args, "-o", at("c.npy"))...); read(t, at("c.npy")) != want {
					t.Errorf("%s, %v with memory %q: another product", l.name, args, memory)
				}
			}
		}
	}
	t.Setenv(npyfiles.EnvHostMemory, "")
	fails(t, at("."), exitError, "astype", "transpose", at("half.npy"), "-o", at("d.npy"))
}

// Vectors behave as in numpy.matmul.
func TestMatMulVectors(t *testing.T) {
	at := in(t.TempDir())
	m := save(t, at("m.npy"), linalg.NewMatrix(2, 3, []int32{1, 2, 3, 4, 5, 6}))
	v2, v3 := saveVector[int32](t, at("v2.npy"), 1, 10), saveVector[int32](t, at("v3.npy"), 1, 10, 100)
	for _, test := range []struct {
		a, b string
		want []byte
	}{
		{v2, m, whole([]int{3}, linalg.NewMatrix(1, 3, []int32{41, 52, 63}))},
		{m, v3, whole([]int{2}, linalg.NewMatrix(1, 2, []int32{321, 654}))},
		{v3, v3, whole([]int{}, linalg.NewMatrix(1, 1, []int32{10101}))},
	} {
		must(t, "matmul", test.a, test.b, "-o", at("c.npy"))
		if got := read(t, at("c.npy")); got != string(test.want) {
			t.Errorf("%s times %s: %q, want %q", test.a, test.b, got, test.want)
		}
	}
	// c.npy holds a number, which the other commands take.
	number := linalg.NewMatrix(1, 1, []int32{10101})
	must(t, "transpose", at("c.npy"), "-o", at("d.npy"))
	checkFile(t, at("d.npy"), []int{}, number)
	must(t, "add", at("c.npy"), at("c.npy"), "-o", at("d.npy"))
	checkFile(t, at("d.npy"), []int{}, linalg.NewMatrix(1, 1, []int32{20202}))
	must(t, "scale", at("d.npy"), "--by", "-1", "-o", at("d.npy"))
	checkFile(t, at("d.npy"), []int{}, linalg.NewMatrix(1, 1, []int32{-20202}))
	if code, _, stderr := tandem("matmul", v3, m, "-o", at("d.npy")); code != exitError ||
		!strings.Contains(stderr, "columns of the first (3)") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestElementwiseAndTranspose(t *testing.T) {
	t.Run("float32", elementwise[float32])
	t.Run("float64", elementwise[float64])
	t.Run("int32", elementwise[int32])
}

func elementwise[T linalg.Element](t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	onBackends(t, func(t *testing.T, backend string) {
		at := in(t.TempDir())
		for n, s := range [][2]int{{1, 1}, {33, 65}, {100, 77}, {0, 4}, {4, 0}} {
			a, b := values[T]("special", s[0], s[1], false, rng), values[T]("special", s[0], s[1], false, rng)
			turned := linalg.NewMatrix[T](s[1], s[0], nil)
			for i := range s[0] {
				for j := range s[1] {
					turned.Set(j, i, a.At(i, j))
				}
			}
			for _, l := range layoutsOn(backend, n) {
				pa, pb := write(t, at("a.npy"), encode(l, a)), write(t, at("b.npy"), encode(l, b))
				for _, op := range kernels.Elementwises() {
					in := []linalg.Matrix[T]{a, b}[:op.Inputs]
					want, err := linalg.Elementwise(op, -3, in, linalg.WithContext(t.Context()))
					if err != nil {
						t.Fatal(err)
					}
					args := append([]string{op.Name, pa, pb}[:1+op.Inputs], "-o", at("c.npy"), "--backend", backend)
					if op.Alpha {
						args = append(args, "--by", "-3")
					}
					must(t, args...)
					checkFile(t, at("c.npy"), s[:], want)
				}
				must(t, "transpose", pa, "-o", at("turned.npy"), "--backend", backend)
				checkFile(t, at("turned.npy"), []int{s[1], s[0]}, turned)
			}
		}
	})
}

func TestElementwiseVectors(t *testing.T) {
	at := in(t.TempDir())
	v := saveVector[float32](t, at("v.npy"), 1, 2, 3)
	must(t, "add", v, v, "-o", at("sum.npy"))
	checkFile(t, at("sum.npy"), []int{3}, linalg.NewMatrix(1, 3, []float32{2, 4, 6}))
	must(t, "scale", v, "--by", "0x1p-1", "-o", at("half.npy"))
	checkFile(t, at("half.npy"), []int{3}, linalg.NewMatrix(1, 3, []float32{0.5, 1, 1.5}))
	must(t, "map", "mul", v, v, "-o", at("squares.npy"))
	checkFile(t, at("squares.npy"), []int{3}, linalg.NewMatrix(1, 3, []float32{1, 4, 9}))
	must(t, "map", "log2", at("squares.npy"), "-o", at("logs.npy"))
	checkFile(t, at("logs.npy"), []int{3}, linalg.NewMatrix(1, 3, []float32{0, 2, float32(math.Log2(9))}))
	must(t, "transpose", v, "-o", at("turned.npy"))
	checkFile(t, at("turned.npy"), []int{3}, linalg.NewMatrix(1, 3, []float32{1, 2, 3}))
}

// With --fortran the file is the columns, one after another, and holds the same matrix.
func TestFortran(t *testing.T) {
	at := in(t.TempDir())
	a := save(t, at("a.npy"), linalg.NewMatrix(2, 3, []int32{1, 2, 3, 4, 5, 6}))
	must(t, "scale", a, "--by", "10", "-o", at("f.npy"), "--fortran")
	file := read(t, at("f.npy"))
	var columns bytes.Buffer
	if err := binary.Write(&columns, binary.LittleEndian, []int32{10, 40, 20, 50, 30, 60}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(file, "'fortran_order': True, 'shape': (2, 3)") || !strings.HasSuffix(file, columns.String()) {
		t.Errorf("%q", file)
	}
	must(t, "scale", at("f.npy"), "--by", "1", "-o", at("c.npy"))
	checkFile(t, at("c.npy"), []int{2, 3}, linalg.NewMatrix(2, 3, []int32{10, 20, 30, 40, 50, 60}))
}

// The output may be an input.
func TestOutputOverInput(t *testing.T) {
	at := in(t.TempDir())
	a := save(t, at("a.npy"), linalg.NewMatrix(2, 2, []float64{1, 2, 3, 4}))
	must(t, "add", a, a, "-o", a)
	checkFile(t, a, []int{2, 2}, linalg.NewMatrix(2, 2, []float64{2, 4, 6, 8}))
}

// In little memory results are computed from file to file, and are the same.
func TestInParts(t *testing.T) {
	dir := t.TempDir()
	at := in(dir)
	rng := rand.New(rand.NewPCG(7, 8))
	a := write(t, at("a.npy"), encode(layouts[3], values[float64]("random", 90, 2100, false, rng)))
	b := write(t, at("b.npy"), encode(layouts[0], values[float64]("random", 2100, 80, false, rng)))
	v := saveVector[float64](t, at("v.npy"), values[float64]("random", 1, 2100, false, rng).Data...)
	for _, args := range [][]string{
		{"matmul", a, b},
		{"matmul", a, b, "--fortran"},
		{"matmul", v, b},
		{"matmul", a, v},
		{"matmul", v, v},
		{"transpose", a},
		{"transpose", v},
		{"add", b, b},
		{"scale", b, "--by", "3"},
	} {
		args = append(args, "--json", "-o")
		must(t, append(args, at("whole.npy"))...)
		t.Setenv(npyfiles.EnvHostMemory, "64KiB")
		var r record
		text := must(t, append(args, at("parts.npy"))...)
		t.Setenv(npyfiles.EnvHostMemory, "")
		if read(t, at("parts.npy")) != read(t, at("whole.npy")) {
			t.Errorf("%v: the files differ", args)
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil || !r.InParts || r.CallSeconds <= 0 ||
			r.Outputs[0].Bytes != int64(len(read(t, at("parts.npy")))) || r.Inputs[0].Path != args[1] {
			t.Errorf("%v: %v\n%s", args, err, text)
		}
	}
	must(t, "matmul", a, b, "-o", at("c.npy"))
	want := read(t, at("c.npy"))
	t.Setenv(npyfiles.EnvHostMemory, "64KiB")
	if text := must(t, "matmul", a, b, "-o", b); read(t, b) != want || !strings.Contains(text, "from file to file") {
		t.Errorf("over its own input it prints\n%s", text)
	}
	fails(t, dir, exitError, "columns of the first", "matmul", b, a, "-o", at("d.npy"))
	fails(t, dir, exitError, "directory", "transpose", a, "-o", filepath.Join(dir, "nowhere", "d.npy"))
	write(t, at("short.npy"), []byte(read(t, a))[:5000])
	fails(t, dir, exitError, "truncated", "transpose", at("short.npy"), "-o", at("d.npy"))
	t.Setenv(npyfiles.EnvHostMemory, "65535")
	fails(t, dir, exitError, "give 64KiB or more", "transpose", a, "-o", at("d.npy"))
	t.Setenv(npyfiles.EnvHostMemory, "little")
	fails(t, dir, exitError, npyfiles.EnvHostMemory, "add", a, a, "-o", at("d.npy"))
}

func TestReport(t *testing.T) {
	at := in(t.TempDir())
	a := save(t, at("a.npy"), values[float32]("random", 64, 48, false, rand.New(rand.NewPCG(5, 6))))
	b := saveVector[float32](t, at("b.npy"), make([]float32, 48)...)
	text := must(t, "matmul", a, b, "-o", at("c.npy"), "--backend", "cpu")
	for _, want := range []string{
		"device   cpu:0", "a.npy (float32 64x48), ", "b.npy (float32 vector of 48)", "c.npy (float32 vector of 64)",
		" for matmul, ", "GFLOP/s",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	var r record
	if err := json.Unmarshal([]byte(must(t, "matmul", a, b, "-o", at("c.npy"), "--json", "--backend", "cpu")),
		&r); err != nil {
		t.Fatal(err)
	}
	if r.Command != "matmul" || r.Device.Driver != "cpu" || len(r.Inputs) != 2 || r.Inputs[0].Type != "float32" ||
		!slices.Equal(r.Inputs[0].Shape, []int{64, 48}) || len(r.Outputs) != 1 || r.Outputs[0].Bytes != 128+4*64 ||
		r.CallSeconds <= 0 || r.GFlops <= 0 || r.GBytes != 0 || r.TotalSeconds < r.CallSeconds {
		t.Errorf("%+v", r)
	}
	r = record{}
	if err := json.Unmarshal([]byte(must(t, "transpose", a, "-o", at("c.npy"), "--json")), &r); err != nil ||
		r.GBytes <= 0 || r.GFlops != 0 {
		t.Errorf("%+v %v", r, err)
	}
}
