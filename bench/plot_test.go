package bench

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/element"
)

var update = flag.Bool("update", false, "shorten the reports in results, and draw the plots anew")

// The plots in results are those of the reports beside them.
func TestCommittedPlots(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("a processor that contracts a*b + c may place a line elsewhere in the last digit")
	}
	for _, file := range reports(t) {
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
				t.Errorf("%s is not that of %s (%v): go test ./bench -run Committed -update", name, file, err)
			}
		}
	}
}

// A batch moves the matrices of all its products: its intensity is that of one.
func TestBytesOfABatch(t *testing.T) {
	one := Row{M: 64, N: 32, K: 16}
	batch := one
	batch.Batch = 256
	if got, want := one.bytes(element.Float32), 4.0*(64*16+16*32+64*32); got != want {
		t.Errorf("%v bytes, want %v", got, want)
	}
	if got, want := batch.bytes(element.Float32), 256*one.bytes(element.Float32); got != want {
		t.Errorf("%v bytes of a batch, want %v", got, want)
	}
}

// A legend in a font of wider letters than those measured is not cut off.
func TestLegendInAnotherFont(t *testing.T) {
	p := newPlot("title", "x", "y")
	const name = "Tandem linalg.MatMul"
	p.Legend.Add(name)
	var b bytes.Buffer
	if err := writeSVG(p, &b); err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`<text x="([0-9.]+)"[^<]*>` + name).FindSubmatch(b.Bytes())
	if m == nil || strings.Count(b.String(), "Liberation Serif,") != strings.Count(b.String(), "font-family:") {
		t.Fatalf("no such text, or one without other fonts:\n%s", &b)
	}
	x, err := strconv.ParseFloat(string(m[1]), 64)
	if right := x + 1.3*p.Legend.TextStyle.Width(name).Points(); err != nil || right > 720 {
		t.Errorf("%v, and letters of DejaVu end at %.0f of 720 points", err, right)
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
