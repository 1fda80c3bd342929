package exampletest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every example takes -backend cudasim, not only its test.
func TestSimulatorEverywhere(t *testing.T) {
	files, err := filepath.Glob("../../*/main.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(text), "tandem/backend/cudasim\"") {
			t.Errorf("%s does not import backend/cudasim: %v", f, err)
		}
	}
}
