package ptxsim

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readPTX is a file of testdata, decompressed.
func readPTX(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(path, err)
	}
	if b, err = io.ReadAll(r); err != nil {
		t.Fatal(path, err)
	}
	return b
}

func TestLoadCorpus(t *testing.T) {
	files, _ := filepath.Glob("testdata/corpus/*.ptx.gz")
	if len(files) < 50 {
		t.Fatalf("%d files in the corpus", len(files))
	}
	for _, f := range files {
		d := New(Config{Arch: 120})
		m, err := d.Load(readPTX(t, f))
		if err != nil {
			t.Error(f, err)
		} else if len(m.Entries()) == 0 {
			t.Errorf("%s has no kernel", f)
		}
	}
}

// Every source of the corpus is tested.
func TestCorpusIsComplete(t *testing.T) {
	files, _ := filepath.Glob("testdata/corpus/*.cl")
	if len(files) != len(corpus) {
		t.Errorf("%d sources, %d tests", len(files), len(corpus))
	}
	for _, f := range files {
		if corpus[strings.TrimSuffix(filepath.Base(f), ".cl")] == nil {
			t.Errorf("%s has no test", f)
		}
	}
}
