package main

import (
	"bytes"
	"os"
	"testing"
)

// The tables are those that this program makes.
func TestNoDrift(t *testing.T) {
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../f32/tables.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), want) {
		t.Error("rmath/f32/tables.go is not what rmath/internal/gen writes: run go generate ./rmath/f32")
	}
}
