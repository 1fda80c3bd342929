package compiler

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/gpu/compiler/internal/ctext"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/front"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/gotext"
	"github.com/tandem-gpu/tandem/gpu/compiler/internal/lanes"
)

var update = flag.Bool("update", false, "write what TestTexts compares")

// What kernels become, for a reader: the files in testdata/texts beside them. After a change:
// go test ./gpu/compiler -run Texts -update.
func TestTexts(t *testing.T) {
	files, err := filepath.Glob("testdata/texts/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for kind, got := range textsOf(t, string(text)) {
			file := strings.TrimSuffix(name, ".go") + "." + kind + ".txt"
			if *update {
				writeFile(t, file, got)
			}
			if want, err := os.ReadFile(file); err != nil || string(want) != got {
				t.Errorf("%s is not what the compiler makes: %v\n%s", file, err, got)
			}
		}
	}
}

// textsOf is a kernel for OpenCL and CUDA, as strips of lanes, and in Go for the cpu device.
func textsOf(t *testing.T, text string) map[string]string {
	dir := newModule(t, map[string]string{"main.go": text})
	loader, err := front.NewLoader(dir, FileName)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	err = loader.Lower(func(l *front.Lowerer, pkg *front.Package, kernels []*front.KernelDecl) error {
		n := kernels[0].Instances[0]
		g := gotext.NewPrinter(l.Program, gotext.NewNames(pkg.Types.Scope()))
		g.Kernel(n, n.Entry)
		g.Functions()
		texts["cpu"] = strings.TrimSpace(g.Out.String()) + "\n"
		texts["device"], _ = ctext.Text(n, l.Program)
		native, err := lanes.Text(n, l.Program)
		_, texts["native"], _ = strings.Cut(native, lanes.Header)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
