package f32

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/rmath/internal/mp"
)

var record = flag.Bool("record", false, "write what -proof finds to testdata")

func TestMain(m *testing.M) {
	mp.Prepare(2048)
	os.Exit(m.Run())
}

const (
	proofFile = "testdata/proof.txt"
	hardFile  = "testdata/hard.txt"
)

// A proved is a row of testdata/proof.txt.
type proved struct{ name, digest, replay, differences, decided, date, machine string }

func readProofs(t *testing.T) map[string]proved {
	t.Helper()
	m := map[string]proved{}
	for _, line := range readLines(t, proofFile) {
		c := strings.Split(line, "\t")
		if len(c) != 7 {
			t.Fatalf("%s: %q", proofFile, line)
		}
		m[c[0]] = proved{c[0], c[1], c[2], c[3], c[4], c[5], c[6]}
	}
	return m
}

// readLines is the lines of a file that are no comments.
func readLines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// replay is the digest of the results for 2^20 arguments, all over the 2^32.
func (d *definition) replay() string {
	h := sha256.New()
	var b []byte
	for i := range uint32(1 << 20) {
		r := math.Float32bits(d.f(math.Float32frombits(i<<12 | i*0x9e3779b1>>20)))
		if r&0x7fffffff > 0x7f800000 {
			r = 0x7fc00000
		}
		b = binary.LittleEndian.AppendUint32(b, r)
	}
	h.Write(b)
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}

// A million results of each function are those of the proof, on every machine.
func TestReplay(t *testing.T) {
	racetest.Skip(t, "one goroutine does it")
	rows := readProofs(t)
	for _, d := range definitions {
		row, ok := rows[d.name]
		if !ok || row.differences != "0" {
			t.Errorf("%s has no proof in %s", d.name, proofFile)
		}
		if got := d.replay(); got != row.replay {
			t.Errorf("%s: the digest of a million results is %s, %s has %s", d.name, got, proofFile, row.replay)
		}
	}
}

// The arguments whose values lie so close to the middle of two float32 that the proof decided them
// by multiple precision.
func TestHardCases(t *testing.T) {
	functions := map[string]*definition{}
	for _, d := range definitions {
		functions[d.name] = d
	}
	count := 0
	for _, line := range readLines(t, hardFile) {
		c := strings.Fields(line)
		d := functions[c[0]]
		x, err1 := strconv.ParseUint(c[1], 16, 32)
		want, err2 := strconv.ParseUint(c[2], 16, 32)
		if d == nil || err1 != nil || err2 != nil {
			t.Fatalf("%s: %q", hardFile, line)
		}
		if got := math.Float32bits(d.f(math.Float32frombits(uint32(x)))); got != uint32(want) {
			t.Errorf("%s of %#x: %#x, want %#x", d.name, x, got, want)
		}
		count++
	}
	if count < 100 {
		t.Errorf("%d hard cases", count)
	}
}

// record writes a proof to the tables.
func (d *definition) record(t *testing.T, v verdict) {
	row := strings.Join([]string{
		d.name, v.digest, d.replay(), "0", strconv.Itoa(len(v.decided)), time.Now().UTC().Format(time.DateOnly),
		machine(),
	}, "\t")
	replaceLines(t, proofFile, d.name+"\t", []string{row})
	var hard []string
	for i := 0; i < len(v.decided); i += 1 + len(v.decided)/100 {
		x := v.decided[i]
		hard = append(hard, fmt.Sprintf("%s %08x %08x", d.name, math.Float32bits(x), math.Float32bits(d.f(x))))
	}
	replaceLines(t, hardFile, d.name+" ", hard)
}

// replaceLines replaces the lines that start with prefix.
func replaceLines(t *testing.T, name, prefix string, lines []string) {
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(old)) {
		if !strings.HasPrefix(line, prefix) {
			text.WriteString(line)
		}
	}
	for _, line := range lines {
		text.WriteString(line + "\n")
	}
	if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
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
