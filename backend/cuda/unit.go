package cuda

import (
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
)

// A matrixUnit is a matrix instruction of float64, as PTX names it.
type matrixUnit struct {
	driverkit.Unit
	arch    int // the least
	version string
	a, b    string // of bytes, "s8" or "u8"; "" of float64
}

var matrixUnits = []matrixUnit{
	{driverkit.Unit{Name: "m16n8k4", Items: 32, Rows: 16, Cols: 8}, 90, "7.8", "", ""},
	{driverkit.Unit{Name: "m8n8k4", Items: 32, Rows: 8, Cols: 8}, 80, "7.0", "", ""},
}

// byteUnits are what products of int8, of uint8 by int8 and of int32 take.
var byteUnits = []matrixUnit{
	{driverkit.Unit{Name: "m16n8k32", Items: 32, Rows: 16, Cols: 8}, 80, "7.0", "s8", "s8"},
	{driverkit.Unit{Name: "m16n8k32", Items: 32, Rows: 16, Cols: 8}, 80, "7.0", "u8", "s8"},
	{driverkit.Unit{Name: "m16n8k32", Items: 32, Rows: 16, Cols: 8}, 80, "7.0", "u8", "u8"},
}

// unitText is the kernel. A tile's A, of rows of 64 numbers or words, lies before its B, of 64 rows
// of 8.
const unitText = `.version VERSION
.target sm_ARCH
.address_size 64

.visible .entry unit(.param .u64 .ptr .global .align 8 in, .param .u64 .ptr .global .align 8 out)
{
	.reg .pred %p;
	.reg .b32 %tile, %lane, %row, %col, %n;
	.reg .b64 %in, %out, %a, %b, %off;
	.reg .TYPE %a0, %a1, %a2, %a3, %b0, %b1, %c0, %c1, %c2, %c3;
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
	mul.wide.u32 %off, %n, WIDTH;
	add.u64 %a, %in, %off;
	mad.lo.u32 %n, %col, 8, %row;
	mul.wide.u32 %off, %n, WIDTH;
	add.u64 %b, %in, %off;
	mov.TYPE %c0, FIRST;
	mov.TYPE %c1, %c0;
	mov.TYPE %c2, %c0;
	mov.TYPE %c3, %c0;
	mov.u32 %n, 0;
NEXT:
	ld.global.TYPE %a0, [%a];
	ld.global.TYPE %b0, [%b+BSTART];
	MULTIPLY
	add.u64 %a, %a, 32;
	add.u64 %b, %b, 256;
	add.u32 %n, %n, STEP;
	setp.lt.u32 %p, %n, 64;
	@%p bra NEXT;
	mul.wide.u32 %off, %tile, OUTSIZE;
	add.u64 %out, %out, %off;
	shl.b32 %col, %col, 1;
	mad.lo.u32 %n, %row, 8, %col;
	mul.wide.u32 %off, %n, WIDTH;
	add.u64 %out, %out, %off;
	st.global.TYPE [%out], %c0;
	st.global.TYPE [%out+WIDTH], %c1;
	STORE
	ret;
}
`

func (u *matrixUnit) ptx() []byte {
	multiply := "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%c0,%c1}, {%a0}, {%b0}, {%c0,%c1};"
	store, first, typ, width := "", "0d0000000000000000", "f64", 8
	if u.Rows == 16 { // rows 8 and on are 8*64 numbers of A and 8*8 of C behind
		multiply = "ld.global.f64 %a1, [%a+4096];\n\tmma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 " +
			"{%c0,%c1,%c2,%c3}, {%a0,%a1}, {%b0}, {%c0,%c1,%c2,%c3};"
		store = "st.global.f64 [%out+512], %c2;\n\tst.global.f64 [%out+520], %c3;"
	}
	if u.a != "" { // and words 4 to 7 of a step 16 bytes, or 4 rows of B
		multiply = "ld.global.b32 %a1, [%a+2048];\n\tld.global.b32 %a2, [%a+16];\n\t" +
			"ld.global.b32 %a3, [%a+2064];\n\tld.global.b32 %b1, [%b+NEXTROWS];\n\t" +
			"mma.sync.aligned.m16n8k32.row.col.s32." + u.a + "." + u.b + ".s32 " +
			"{%c0,%c1,%c2,%c3}, {%a0,%a1,%a2,%a3}, {%b0,%b1}, {%c0,%c1,%c2,%c3};"
		store = "st.global.b32 [%out+256], %c2;\n\tst.global.b32 [%out+260], %c3;"
		first, typ, width = strconv.Itoa(driverkit.UnitStart), "b32", 4
	}
	a, b := u.Rows*driverkit.UnitDepth*width, driverkit.UnitDepth*8*width
	text := strings.NewReplacer("MULTIPLY", multiply, "STORE", store).Replace(unitText)
	return []byte(strings.NewReplacer("VERSION", u.version, "ARCH", strconv.Itoa(u.arch),
		"INSIZE", strconv.Itoa(a+b), "BSTART", strconv.Itoa(a), "NEXTROWS", strconv.Itoa(a+4*8*width),
		"OUTSIZE", strconv.Itoa(u.Rows*8*width),
		"TYPE", typ, "FIRST", first, "WIDTH", strconv.Itoa(width), "STEP", strconv.Itoa(32/width)).Replace(text))
}

// source is the kernel of ptx.
func (u *matrixUnit) source(ptx []byte) *backend.Source {
	return &backend.Source{
		Name: "unit", File: "unit_" + u.Name + u.a + u.b + ".ptx", PTX: ptx,
		Params: []backend.Param{{Name: "in", Buffer: true}, {Name: "out", Buffer: true}},
	}
}

// findUnit is the name of the first matrix instruction of the device whose results are the chain of
// fused multiply-adds, bit by bit; "" where there is none.
func findUnit(f *driverkit.Arithmetic, d *backend.Device, q *backend.Queue) (string, error) {
	arch, _ := strconv.Atoi(strings.TrimPrefix(d.Info().Arch, "sm_"))
	for i := range matrixUnits {
		u := &matrixUnits[i]
		if arch < u.arch {
			continue
		}
		name, err := driverkit.ExamineUnit[float64](f, d, q, &u.Unit, u.source(u.ptx()))
		if name != "" || err != nil {
			return name, err
		}
	}
	return "", nil
}

// findByteUnit is the name of the matrix instruction of bytes, where the device has it and it is
// exact for all signs; else "".
func findByteUnit(f *driverkit.Arithmetic, d *backend.Device, q *backend.Queue) (name string, err error) {
	arch, _ := strconv.Atoi(strings.TrimPrefix(d.Info().Arch, "sm_"))
	for i := range byteUnits {
		u := &byteUnits[i]
		if arch < u.arch {
			return "", nil
		}
		name, err = driverkit.ExamineByteUnit(f, d, q, &u.Unit, u.a == "s8", u.b == "s8", u.source(u.ptx()))
		if name == "" || err != nil {
			return "", err
		}
	}
	return name, nil
}
