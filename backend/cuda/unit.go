package cuda

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
)

// A matrixUnit is a matrix instruction of float64, as PTX names it.
type matrixUnit struct {
	name    string
	rows    int // of A and C
	arch    int // the least
	version string
}

var matrixUnits = []matrixUnit{{"m16n8k4", 16, 90, "7.8"}, {"m8n8k4", 8, 80, "7.0"}}

// What the probe of a unit computes: each of unitTiles warps a tile of C = A*B, of the unit's rows
// by 8, with unitDepth products an element.
const (
	unitTiles = 64
	unitDepth = 64
)

// unitText is the kernel. A tile's A, of rows of 64 numbers, lies before its B, of 64 rows of 8.
const unitText = `.version VERSION
.target sm_ARCH
.address_size 64

.visible .entry unit(.param .u64 .ptr .global .align 8 in, .param .u64 .ptr .global .align 8 out)
{
	.reg .pred %p;
	.reg .b32 %tile, %lane, %row, %col, %n;
	.reg .b64 %in, %out, %a, %b, %off;
	.reg .f64 %a0, %a1, %b0, %c0, %c1, %c2, %c3;
	ld.param.u64 %in, [in];
	ld.param.u64 %out, [out];
	cvta.to.global.u64 %in, %in;
	cvta.to.global.u64 %out, %out;
	mov.u32 %tile, %ctaid.x;
	mov.u32 %lane, %tid.x;
	shr.u32 %row, %lane, 2;
	and.b32 %col, %lane, 3;
	mul.wide.u32 %off, %tile, INSIZE;
	add.u64 %in, %in, %off;
	mad.lo.u32 %n, %row, 64, %col;
	mul.wide.u32 %off, %n, 8;
	add.u64 %a, %in, %off;
	mad.lo.u32 %n, %col, 8, %row;
	mul.wide.u32 %off, %n, 8;
	add.u64 %b, %in, %off;
	mov.f64 %c0, 0d0000000000000000;
	mov.f64 %c1, %c0;
	mov.f64 %c2, %c0;
	mov.f64 %c3, %c0;
	mov.u32 %n, 0;
NEXT:
	ld.global.f64 %a0, [%a];
	ld.global.f64 %b0, [%b+BSTART];
	MULTIPLY
	add.u64 %a, %a, 32;
	add.u64 %b, %b, 256;
	add.u32 %n, %n, 4;
	setp.lt.u32 %p, %n, 64;
	@%p bra NEXT;
	mul.wide.u32 %off, %tile, OUTSIZE;
	add.u64 %out, %out, %off;
	shl.b32 %col, %col, 1;
	mad.lo.u32 %n, %row, 8, %col;
	mul.wide.u32 %off, %n, 8;
	add.u64 %out, %out, %off;
	st.global.f64 [%out], %c0;
	st.global.f64 [%out+8], %c1;
	STORE
	ret;
}
`

func (u *matrixUnit) ptx() []byte {
	multiply := "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%c0,%c1}, {%a0}, {%b0}, {%c0,%c1};"
	store := ""
	if u.rows == 16 { // rows 8 and on are 8*64 numbers of A and 8*8 of C behind
		multiply = "ld.global.f64 %a1, [%a+4096];\n\tmma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 " +
			"{%c0,%c1,%c2,%c3}, {%a0,%a1}, {%b0}, {%c0,%c1,%c2,%c3};"
		store = "st.global.f64 [%out+512], %c2;\n\tst.global.f64 [%out+520], %c3;"
	}
	a, b := u.rows*unitDepth*8, unitDepth*8*8
	return []byte(strings.NewReplacer("VERSION", u.version, "ARCH", strconv.Itoa(u.arch),
		"INSIZE", strconv.Itoa(a+b), "BSTART", strconv.Itoa(a), "OUTSIZE", strconv.Itoa(u.rows*8*8),
		"MULTIPLY", multiply, "STORE", store).Replace(unitText))
}

// findUnit is the name of the first matrix instruction of the device whose results are the chain of
// fused multiply-adds, bit by bit; "" where there is none.
func findUnit(d *backend.Device, q *backend.Queue) (string, error) {
	arch, _ := strconv.Atoi(strings.TrimPrefix(d.Info().Arch, "sm_"))
	for i := range matrixUnits {
		u := &matrixUnits[i]
		if arch < u.arch {
			continue
		}
		exact, err := u.isChain(d, q, u.ptx())
		switch {
		case errors.Is(err, backend.ErrBuild) || errors.Is(err, backend.ErrUnsupported):
			continue // the driver is too old for the instruction
		case err != nil:
			return "", err
		case exact:
			return u.name, nil
		}
	}
	return "", nil
}

// isChain runs the instruction, in the kernel ptx, on numbers of every kind and compares.
func (u *matrixUnit) isChain(d *backend.Device, q *backend.Queue, ptx []byte) (bool, error) {
	k, err := d.Compile(&backend.Source{
		Name: "unit", File: fmt.Sprintf("unit_%s.ptx", u.name), PTX: ptx,
		Params: []backend.Param{{Name: "in", Buffer: true}, {Name: "out", Buffer: true}},
	})
	if err != nil {
		return false, err
	}
	defer k.Release()
	in, want := u.samples()
	got := make([]float64, len(want))
	grid := backend.Grid{Groups: [3]int{unitTiles, 1, 1}, Local: [3]int{32, 1, 1}}
	if err := driverkit.Run(d, q, k, grid, backend.Bytes(in), backend.Bytes(got)); err != nil {
		return false, err
	}
	for i, w := range want {
		if math.Float64bits(got[i]) != math.Float64bits(w) && (got[i] == got[i] || w == w) {
			return false, nil
		}
	}
	return true, nil
}

// samples is tiles of every kind of numbers, and their products by math.FMA.
func (u *matrixUnit) samples() (in, want []float64) {
	random := rand.New(rand.NewPCG(64, 4096))
	special := []float64{
		0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64,
		math.SmallestNonzeroFloat64,
	}
	number := func(kind, place int) float64 {
		x := 2*random.Float64() - 1
		switch kind {
		case 1: // many exponents
			x = math.Ldexp(x, random.IntN(400)-200)
		case 2: // products and sums that are subnormal
			x = math.Ldexp(x, -515-random.IntN(30))
		case 3: // neighbours cancel
			x = math.Copysign(1+math.Ldexp(x, -30), float64(1-place%2*2))
		case 4:
			if random.IntN(8) == 0 {
				x = special[random.IntN(len(special))]
			}
		case 5: // zeros of both signs; all products of every other row of A are -0
			x = math.Copysign(0, x)
			if place/unitDepth%2 == 1 {
				x = math.Copysign(0, -1)
			}
		}
		return x
	}
	const kinds = 6
	for tile := range unitTiles {
		a, b := make([]float64, u.rows*unitDepth), make([]float64, unitDepth*8)
		for i := range a {
			a[i] = number(tile%kinds, i)
		}
		for i := range b {
			if b[i] = number(tile%kinds, 0); b[i] == 0 && i%8 < 4 {
				b[i] = 0 // +0
			}
		}
		in = append(append(in, a...), b...)
		for i := range u.rows {
			for j := range 8 {
				sum := 0.0
				for p := range unitDepth {
					sum = math.FMA(a[i*unitDepth+p], b[p*8+j], sum)
				}
				want = append(want, sum)
			}
		}
	}
	return in, want
}
