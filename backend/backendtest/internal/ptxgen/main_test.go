package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/internal/ptxgen/ptxtest"
)

const pkg = "../.." // the package's folder

func TestGenerated(t *testing.T) {
	version := ptxtest.Clang(t)
	files, err := compile(pkg)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got := read(t, "ptx", name); !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes with %s; run make generate", name, version)
		}
	}
}

func TestAssembles(t *testing.T) {
	makers := map[string]ptxtest.PTX{}
	for _, name := range []string{"kernels", "kernels_step3", "float64"} {
		ptx := read(t, "ptx", name+".ptx")
		makers[name] = ptxtest.PTX{Make: func(int) ([]byte, error) { return ptx, nil }}
	}
	t.Log("\n" + ptxtest.NewAssembler(t).Table(t, makers, &ptxtest.Committed{}))
}

// The PTX has every kernel of the text, with the parameters and the group that the text says.
func TestPTX(t *testing.T) {
	for file, kernels := range map[string][]string{
		"kernels":       {"ids", "affine", "chain", "typed", "words", "reverse", "reduce", "ops_f32", "ops_i32"},
		"kernels_step3": {"affine"},
		"float64":       {"ops_f64", "doubles"},
	} {
		text := "kernels.cl"
		if file == "float64" {
			text = "float64.cl"
		}
		ptx, cl := read(t, "ptx", file+".ptx"), read(t, text)
		if got := len(ptxtest.Entries(ptx)); got != len(kernels) {
			t.Errorf("%s has %d kernels, want %v", file, got, kernels)
		}
		for _, name := range kernels {
			t.Run(file+"/"+name, func(t *testing.T) {
				s := &backend.Source{Name: name, Text: string(cl)}
				var err error
				if s.Params, s.Group, err = driverkit.ParseParams(s); err != nil {
					t.Fatal(err)
				}
				ptxtest.Check(t, ptx, s)
			})
		}
	}
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{pkg}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) // a checkout on Windows
}
