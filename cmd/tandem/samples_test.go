package main

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/tandem-gpu/tandem/linalg"
)

// The sample files of README's command are made here: go test ./cmd/tandem -run
// TestSamples -update
var update = flag.Bool("update", false, "write testdata/a.npy and b.npy anew")

const samples = "../../testdata"

// sample is a matrix of multiples of 2^-23 from -1 to 1, the same ones wherever and whenever it is
// made.
func sample(rows, cols int, seed uint64) linalg.Matrix[float32] {
	m := linalg.NewMatrix[float32](rows, cols, nil)
	rng := rand.NewPCG(seed, 0)
	for i := range m.Data {
		m.Data[i] = float32(int32(rng.Uint64()>>40)-1<<23) / (1 << 23)
	}
	return m
}

func sampleFiles() map[string][]byte {
	return map[string][]byte{
		"a.npy": whole([]int{64, 48}, sample(64, 48, 1)),
		"b.npy": whole([]int{48, 32}, sample(48, 32, 2)),
	}
}

func TestSamples(t *testing.T) {
	for name, want := range sampleFiles() {
		path := filepath.Join(samples, name)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what sample makes; -update writes it anew", path)
		}
	}
}

// README's command on files.
func TestSamplesMultiply(t *testing.T) {
	onBackends(t, func(t *testing.T, backend string) {
		c := in(t.TempDir())("c.npy")
		must(t, "matmul", filepath.Join(samples, "a.npy"), filepath.Join(samples, "b.npy"), "-o", c, "--backend",
			backend)
		checkFile(t, c, []int{64, 32}, product(sample(64, 48, 1), sample(48, 32, 2)))
	})
}
