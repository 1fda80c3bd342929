package main

import (
	"bytes"
	"os"
	"testing"
)

// The tables are those that this program makes.
func TestNoDrift(t *testing.T) {
	for name, write := range map[string]func() ([]byte, error){
		"../../f32/tables.go": generate,
		"../../tables.go":     generate64,
	} {
		want, err := write()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), want) {
			t.Errorf("%s is not what rmath/internal/gen writes: run go generate in its package", name)
		}
	}
}
