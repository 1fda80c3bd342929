package kernels_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
)

// A builtin is an expression in the portable dialect and its value, for the page that lists what
// works on every driver. Its variables come from memory, so that no compiler computes it: x, y and
// z are 0.75, 0.25 and -2.5; v and w are the vectors (1, 2, 3, 4) and (0.5, 0.25, 2, 1); i, j and k
// are 12, 5 and -7; u is 0xf0; vi is (1, 2, 3, 4) in integers; n is a local int, 40 at first.
type builtin struct {
	names string // those that the expression is a test of
	expr  string
	want  float64
}

// once are functions of one type, with results that no rounding touches, and what else the page
// lists.
var once = []builtin{
	{"abs", "abs(k)", 7},
	{"min", "min(i, k)", -7},
	{"max", "max(i, k)", 12},
	{"clamp", "clamp(k, -3, 3)", -3},
	{"min max", "min(u, 7u) + max(u, 300u)", 307},
	{"clamp", "clamp(u, 1u, 9u)", 9},
	{"popcount", "popcount(u) + 100*popcount(k)", 3004},
	{"clz", "clz(u) + 100*clz(i)", 2824},
	{"mul_hi", "mul_hi(u << 24, u << 24)", 0xe1000000},
	{"mul24", "mul24(i, k)", -84},
	{"mad24 mul24", "mad24(u, 2u, mul24(u, 3u))", 1200},
	{"mad24", "mad24(i, k, j)", -79},
	{"rotate", "rotate(u << 24, 8u) + rotate(i, 1)", 0xf0 + 24},
	{"select", "select(i, j, 1)", 5},
	{"select", "select(0.75f, 0.25f, k < i)", 0.25},
	{"convert_uint", "convert_uint(i)", 12},
	{"convert_uchar", "convert_uchar(u)", 240},
	{"convert_short", "convert_short(k)", -7},
	{"convert_ushort", "convert_ushort(i)", 12},
	{"convert_ulong", "convert_ulong(u) << 32 >> 36", 15},
	{"convert_float", "convert_float(k)", -7},
	{"as_float as_uint", "as_float(as_uint(x) + (1u << 23))", 1.5},
	{"as_int", "as_int(y) >> 20", 0x3e8},
	{"nextafter", "nextafter(x, 2.0f) - x", 0x1p-24},
	{"make_float2", "make_float2(x, y).y", 0.25},
	{"make_int4", "(make_int4(i, j, k, i) - vi).z", -10},
	{"vload2", "vload2(1, f).x", -2.5},
	{"vload4", "vload4(1, f).y", 2},
	{"READ_VECTOR", "READ_VECTOR(float4, f + 4).w", 4},
	{"atomic_add", "atomic_add(&n, 2)", 40},
	{"atomic_sub", "atomic_sub(&n, 1)", 42},
	{"atomic_inc", "atomic_inc(&n)", 41},
	{"atomic_dec", "atomic_dec(&n)", 42},
	{"atomic_min", "atomic_min(&n, 30)", 41},
	{"atomic_max", "atomic_max(&n, 35)", 30},
	{"atomic_and", "atomic_and(&n, 34)", 35},
	{"atomic_or", "atomic_or(&n, 4)", 34},
	{"atomic_xor", "atomic_xor(&n, 3)", 38},
	{"atomic_xchg", "atomic_xchg(&n, 9)", 37},
	{"atomic_cmpxchg", "atomic_cmpxchg(&n, 9, 8)", 9},
	{"atomic_add", "n", 8},
	{"", "twice(x)", 1.5},
	{"", "left(p)", 12},
	{"__constant", "squares[j]", 25},
}

// exact are functions of float and double whose results no rounding touches.
var exact = []builtin{
	{"min", "min(x, y)", 0.25},
	{"max", "max(x, y)", 0.75},
	{"clamp", "clamp(z, (real)-1, (real)1)", -1},
	{"convert_int", "convert_int(z)", -2},
	{"convert_char", "convert_char(z)", -2},
	{"convert_int_rte", "convert_int_rte(z) + 10*convert_int_rte(x)", 8},
	{"fma", "fma(x, y, z)", 0.75*0.25 - 2.5},
	{"fabs", "fabs(z)", 2.5},
	{"fmin", "fmin(x, z)", -2.5},
	{"fmax", "fmax(x, z)", 0.75},
	{"fmod", "fmod(z, x)", -0.25},
	{"remainder", "remainder(z, x)", -0.25},
	{"floor", "floor(z)", -3},
	{"ceil", "ceil(z)", -2},
	{"trunc", "trunc(z)", -2},
	{"rint", "rint(z)", -2},
	{"round", "round(z)", -3},
	{"copysign", "copysign(x, z)", -0.75},
	{"fdim", "fdim(x, z)", 3.25},
	{"ldexp", "ldexp(x, k)", 0.75 / 128},
	{"ilogb", "ilogb(z)", 1},
	{"logb", "logb(z)", 1},
	{"sign", "sign(z)", -1},
	{"step", "step(x, y) + 2*step(y, x)", 2},
	{"isnan", "isnan(x) + 2*(isnan(NAN) != 0)", 2},
	{"isinf", "isinf(x) + 2*(isinf(INFINITY) != 0)", 2},
	{"isfinite", "(isfinite(x) != 0) + 2*isfinite(INFINITY)", 1},
	{"signbit", "signbit(z) != 0", 1},
	{"fma", "fma(v, w, v).z", 9},
	{"vstore2 vstore4", "(vstore4(v, 0, t), vstore2(make_real2(y, x), 1, t), t[1] + 8*t[3])", 8},
}

// rounded are functions of float and double whose last bits are the device's own.
var rounded = []builtin{
	{"sqrt", "sqrt(x)", math.Sqrt(0.75)},
	{"rsqrt", "rsqrt(x)", 1 / math.Sqrt(0.75)},
	{"cbrt", "cbrt(x)", math.Cbrt(0.75)},
	{"hypot", "hypot(x, z)", math.Hypot(0.75, 2.5)},
	{"exp", "exp(z)", math.Exp(-2.5)},
	{"exp2", "exp2(z)", math.Exp2(-2.5)},
	{"exp10", "exp10(z)", math.Pow(10, -2.5)},
	{"expm1", "expm1(y)", math.Expm1(0.25)},
	{"log", "log(x)", math.Log(0.75)},
	{"log2", "log2(x)", math.Log2(0.75)},
	{"log10", "log10(x)", math.Log10(0.75)},
	{"log1p", "log1p(x)", math.Log1p(0.75)},
	{"pow", "pow(x, z)", math.Pow(0.75, -2.5)},
	{"powr", "powr(x, z)", math.Pow(0.75, -2.5)},
	{"pown", "pown(z, j)", math.Pow(-2.5, 5)},
	{"sin", "sin(z)", math.Sin(-2.5)},
	{"cos", "cos(z)", math.Cos(-2.5)},
	{"tan", "tan(z)", math.Tan(-2.5)},
	{"sinpi", "sinpi(y)", math.Sqrt2 / 2},
	{"cospi", "cospi(y)", math.Sqrt2 / 2},
	{"asin", "asin(x)", math.Asin(0.75)},
	{"acos", "acos(x)", math.Acos(0.75)},
	{"atan", "atan(z)", math.Atan(-2.5)},
	{"atan2", "atan2(x, z)", math.Atan2(0.75, -2.5)},
	{"sinh", "sinh(z)", math.Sinh(-2.5)},
	{"cosh", "cosh(z)", math.Cosh(-2.5)},
	{"tanh", "tanh(z)", math.Tanh(-2.5)},
	{"asinh", "asinh(z)", math.Asinh(-2.5)},
	{"acosh", "acosh(-z)", math.Acosh(2.5)},
	{"atanh", "atanh(x)", math.Atanh(0.75)},
	{"erf", "erf(x)", math.Erf(0.75)},
	{"erfc", "erfc(x)", math.Erfc(0.75)},
	{"tgamma", "tgamma(-z)", math.Gamma(2.5)},
	{"lgamma", "lgamma(-z)", 0.2846828704729192},
	{"mix", "mix(x, z, y)", 0.75 + (-2.5-0.75)*0.25},
	{"smoothstep", "smoothstep(y, x, (real)0.375)", 0.25 * 0.25 * 2.5},
	{"degrees", "degrees(z)", -2.5 * 180 / math.Pi},
	{"radians", "radians(z)", -2.5 / 180 * math.Pi},
	{"dot", "dot(v, w)", 11},
	{"dot", "dot(make_real2(x, y), make_real2(z, y))", -1.8125},
}

// native are functions of float that are less exact.
var native = []builtin{
	{"native_sin", "native_sin(z)", math.Sin(-2.5)},
	{"native_cos", "native_cos(z)", math.Cos(-2.5)},
	{"native_tan", "native_tan(z)", math.Tan(-2.5)},
	{"native_exp", "native_exp(z)", math.Exp(-2.5)},
	{"native_exp2", "native_exp2(z)", math.Exp2(-2.5)},
	{"native_exp10", "native_exp10(z)", math.Pow(10, -2.5)},
	{"native_log", "native_log(x)", math.Log(0.75)},
	{"native_log2", "native_log2(x)", math.Log2(0.75)},
	{"native_log10", "native_log10(x)", math.Log10(0.75)},
	{"native_sqrt", "native_sqrt(x)", math.Sqrt(0.75)},
	{"native_rsqrt", "native_rsqrt(x)", 1 / math.Sqrt(0.75)},
	{"native_recip", "native_recip(z)", -0.4},
	{"native_divide", "native_divide(x, z)", -0.3},
	{"native_powr", "native_powr(x, z)", math.Pow(0.75, -2.5)},
}

// withDouble are functions of double that are something else in float.
var withDouble = []builtin{
	{"as_double as_ulong", "as_double(as_ulong(x) + ((ulong)1 << 52))", 1.5},
	{"as_long", "(int)(as_long(y) >> 52)", 0x3fd},
	{"convert_double", "convert_double(k)", -7},
}

const dialectText = `
typedef struct { int left, right; } pair;
__constant int squares[6] = {0, 1, 4, 9, 16, 25};
float twice(float x) { return 2 * x; }
int left(pair p) { return p.left; }

__kernel void dialect(__global const real *f, __global const int *g, __global real *out)
{
	LOCALMEM int n;
	const real x = f[0], y = f[1], z = f[2];
	const real4 v = make_real4(f[4], f[5], f[6], f[7]), w = make_real4(f[8], f[9], f[10], f[11]);
	const int i = g[0], j = g[1], k = g[2];
	const uint u = (uint)g[3];
	const int4 vi = make_int4(g[4], g[5], g[6], g[7]);
	real t[4];
	pair p;
	p.left = i;
	p.right = j;
	n = 40;
%s}
`

// Every device that compiles text has the functions of the page.
func TestDialect(t *testing.T) {
	onDevices(t, func(t *testing.T, d *device) {
		if d.info.Driver == "cpu" {
			t.Skip("the cpu device compiles no text")
		}
		testDialect[float32](t, d, "float", slices.Concat(once, exact, rounded, native))
		if d.info.Float64 {
			testDialect[float64](t, d, "double", slices.Concat(exact, rounded, withDouble))
		}
	})
}

func testDialect[T float32 | float64](t *testing.T, d *device, typ string, list []builtin) {
	var lines strings.Builder
	for i, b := range list {
		fmt.Fprintf(&lines, "\tout[%d] = (real)(%s);\n", i, b.expr)
	}
	k, err := d.Compile(&backend.Source{
		Name: "dialect", File: "dialect.cl", Text: fmt.Sprintf(dialectText, lines.String()),
		Macros: map[string]string{
			"real": typ, "real4": typ + "4", "make_real2": "make_" + typ + "2", "make_real4": "make_" + typ + "4",
		},
	})
	if errors.Is(err, backend.ErrUnsupported) && !required("nvrtc") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	out := make([]T, len(list))
	f := upload(t, d, array[T]{data: []T{0.75, 0.25, -2.5, 0, 1, 2, 3, 4, 0.5, 0.25, 2, 1}})
	g := upload(t, d, array[int32]{data: []int32{12, 5, -7, 0xf0, 1, 2, 3, 4}})
	results := upload(t, d, array[T]{data: out})
	err = d.queue.Launch(k, backend.Grid1(1, 1),
		backend.Buf(f.Buffer), backend.Buf(g.Buffer), backend.Buf(results.Buffer))
	if err := errors.Join(err, d.queue.Read(backend.Bytes(out), results.Buffer, 0)); err != nil {
		t.Fatal(err)
	}
	for i, b := range list {
		tolerance := 0.0
		switch {
		case slices.Contains(rounded, b):
			tolerance = 1e-4 * math.Abs(b.want)
		case slices.Contains(native, b):
			// OpenCL leaves their precision to the device. Intel's runtime takes x86's instructions
			// for reciprocals, RCPPS and RSQRTPS, with this relative error.
			tolerance = 1.5 * 0x1p-12 * math.Abs(b.want)
		}
		if got := float64(out[i]); !(math.Abs(got-b.want) <= tolerance) {
			t.Errorf("%s of %s is %g, want %g", b.expr, typ, got, b.want)
		}
	}
}

// The page lists what TestDialect calls, and nothing else.
func TestDialectPage(t *testing.T) {
	page, err := os.ReadFile("../docs/kernels.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(page), "\n### Built-in functions\n")
	text, _, ok2 := strings.Cut(text, "\nOn OpenCL alone:")
	if !ok || !ok2 {
		t.Fatal("docs/kernels.md has no list of the built-in functions, or not what is on OpenCL alone")
	}
	var listed, tested []string
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[1], -1) {
				listed = append(listed, m[1])
			}
		}
	}
	for _, b := range slices.Concat(once, exact, rounded, native, withDouble) {
		tested = append(tested, strings.Fields(b.names)...)
	}
	slices.Sort(listed)
	slices.Sort(tested)
	if tested = slices.Compact(tested); !slices.Equal(listed, tested) {
		t.Errorf("docs/kernels.md lists\n%v\nthe test has\n%v", listed, tested)
	}
}
