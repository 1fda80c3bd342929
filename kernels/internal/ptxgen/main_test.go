package main

import (
	"bytes"
	"testing"

	"github.com/tandem-gpu/tandem/internal/ptxgen"
	"github.com/tandem-gpu/tandem/internal/ptxgen/ptxtest"
)

func read(t *testing.T) []ptxgen.Prebuilt {
	t.Helper()
	list, err := ptxgen.ReadFile("../../opencl_tandem.zip")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The file has PTX of every kernel, made of what the kernel is now, and none of others. It takes no
// clang.
func TestFresh(t *testing.T) {
	want, err := outline()
	if err != nil {
		t.Fatal(err)
	}
	got := read(t)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i].Name != want[i].Name || got[i].Key != want[i].Key ||
			len(got[i].Text) == 0 {
			t.Fatalf("entry %d of %d is not that of the %d kernels; run make generate", i, len(got), len(want))
		}
	}
}

func TestGenerated(t *testing.T) {
	version := ptxtest.Clang(t)
	want, err := compile()
	if err != nil {
		t.Fatal(err)
	}
	got := read(t)
	if len(got) != len(want) {
		t.Fatalf("%d kernels, want %d; run make generate", len(got), len(want))
	}
	for i, p := range want {
		if got[i].Name != p.Name || !bytes.Equal(got[i].Text, p.Text) {
			t.Errorf("%s is not what the generator writes with %s: run make generate", p.Name, version)
		}
	}
}
