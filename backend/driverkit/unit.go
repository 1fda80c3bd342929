package driverkit

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/host"
)

// A Unit is a matrix instruction, by which a group of Items work-items multiplies an A of Rows rows
// by a B of Cols columns. Its probe computes unitProducts elements, of UnitDepth products each.
type Unit struct {
	Name              string
	Items, Rows, Cols int
}

// UnitDepth is the columns of A, and rows of B, in the probe of a unit.
const UnitDepth = 64

const unitProducts = 4096

// ExamineUnit is the name of the unit where the device has it and its results are the chain of
// fused multiply-adds bit by bit, on numbers of every kind, and else "". Results that are not leave
// a note in a. The kernel takes the buffers in and out. Its group g multiplies the tile g of in: A,
// row by row, and then B. It writes the tile g of out.
func ExamineUnit[T float32 | float64](a *Arithmetic, d *backend.Device, q *backend.Queue, u *Unit,
	kernel *backend.Source,
) (name string, err error) {
	in, want := unitSamples[T](u)
	return examineUnit(a, d, q, u, kernel, in, want, "it is not the chain of fused multiply-adds")
}

// UnitStart is what the sums of [ExamineByteUnit] start from, so that they wrap.
const UnitStart = math.MaxInt32

// ExamineByteUnit is [ExamineUnit] of a unit that multiplies bytes into int32: of words of four
// along k, whose bytes in A and in B are signed or not. Sums must be exact modulo 2^32.
func ExamineByteUnit(a *Arithmetic, d *backend.Device, q *backend.Queue, u *Unit, signedA, signedB bool,
	kernel *backend.Source,
) (name string, err error) {
	in, want := byteSamples(u, signedA, signedB)
	return examineUnit(a, d, q, u, kernel, in, want, "its sums are not exact modulo 2^32")
}

func examineUnit[T float32 | float64 | int32](a *Arithmetic, d *backend.Device, q *backend.Queue, u *Unit,
	kernel *backend.Source, in, want []T, wrong string,
) (name string, err error) {
	k, err := d.Compile(kernel)
	if errors.Is(err, backend.ErrBuild) || errors.Is(err, backend.ErrUnsupported) {
		return "", nil // the compiler or the driver does not know the instruction
	}
	if err != nil {
		return "", err
	}
	defer k.Release()
	got := make([]T, len(want))
	grid := backend.Grid{Groups: [3]int{unitProducts / (u.Rows * u.Cols), 1, 1}, Local: [3]int{u.Items, 1, 1}}
	if err := Run(d, q, k, grid, backend.Bytes(in), backend.Bytes(got)); err != nil {
		return "", err
	}
	for i, w := range want { // any NaN is right for another
		if (got[i] == got[i] || w == w) && !bytes.Equal(backend.Bytes(got[i:i+1]), backend.Bytes(want[i:i+1])) {
			a.Notes = append(a.Notes, "the matrix instruction "+u.Name+" is not used: "+wrong)
			return "", nil
		}
	}
	return u.Name, nil
}

// byteSamples is tiles of any words, and their products.
func byteSamples(u *Unit, signedA, signedB bool) (in, want []int32) {
	random := rand.New(rand.NewPCG(32, unitProducts))
	part := func(word int32, shift int, signed bool) int32 {
		if signed {
			return int32(int8(word >> shift))
		}
		return int32(uint8(word >> shift))
	}
	for range unitProducts / (u.Rows * u.Cols) {
		words := make([]int32, (u.Rows+u.Cols)*UnitDepth)
		for i := range words {
			words[i] = int32(random.Uint32())
		}
		a, b := words[:u.Rows*UnitDepth], words[u.Rows*UnitDepth:]
		for i := range u.Rows * u.Cols {
			sum := int32(UnitStart)
			for k := range 4 * UnitDepth {
				x, y := a[i/u.Cols*UnitDepth+k/4], b[k/4*u.Cols+i%u.Cols]
				sum += part(x, k%4*8, signedA) * part(y, k%4*8, signedB)
			}
			want = append(want, sum)
		}
		in = append(in, words...)
	}
	return in, want
}

// unitSamples is tiles of every kind of numbers, and their products by definition.
func unitSamples[T float32 | float64](u *Unit) (in, want []T) {
	random := rand.New(rand.NewPCG(64, unitProducts))
	// Of float64, and of float32: half of the exponents in use, that of numbers whose products are
	// subnormal, and how many they are, and that of the difference between neighbours.
	wide, tiny, below, near := 200, -515, 30, -30
	largest, smallest := math.MaxFloat64, math.SmallestNonzeroFloat64
	if _, ok := any(T(0)).(float32); ok {
		wide, tiny, below, near = 40, -65, 12, -12
		largest, smallest = math.MaxFloat32, math.SmallestNonzeroFloat32
	}
	special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), largest, smallest}
	number := func(kind, place int) T {
		x := 2*random.Float64() - 1
		switch kind {
		case 1: // many exponents
			x = math.Ldexp(x, random.IntN(2*wide)-wide)
		case 2: // products and sums that are subnormal
			x = math.Ldexp(x, tiny-random.IntN(below))
		case 3: // neighbours cancel
			x = math.Copysign(1+math.Ldexp(x, near), float64(1-place%2*2))
		case 4:
			if random.IntN(8) == 0 {
				x = special[random.IntN(len(special))]
			}
		case 5: // zeros of both signs; all products of every other row of A are -0
			x = math.Copysign(0, x)
			if place/UnitDepth%2 == 1 {
				x = math.Copysign(0, -1)
			}
		}
		return T(x)
	}
	const kinds = 6
	for tile := range unitProducts / (u.Rows * u.Cols) {
		a, b, c := make([]T, u.Rows*UnitDepth), make([]T, UnitDepth*u.Cols), make([]T, u.Rows*u.Cols)
		for i := range a {
			a[i] = number(tile%kinds, i)
		}
		for i := range b {
			if b[i] = number(tile%kinds, 0); b[i] == 0 && i%8 < 4 {
				b[i] = 0 // +0
			}
		}
		host.GemmReference(u.Rows, u.Cols, UnitDepth, 1, a, UnitDepth, b, u.Cols, 0, c, u.Cols)
		in, want = append(append(in, a...), b...), append(want, c...)
	}
	return in, want
}
