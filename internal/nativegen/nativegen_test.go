package nativegen

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/ptxgen/ptxtest"
)

// constants that each text needs.
const constants = "const i64 k_lanes = 16, k_scratch[2] = {0, 8};\n"

const plain = `
static const f32 table[4] = {1.1f, 2.2f, 3.3f, 4.4f};
KERNEL(k) {
  f32 *x = (f32 *)c->arg[0];
  for (i64 i = c->lo; i < c->hi; i++) x[i] = x[i] * table[i & 3] + 0.1f;
  return 0;
}
` + constants

func TestSameBytes(t *testing.T) {
	ptxtest.Clang(t)
	t.Setenv(backend.EnvCache, "off")
	for _, l := range Levels {
		a, err := Compile(l, "k", plain)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Compile(l, "k", plain)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Code, b.Code) {
			t.Errorf("%s: two runs of one compiler give other bytes", l.Name)
		}
		if a.Lanes != 16 || a.Group != 0 || a.Strip != 8 {
			t.Errorf("%s: %d lanes, %d and %d bytes", l.Name, a.Lanes, a.Group, a.Strip)
		}
	}
	if Key(plain) == Key(plain+" ") {
		t.Error("keys do not tell texts apart")
	}
}

// What code cannot have is named.
func TestRefused(t *testing.T) {
	ptxtest.Clang(t)
	for _, c := range []struct{ text, want string }{
		{"i64 puts(call *); KERNEL(k) { return puts(c); }" + constants, "it needs puts, which is not in it"},
		{"KERNEL(k) { return missing(c); }" + constants, "call to undeclared function 'missing'"},
		{"KERNEL(k) { return missing + 1; }" + constants, "k.c:1:20: error: use of undeclared identifier 'missing'"},
		{"static i64 n; KERNEL(k) { return n += c->lo; }" + constants, "section .bss.n can be written"},
		{"static i64 n = 7; KERNEL(k) { return n += c->lo; }" + constants, "section .data.n can be written"},
		{"static i64 *const volatile p = &(i64){1}; KERNEL(k) { return *p; }" + constants, " can be written"},
		{"static __thread i64 n; KERNEL(k) { return n += c->lo; }" + constants, " can be written"},
		{"__asm__(\".text\\n.globl k\\nk: nop\\n\"); " + constants, "stack section .text takes is not known"},
		{"KERNEL(k) { volatile u8 x[32000]; x[c->lo] = 1; return x[c->hi]; }" + constants, "of stack, and 30720 are"},
		{
			"static __attribute__((noinline)) i64 f(i64 n) { volatile u8 x[16000]; return x[n]; }" +
				"KERNEL(k) { volatile u8 x[16000]; x[c->lo] = 1; return x[f(c->hi)]; }" + constants,
			"bytes of stack, and 30720 are",
		},
		{
			"static i64 g(i64); static __attribute__((noinline)) i64 f(i64 n) { return n & 1 ? 1 : g(n / 2) + 1; }" +
				"static __attribute__((noinline)) i64 g(i64 n) { return n & 2 ? 7 : f(n + 5) + n; }" +
				"KERNEL(k) { return f(c->lo); }" + constants,
			"takes is not known",
		},
		{"static KERNEL(j) { return 0; }" + constants, "the text does not define k"},
		{"KERNEL(k) { return 0; }", "the text does not define k_lanes"},
		{"KERNEL(k) { return 0; } const i32 k_lanes = 1;", "k_lanes has 4 bytes, want 8"},
	} {
		for _, l := range Levels {
			_, err := Compile(l, "k", c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s\n%v, want %q", l.Name, c.text, err, c.want)
			}
		}
	}
	absolute := map[string]string{
		"amd64": "movabsq $k_body, %rax", "arm64": "adrp x0, k_body",
	}
	for _, l := range Levels {
		_, err := Compile(l, "k", "KERNEL(k) { __asm__(\""+absolute[l.Arch]+"\"); return 0; }"+constants)
		if err == nil || !strings.Contains(err.Error(), "relocation R_") || !strings.Contains(err.Error(), "k_body") {
			t.Errorf("%s: an address: %v", l.Name, err)
		}
	}
}

// The package names every kernel on every processor, with code or without: kernels that came where
// no compiler is have no code, and those that are there keep theirs.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	has := []Kernel{{Name: "Scale_float32", Key: "k", Blobs: map[string]*Blob{Levels[0].Name: {Code: []byte("c")}}}}
	more := append(slices.Clone(has), Kernel{Name: "string"}, Kernel{Name: "_Längs_2"}, Kernel{Name: "scale_int32"})
	if err := WriteFolder(dir, "version", has); err != nil {
		t.Fatal(err)
	}
	if !Declares(dir, has) || Declares(dir, more) || Declares(t.TempDir(), has) {
		t.Error("Declares is wrong")
	}
	if err := WriteNames(dir, more); err != nil {
		t.Fatal(err)
	}
	if !Declares(dir, more) {
		t.Error("not all kernels are declared")
	}
	got, err := ReadFolder(dir, "version")
	if err != nil || len(got) != 1 || got[0].Name != "Scale_float32" {
		t.Errorf("it has the code of %v, %v", got, err)
	}
	for _, file := range []string{"code_" + Levels[0].Arch + ".go", otherFile} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, k := range more {
			if f.Scope.Lookup(Variable(k.Name)) == nil {
				t.Errorf("%s does not declare %s", file, Variable(k.Name))
			}
		}
	}
}
