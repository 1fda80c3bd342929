package compiler

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/internal/ptxgen"
)

// PTX is made in modules and workspaces whose dependencies are vendored, too, whose folders go list
// does not tell.
func TestVendored(t *testing.T) {
	clang := Clang()
	if clang == nil {
		backendtest.Require(t, "clang", fmt.Errorf("%s is not installed", ptxgen.Clang))
	}
	dir := newModule(t, map[string]string{
		"kernels.go": "package kernels\n\nimport \"github.com/tandem-gpu/tandem/gpu\"\n\n" +
			"//tandem:kernel\nfunc k(it gpu.Item, x []float32) { x[it.Global(0)] = 1 }\n",
		"main/main.go": depsFile, // so that linalg is vendored
	})
	for _, c := range []struct{ vendor, flags string }{{"mod", "-mod=vendor"}, {"work", ""}} {
		if err := os.RemoveAll(filepath.Join(dir, "vendor")); err != nil {
			t.Fatal(err)
		}
		t.Setenv("GOFLAGS", "")
		if c.vendor == "work" {
			if out, err := goTool(t, dir, "work", "init", "."); err != nil {
				t.Fatal(err, out)
			}
		}
		if out, err := goTool(t, dir, c.vendor, "vendor"); err != nil {
			t.Fatal(err, out)
		}
		t.Setenv("GOFLAGS", c.flags)
		if err := Write(dir, Options{PTX: clang, NoLaunch: true}); err != nil {
			t.Errorf("go %s vendor: %v", c.vendor, err)
		}
	}
}
