package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The files beside the generator are what it writes.
func TestFiles(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if got = bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")); !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes: run go generate ./internal/host", name)
		}
	}
}
