package main

import (
	"bytes"
	"os"
	"testing"
)

// The assembly is what this program makes.
func TestNoDrift(t *testing.T) {
	const dir = "../../f32"
	want, err := generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(dir + "/" + fileName)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), want) {
		t.Error("rmath/f32/vector_amd64.s is not what rmath/internal/vecgen writes: run go generate ./rmath/f32")
	}
}
