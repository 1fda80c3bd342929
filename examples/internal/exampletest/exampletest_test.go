package exampletest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every example takes -backend cudasim, not only its test: by itself, or by the main function that
// most of them share.
func TestSimulatorEverywhere(t *testing.T) {
	const simulator = "tandem/backend/cudasim\""
	files, err := filepath.Glob("../../*/main.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, f := range append(files, "../../program/program.go") {
		text, err := os.ReadFile(f)
		shared := strings.Contains(string(text), "{ program.Main(run) }")
		if err != nil || !shared && !strings.Contains(string(text), simulator) {
			t.Errorf("%s does not import backend/cudasim: %v", f, err)
		}
	}
}
