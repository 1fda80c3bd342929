package bench

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "draw the plots in results anew, out of the reports beside them")

// The plots in results are those of the reports beside them.
func TestCommittedPlots(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("a processor that contracts a*b + c may place a line elsewhere in the last digit")
	}
	reports, err := filepath.Glob("results/*/*.json")
	if err != nil || len(reports) == 0 {
		t.Fatal("no reports:", err)
	}
	for _, file := range reports {
		folder := strings.TrimSuffix(file, ".json")
		if _, err := os.Stat(folder); err != nil {
			continue // a second measurement, without plots
		}
		for _, p := range plotsOf(t, file) {
			var b bytes.Buffer
			if err := p.Write(&b); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(folder, p.File)
			if *update {
				if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if have, err := os.ReadFile(name); err != nil || !bytes.Equal(have, b.Bytes()) {
				t.Errorf("%s is not that of %s (%v): go test ./bench -run CommittedPlots -update", name, file, err)
			}
		}
	}
}

// plotsOf draws the report of a file.
func plotsOf(t *testing.T, file string) []Plot {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	plots, err := r.Plots()
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return plots
}
