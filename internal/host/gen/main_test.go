package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/internal/nativegen"
	"github.com/tandem-gpu/tandem/internal/ptxgen"
)

// The files beside the generator are what it writes.
func TestFiles(t *testing.T) {
	for name, want := range files() {
		if !bytes.Equal(read(t, name), want) {
			t.Errorf("%s is not what the generator writes: run go generate ./internal/host", name)
		}
	}
}

// What clang has made is of vectors.c as it is, and where the same clang is here it is what clang
// makes.
func TestVectors(t *testing.T) {
	for _, l := range nativegen.Levels {
		got := string(read(t, vectorName(l)))
		version, err := ptxgen.Version()
		if err != nil || !strings.Contains(got, version) {
			if !strings.Contains(got, digest()) {
				t.Errorf("%s is not of vectors.c: run go generate ./internal/host", vectorName(l))
			}
			continue
		}
		want, err := vectorFile(l)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not what the generator writes: run go generate ./internal/host", vectorName(l))
		}
	}
}

func read(t *testing.T, name string) []byte {
	text, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}
