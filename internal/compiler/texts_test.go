package compiler

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what TestTexts compares")

// What kernels become, for a reader: the files in testdata/texts beside them. After a change:
// go test ./internal/compiler -run Texts -update.
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
	loader, err := newLoader(dir, FileName)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	err = loader.lower(func(l *lowerer, pkg *goPackage, kernels []*kernelDecl) error {
		n := kernels[0].instances[0]
		g := newGoPrinter(l, newNames(pkg.types.Scope()))
		g.kernel(n, n.entry, n.entry+"_plain", l.split(n))
		g.functions()
		texts["cpu"] = strings.TrimSpace(g.out.String()) + "\n"
		texts["device"], _ = cText(n, l)
		native, err := nativeText(n, l)
		_, texts["native"], _ = strings.Cut(native, lanesHeader)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
