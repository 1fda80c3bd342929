package opencl

import (
	"strconv"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
)

// unitText is the kernel that driverkit.ExamineUnit asks for, by a matrix instruction of AMD's
// CDNA. Where the fragments of a wave lie is in kernels/matmul_mfma.cl, and why no other GPU's
// compiler may see the instruction.
const unitText = `#if !__has_builtin(MULTIPLY) || !__has_builtin(ALSO)
#error "no matrix instruction (mfma) of this type"
#endif
#if START > 0 && __has_builtin(__builtin_amdgcn_cvt_f32_fp8) /* bytes, of two words at once */
#undef MULTIPLY
#define MULTIPLY __builtin_amdgcn_mfma_i32_16x16x32_i8
#define STEP 8
#define READ(p, next) ((p)[0] | (ulong)(p)[4 * (next)] << 32)
#else
#define STEP 4
#define READ(p, next) (p)[0]
#endif
__kernel WG_SIZE(64, 1, 1) void unit(__global const REAL *in, __global REAL *out)
{
	const int lane = (int)get_local_id(0), at = lane % 16, step = lane / 16;
	in += get_group_id(0) * (2 * 16 * DEPTH);
	out += get_group_id(0) * (16 * 16);
	__global const REAL *a = in + at * DEPTH + step, *b = in + 16 * DEPTH + step * 16 + at;
	SUMS sum = START;
	for (int k = 0; k < DEPTH; k += STEP) sum = MULTIPLY(READ(a + k, 1), READ(b + k * 16, 16), sum, 0, 0, 0);
	for (int e = 0; e < 4; e++) out[(step * CSTEP + e * CNEXT) * 16 + at] = sum[e];
}
`

// An mfma is a matrix instruction, of a type that C calls real.
type mfma struct {
	driverkit.Unit
	builtin    string
	also       string // another of every GPU that has it
	real, sums string
	start      int // of sums
	step       int // rows of C between those of one step's lanes and the next one's
	next       int // and between those of a lane
}

var (
	mfma32 = mfma{
		unit16("mfma_f32_16x16x4f32"), "mfma_f32_16x16x4f32", "mfma_f32_32x32x2f32", "float", "float4", 0, 4, 1,
	}
	mfma64 = mfma{
		unit16("mfma_f64_16x16x4f64"), "mfma_f64_16x16x4f64", "flat_atomic_fadd_f64", "double", "double4", 0, 1, 4,
	}
	mfma8 = mfma{ // of words; sums wrap
		unit16("mfma_i32_16x16"), "mfma_i32_16x16x16i8", "mfma_f32_32x32x2f32", "uint", "int4", driverkit.UnitStart,
		4, 1,
	}
)

func unit16(name string) driverkit.Unit {
	return driverkit.Unit{Name: name, Items: 64, Rows: 16, Cols: 16}
}

func (u *mfma) source() *backend.Source {
	return &backend.Source{
		Name: "unit", File: "unit_" + u.real + ".cl", Text: unitText,
		Params: []backend.Param{{Name: "in", Buffer: true}, {Name: "out", Buffer: true}},
		Macros: map[string]string{
			"MULTIPLY": "__builtin_amdgcn_" + u.builtin, "ALSO": "__builtin_amdgcn_" + u.also,
			"REAL": u.real, "SUMS": u.sums, "START": strconv.Itoa(u.start), "DEPTH": strconv.Itoa(driverkit.UnitDepth),
			"CSTEP": strconv.Itoa(u.step), "CNEXT": strconv.Itoa(u.next),
		},
	}
}

// examineUnits finds the matrix instructions whose results are the chain of fused multiply-adds, or
// of bytes exact. It asks AMD's drivers alone, since only their compiler may have them.
func (own *device) examineUnits(f *findings, d *backend.Device, q *backend.Queue) (err error) {
	if !own.amd {
		return nil
	}
	if f.Float32 {
		f.Float32Unit, err = driverkit.ExamineUnit[float32](&f.Arithmetic, d, q, &mfma32.Unit, mfma32.source())
	}
	if f.Float64 && err == nil {
		f.Float64Unit, err = driverkit.ExamineUnit[float64](&f.Arithmetic, d, q, &mfma64.Unit, mfma64.source())
	}
	if err == nil {
		f.Int8Unit, err = driverkit.ExamineByteUnit(&f.Arithmetic, d, q, &mfma8.Unit, true, true, mfma8.source())
	}
	if f.Float32Unit == "" && f.Float64Unit == "" && f.Int8Unit == "" && f.Notes == nil {
		f.Notes = []string{"no matrix instruction of float32, float64 or int8"}
	}
	return err
}
