package driverkit

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
)

func bufferParam(name, typ string) backend.Param {
	return backend.Param{Name: name, Type: typ, Buffer: true}
}

func scalar(name, typ string, size int) backend.Param {
	return backend.Param{Name: name, Type: typ, Size: size}
}

func TestParseParams(t *testing.T) {
	cases := []struct {
		name, text string
		macros     map[string]string
		params     []backend.Param
		group      [3]int
	}{
		{
			name: "scalars and buffers", text: `
			// __kernel void k(int wrong) {}
			__kernel void k(__global const float *restrict a, const int n, ulong off, double x) { }`,
			params: []backend.Param{
				bufferParam("a", "float*"), scalar("n", "int", 4), scalar("off", "ulong", 8),
				scalar("x", "double", 8),
			},
		},
		{
			name: "macro types", text: "#define T float\n__kernel void k(__global T *a, T x) {}",
			params: []backend.Param{bufferParam("a", "float*"), scalar("x", "float", 4)},
		},
		{
			name: "outer macros and conditionals", macros: map[string]string{"F64": "1", "N": "8"}, text: `
			#if defined(F64) && !defined(F32)
			typedef double T;
			#else
			typedef float T;
			#endif
			__kernel __attribute__((reqd_work_group_size(N * 2, (1 << 3) / 2, 1)))
			void k(__global T *a, T x) { for (;;) {} }`,
			params: []backend.Param{bufferParam("a", "double*"), scalar("x", "double", 8)}, group: [3]int{16, 4, 1},
		},
		{
			name: "elif", macros: map[string]string{"MODE": "2"}, text: `
			#if MODE == 1
			typedef int T;
			#elif MODE == 2
			typedef long T;
			#elif MODE == 2
			typedef char T;
			#else
			typedef short T;
			#endif
			__kernel void k(T x) {}`,
			params: []backend.Param{scalar("x", "long", 8)},
		},
		{
			name: "second kernel", text: `
			__kernel WG_SIZE(4, 4, 1) void first(int a) { if (a) { return; } }
			kernel void WG_SIZE(8, 1, 1) k(unsigned int a, unsigned b, unsigned long c, float4 v, global uchar *p) {}`,
			params: []backend.Param{
				scalar("a", "unsigned int", 4), scalar("b", "unsigned", 4),
				scalar("c", "unsigned long", 8), scalar("v", "float4", 16), bufferParam("p", "uchar*"),
			},
			group: [3]int{8, 1, 1},
		},
		{
			name: "function-like macros, continuation, array", text: "#define A(x) \\\n  x + 1\n__kernel void " +
				"k(__global int a[], struct s q) {}",
			params: []backend.Param{bufferParam("a", "int*"), scalar("q", "struct s", 0)},
		},
		{
			name: "structs", text: `
			typedef struct { float x, y[3]; float4 v; } body;
			struct pair { int a; uint b; };
			struct two { double a, b; };
			typedef struct two both;
			typedef struct { __global float *p; } link;
			__kernel void k(__global body *b, __global struct pair *p, __global struct two *t, __global both *u,
				__global link *l) {}`,
			params: []backend.Param{
				{Name: "b", Type: "body*", Elem: "float32", Buffer: true},
				bufferParam("p", "struct pair*"),
				{Name: "t", Type: "struct two*", Elem: "float64", Buffer: true},
				{Name: "u", Type: "struct two*", Elem: "float64", Buffer: true},
				bufferParam("l", "link*"),
			},
		},
		{name: "no parameters", text: "__kernel void k(void) {}", params: []backend.Param{}},
		{
			name: "self-referring macro", text: "#define int int\n__kernel void k(int x) {}",
			params: []backend.Param{scalar("x", "int", 4)},
		},
		{
			name: "comment keeps lines", text: "/* a\nb */ __kernel void k(\nint x /* n */, // m\nint y) {}",
			params: []backend.Param{scalar("x", "int", 4), scalar("y", "int", 4)},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			params, group, err := ParseParams(&backend.Source{Name: "k", Text: c.text, Macros: c.macros})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(params, c.params) {
				t.Errorf("parameters %+v, want %+v", params, c.params)
			}
			if group != c.group {
				t.Errorf("group %v, want %v", group, c.group)
			}
		})
	}
}

func TestParseParamsErrors(t *testing.T) {
	cases := map[string]string{
		"__kernel void other(int a) {}":         "no kernel k; there is other",
		"":                                      "no kernel k",
		"__kernel void k(__local float *p) {}":  "LOCALMEM",
		"#if\n__kernel void k() {}":             "too early",
		"#ifdef A\n__kernel void k() {}":        "#if without #endif",
		"#endif\n__kernel void k() {}":          "#endif without #if",
		"#if 1/0\n#endif\n__kernel void k() {}": "division by zero",
		"#define\n":                             "#define without a name",
		"#define A B B\n#define B A A\n#define C C\n#define D D\n": "no kernel k",
		"__kernel void k(,) {}": "no type",
		"__kernel __attribute__((reqd_work_group_size(1, 2))) void k(int a) {}": "three numbers",
	}
	for text, want := range cases {
		_, _, err := ParseParams(&backend.Source{Name: "k", Text: text})
		if !errors.Is(err, backend.ErrBuild) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "k.cl") {
			t.Errorf("%q: %v, want an ErrBuild with k.cl and %q", text, err, want)
		}
	}
}

// Twenty macros that double each other would be a million words each level: an error, not an
// endless run, also where they come to nothing in the end.
func TestParseParamsBounded(t *testing.T) {
	names := "abcdefghijklmnopqrstuvwxyz"
	for _, last := range []string{"", "#define z\n"} {
		var b strings.Builder
		for i := range 25 {
			b.WriteString("#define " + names[i:i+1] + strings.Repeat(" "+names[i+1:i+2], 16) + "\n")
		}
		for _, use := range []string{"a\n", "#if a\n#endif\n"} {
			text := b.String() + last + use + "__kernel void kk(int x) {}"
			if _, _, err := ParseParams(&backend.Source{Name: "kk", Text: text}); !errors.Is(err, backend.ErrBuild) {
				t.Errorf("%q: %v, want ErrBuild", last+use, err)
			}
		}
	}
}

func FuzzParseParams(f *testing.F) {
	f.Add("#if defined(A) || (B > 2)\n#define T float\n#endif\n__kernel void k(__global T *a, int n) {}", "A", "1")
	f.Add("__kernel WG_SIZE(((2)),1,1) void k(", "B", "B")
	f.Add("#if !!!!(1\n", "k", "(")
	f.Fuzz(func(t *testing.T, text, name, value string) {
		params, _, err := ParseParams(&backend.Source{Name: "k", Text: text, Macros: map[string]string{name: value}})
		if err == nil && params == nil {
			t.Error("no error and no parameters")
		}
	})
}
