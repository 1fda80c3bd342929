package ctext

import (
	"fmt"
	"strings"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ir"
)

// Helper declares one of the functions that the text needs where C and Go differ, and gives its
// name: an operation, "_" and a type.
func (p *Printer) Helper(name string) string {
	if p.Helpers[name] {
		return name
	}
	p.Helpers[name] = true
	op, t, _ := strings.Cut(name, "_")
	text, ok := cHelpers[name]
	if !ok && strings.HasPrefix(t, "i") {
		text, ok = cHelpers["signed "+op]
	}
	if !ok {
		text = cHelpers[op]
	}
	bits, wide := strings.TrimLeft(t, "iuf"), "u32"
	if bits == "64" {
		wide = "u64"
	}
	p.Decls.WriteString(strings.NewReplacer("$T", t, "$B", bits, "$W", wide).Replace(text) + "\n")
	return name
}

// cHelpers is the text of each, by name, by operation and sign, or by operation; $T is the type, $B
// its width, $W the unsigned type for arithmetic modulo 2^n.
//
// C leaves the quotient of the least number and -1 open, and shifts by the width or more; compilers
// divide before they know whether the quotient counts, so that the divisor itself must be harmless.
// Go's min and max give NaN if there is one, and take -0 for less than +0. OpenCL promises 2.5 ulp
// for the quotient of two float32; that of float64, rounded, is correctly rounded. Behind a barrier
// Intel's compiler (2026.2) takes a condition on what was negated for the whole group's: there it
// shall not know the negation.
var cHelpers = map[string]string{
	"div": "FN $T div_$T(LINED $T x, $T y) { NOT_ZERO(y) $T d = y == 0 ? 1 : y; return y == 0 ? ($T)0 : ($T)(x / d); }",
	"rem": "FN $T rem_$T(LINED $T x, $T y) { NOT_ZERO(y) $T d = y == 0 ? 1 : y; return ($T)(x % d); }",
	"signed div": "FN $T div_$T(LINED $T x, $T y) {\n" +
		"  NOT_ZERO(y) $T d = y == 0 || y == -1 ? 1 : y;\n" +
		"  return y == 0 ? ($T)0 : y == -1 ? ($T)(0u - ($W)x) : ($T)(x / d);\n}",
	"signed rem": "FN $T rem_$T(LINED $T x, $T y) {\n" +
		"  NOT_ZERO(y) $T d = y == 0 || y == -1 ? 1 : y;\n  return ($T)(x % d);\n}",
	"shl":        "FN $T shl_$T($T x, u64 n) { return n < $B ? ($T)(($W)x << (u32)n) : ($T)0; }",
	"shr":        "FN $T shr_$T($T x, u64 n) { return n < $B ? ($T)(x >> (u32)n) : ($T)0; }",
	"signed shr": "FN $T shr_$T($T x, u64 n) { return ($T)(x >> (n < $B ? (u32)n : $Bu - 1u)); }",
	"min":        "FN $T min_$T($T x, $T y) { return x < y ? x : y; }",
	"max":        "FN $T max_$T($T x, $T y) { return x > y ? x : y; }",
	"min_f32":    floatMinMax("min", "<", "as_uint(x) >> 31 ? x : y"),
	"max_f32":    floatMinMax("max", ">", "as_uint(x) >> 31 ? y : x"),
	"min_f64":    floatMinMax("min", "<", "as_ulong(x) >> 63 ? x : y"),
	"max_f64":    floatMinMax("max", ">", "as_ulong(x) >> 63 ? y : x"),
	"div_f32": nvptxOr("FN f32 div_f32(f32 x, f32 y) { return x / y; }",
		"#if defined(cl_khr_fp64) && !defined(__CUDACC__)\n"+
			"FN f32 div_f32(f32 x, f32 y) { return (f32)((double)x / (double)y); }\n"+
			"#else\nFN f32 div_f32(f32 x, f32 y) { return x / y; }\n#endif"),
	"neg": nvptxOr("FN $T neg_$T($T x) { return -x; }", "FN $T neg_$T($T x) { return fma(x, ($T)-1, ($T)-0.0f); }"),
	"popcount": nvptxOr("FN u32 popcount_$T($T x) { return (u32)__builtin_popcountl(x); }",
		"FN u32 popcount_$T($T x) { return (u32)popcount(x); }"),
	"clz": nvptxOr(clzNVPTX,
		"FN u32 clz_$T($T x) { return (u32)clz(x); }"),
	"clz_u8":  narrowCLZ,
	"clz_u16": narrowCLZ,
	"ctz": nvptxOr("FN u32 ctz_$T($T x) { return x == 0 ? $Bu : (u32)__builtin_ctzl(x); }",
		"FN u32 ctz_$T($T x) { return (u32)popcount(($T)(~x & (x - 1u))); }"),
	"mulhi": nvptxOr("FN $T mulhi_$T($T x, $T y) { return ($T)((unsigned __int128)x * y >> 64); }",
		"FN $T mulhi_$T($T x, $T y) { return mul_hi(x, y); }"),
	"reverse":      swapped("reverse", 1, 2, 4, 8, 16, 32),
	"reversebytes": swapped("reversebytes", 8, 16, 32),
	"sqrt":         mathHelper("sqrt", "sqrt"),
	"abs":          mathHelper("abs", "fabs"),
	"floor":        mathHelper("floor", "floor"),
	"ceil":         mathHelper("ceil", "ceil"),
	"trunc":        mathHelper("trunc", "trunc"),
}

// narrowCLZ is clz of less than 32 bits, of which CUDA has no clz.
var narrowCLZ = nvptxOr(clzNVPTX, "FN u32 clz_$T($T x) { return (u32)clz((u32)x) - (32u - $Bu); }")

const clzNVPTX = "FN u32 clz_$T($T x) { return x == 0 ? $Bu : (u32)__builtin_clzl(x) - (64u - $Bu); }"

// swapped is a function that swaps neighbouring parts of each number of bits.
func swapped(name string, widths ...uint) string {
	var b strings.Builder
	fmt.Fprintf(&b, "FN $T %s_$T($T x) {\n  u64 y = x;\n", name)
	for _, n := range widths {
		mask := ^uint64(0) / (1<<n + 1) // n ones, n zeros, ...
		fmt.Fprintf(&b, "  y = (y >> %d & %#xul) | (y & %#[2]xul) << %[1]d;\n", n, mask)
	}
	return b.String() + "  return ($T)(y >> (64 - $B));\n}"
}

// nvptxOr is one text for clang's PTX, where there is no library, and another for all others.
func nvptxOr(nvptx, other string) string {
	return "#ifdef __NVPTX__\n" + nvptx + "\n#else\n" + other + "\n#endif"
}

func mathHelper(name, c string) string {
	return nvptxOr(fmt.Sprintf("FN $T %s_$T($T x) { return __builtin_%s(x); }", name, c),
		fmt.Sprintf("FN $T %s_$T($T x) { return %s(x); }", name, c))
}

func floatMinMax(name, less, zeros string) string {
	return fmt.Sprintf("FN $T %s_$T($T x, $T y) {\n"+
		"  return x != x ? x : y != y ? y : x == 0 && y == 0 ? (%s) : x %s y ? x : y;\n}", name, zeros, less)
}

// ToInt declares the conversion of a float to an integer, and gives its name.
func (p *Printer) ToInt(to, from *ir.Type) string {
	name := fmt.Sprintf("%s_of_%s", to.Name, from.Name)
	if p.Helpers[name] {
		return name
	}
	p.Helpers[name] = true
	bits := to.Bits()
	high, low := fmt.Sprintf("0x1p%d", bits), "0x0p0"
	least, largest := "0", "~("+to.Name+")0"
	if to.Signed() {
		high, low = fmt.Sprintf("0x1p%d", bits-1), fmt.Sprintf("-0x1p%d", bits-1)
		least, largest = fmt.Sprintf("((u64)1 << %d)", bits-1), fmt.Sprintf("(((u64)1 << %d) - 1)", bits-1)
	}
	if from.Kind == ir.KindFloat32 {
		high, low = high+"f", low+"f"
	}
	fmt.Fprintf(p.Decls, strings.ReplaceAll("FN $T %s(%s x) {\n"+
		"  return x != x ? ($T)0 : x >= %s ? ($T)%s : x <= %s ? ($T)%s : ($T)x;\n}\n", "$T", to.Name),
		name, p.Type(from), high, largest, low, least)
	return name
}

// atomicNames is each operation for OpenCL, clang's PTX and CUDA.
var atomicNames = map[string][3]string{
	"add": {"add", "__sync_fetch_and_add", "Add"}, "and": {"and", "__sync_fetch_and_and", "And"},
	"or": {"or", "__sync_fetch_and_or", "Or"}, "xor": {"xor", "__sync_fetch_and_xor", "Xor"},
	"min": {"min", "__atomic_fetch_min", "Min"}, "max": {"max", "__atomic_fetch_max", "Max"}, // __sync has 32 bits
	"exchange": {"xchg", "__sync_swap", "Exch"}, "compareexchange": {"cmpxchg", "__sync_val_compare_and_swap", "CAS"},
}

// atomic declares an atomic operation on memory of one space, and gives its name.
func (p *Printer) atomic(op string, t *ir.Type, s ir.Space) string {
	name := fmt.Sprintf("atomic_%s_%s_%s", op, ir.SpaceNames[s], t.Name)
	if p.Helpers[name] {
		return name
	}
	p.Helpers[name] = true
	names := atomicNames[op]
	opencl, clang, cuda := "atomic_"+names[0], names[1], t.Name
	compares := op == "min" || op == "max"
	if t.Size == 8 {
		opencl, cuda = "atom_"+names[0], "unsigned long long"
		p.int64Atomics(compares || op == "and" || op == "or" || op == "xor")
	}
	if compares && t.Kind == ir.KindInt64 {
		cuda = "long long"
	}
	params, args, cudaArgs := "$T v", "v", "($C)v"
	if op == "compareexchange" {
		params, args, cudaArgs = "$T old, $T v", "old, v", "($C)old, ($C)v"
	}
	clangArgs := args
	if compares {
		clangArgs += ", __ATOMIC_RELAXED"
	}
	text := fmt.Sprintf("#if defined(__CUDACC__)\n"+
		"FN $T $N(CHECKER $T *p, %[1]s) { UNLESS_FAILED(0) return ($T)atomic%[2]s(($C *)p, %[3]s); }\n"+
		"#elif defined(__NVPTX__)\n"+
		"FN $T $N(CHECKER volatile $S$T *p, %[1]s) { UNLESS_FAILED(0) return ($T)%[4]s(p, %[5]s); }\n"+
		"#else\n"+
		"FN $T $N(CHECKER volatile $S$T *p, %[1]s) { UNLESS_FAILED(0) return %[6]s(p, %[7]s); }\n"+
		"#endif\n", params, names[2], cudaArgs, clang, clangArgs, opencl, args)
	p.Decls.WriteString(strings.NewReplacer("$T", t.Name, "$N", name, "$C", cuda, "$S", cSpace[s]).Replace(text))
	return name
}

// int64Atomics asks OpenCL for atomic operations on 64 bits.
func (p *Printer) int64Atomics(extended bool) {
	name := "cl_khr_int64_base_atomics"
	if extended {
		name = "cl_khr_int64_extended_atomics"
	}
	if !p.Helpers[name] {
		p.Helpers[name] = true
		fmt.Fprintf(p.Decls, "#ifdef %s\n#pragma OPENCL EXTENSION %[1]s : enable\n#endif\n", name)
	}
}
