package rmath

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/internal/racetest"
)

const recordFile = "testdata/measured.txt"

// replay is the measurement in small: 20000 points with their errors, and as many arguments with
// any bits. The digest is over the results of both.
func (d *definition) replay() result {
	r := d.chunk(chunks, 20000)
	random := rand.New(rand.NewPCG(1, 2))
	for turn := range 20000 {
		m := d.draw(random, turn)
		r.digest = mix(r.digest, m.f(math.Float64frombits(random.Uint64())))
	}
	return r
}

// The errors of 20000 points of each function are within its bound, and the results are those that
// were recorded, on every machine.
func TestReplay(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	text, err := os.ReadFile(recordFile)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		c := strings.Split(line, "\t")
		rows[c[0]] = c
	}
	for _, d := range definitions {
		r := d.replay()
		d.report(t, r)
		if row := rows[d.name]; len(row) != 8 {
			t.Errorf("%s has no row in %s", d.name, recordFile)
		} else if got := fmt.Sprintf("%016x", r.digest); got != row[5] {
			t.Errorf("%s: the digest of the results is %s, %s has %s", d.name, got, recordFile, row[5])
		}
	}
}

// record writes a measurement to the table.
func (d *definition) record(t *testing.T, r result) {
	old, err := os.ReadFile(recordFile)
	if err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprint(r.at.x)
	if d.family != nil {
		at = fmt.Sprintf("%v, the other argument %v", r.at.x, r.at.other)
	}
	var text strings.Builder
	for line := range strings.Lines(string(old)) {
		if !strings.HasPrefix(line, d.name+"\t") {
			text.WriteString(line)
		}
	}
	text.WriteString(strings.Join([]string{
		d.name, fmt.Sprint(r.tried), fmt.Sprintf("%.5f", r.worst), at, fmt.Sprintf("%016x", r.digest),
		fmt.Sprintf("%016x", d.replay().digest), time.Now().UTC().Format(time.DateOnly), machine(),
	}, "\t") + "\n")
	if err := os.WriteFile(recordFile, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// machine is this one, as far as a program knows it.
func machine() string {
	model := ""
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = ", " + strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s/%s, %s%s", runtime.GOOS, runtime.GOARCH, runtime.Version(), model)
}
