package kernels

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/ptxgen/ptxtest"
)

var registersFile = flag.String("registers", "", "write the registers that each kernel takes to `file`")

// The real assembler takes the PTX for old and new GPUs, without spills.
func TestPTXAssembles(t *testing.T) {
	table := ptxtest.Assemble(t, "ptx")
	t.Log("\n" + table)
	if *registersFile != "" {
		if err := os.WriteFile(*registersFile, []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEmbeddedPTX(t *testing.T) {
	sources := PTXSources()
	for file, s := range sources {
		t.Run(file, func(t *testing.T) {
			if s.PTX == nil {
				t.Fatal("no PTX in the Source: run make generate")
			}
			text, err := os.ReadFile("ptx/" + file)
			if err != nil || !bytes.Equal(text, s.PTX) {
				t.Errorf("the Source has other PTX than its file (%v)", err)
			}
			ptxtest.Check(t, s.PTX, s)
			if n := len(ptxtest.Entries(s.PTX)); n != 1 {
				t.Errorf("%d kernels", n)
			}
			checkArithmetic(t, s, ptxtest.Opcodes(s.PTX))
			if s.Name == "matmul" && !slices.ContainsFunc(ptxtest.Opcodes(s.PTX), func(op string) bool { return strings.HasPrefix(op, "ld.global.nc.v") }) {
				t.Error("A and B are not read as vectors through the read-only cache")
			}
		})
	}
	files, err := ptxFiles.ReadDir("ptx")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if sources[f.Name()] == nil {
			t.Errorf("ptx/%s belongs to no kernel", f.Name())
		}
	}
}

// checkArithmetic fails when a kernel computes with floating-point numbers in another way than its formula says.
func checkArithmetic(t *testing.T, s *backend.Source, opcodes []string) {
	t.Helper()
	suffix := ""
	if s.Macros[types[Float32].macro] != "" {
		suffix = ".rn.f32"
	} else if s.Macros[types[Float64].macro] != "" {
		suffix = ".rn.f64"
	}
	var want []string
	if suffix != "" {
		for _, op := range map[string][]string{
			"scale": {"mul"}, "add": {"add"}, "matmul_naive": {"fma"}, "matmul_tiled": {"fma"},
			"matmul": {"fma", "mul"}, // beta*c is rounded on its own
		}[s.Name] {
			want = append(want, op+suffix)
		}
	}
	moves := []string{"ld", "st", "mov", "setp", "selp"}
	var got []string
	for _, op := range opcodes {
		if base, _, _ := strings.Cut(op, "."); strings.Contains(op, ".f") && !slices.Contains(moves, base) {
			got = append(got, op)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("computes with %v, want %v", got, want)
	}
}

// Other parameters than those of the tuning data have no PTX, and never that of others.
func TestNoPTXForOthers(t *testing.T) {
	p := MatMulParams{BM: 64, BN: 64, BK: 16, TM: 4, TN: 4, KU: 2}
	for _, typ := range Types() {
		if s := MatMul(typ, p); s.PTX != nil {
			t.Errorf("%s %+v has PTX", typ, p)
		}
		if s := Transpose(typ, TransposeParams{Tile: 8, Step: 8}); s.PTX != nil {
			t.Errorf("a transpose of %s with another tile has PTX", typ)
		}
	}
}
