package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/bench"
	"github.com/tandem-gpu/tandem/internal/racetest"
)

func TestBench(t *testing.T) {
	for _, name := range []string{"cpu", "opencl"} { // a simulated GPU would take minutes
		t.Run(name, func(t *testing.T) {
			need(t, name)
			testBench(t, name)
		})
	}
}

func testBench(t *testing.T, name string) {
	at := in(t.TempDir())
	args := []string{
		"bench", "--quick", "--backend", name, "--type", "f4", "--sizes", "24", "--peers", "-o", at("r.txt"), "--plot",
		at("plots"),
	}
	if name == "opencl" { // where the other groups take half a minute
		args = append(args, "--only", "products,transposes")
	}
	out := must(t, args...)
	for _, want := range []string{
		"\n" + name + ":0, ", "| float32 product 24x24x24 | ", "| float32 transpose 24x24 | ", "\ngonum: v",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it prints no %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "float64 product") || len(out) > 12_000 {
		t.Errorf("it measures what --type leaves out, or prints %d characters:\n%s", len(out), out)
	}
	f, err := os.Open(at("r.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := bench.Read(f)
	if err != nil || r.Config["backend"] != name || len(r.Rows) < 6 {
		t.Errorf("%v, %+v", err, r)
	}
	if got := inFolder(t, at("plots")); !slices.Contains(got, "products-float32.svg") ||
		!slices.Contains(got, "transposes-float32.svg") || slices.ContainsFunc(got, unfinished) {
		t.Errorf("plots: %q", got)
	}
	if got := inFolder(t, at("")); len(got) != 2 {
		t.Errorf("files: %q", got)
	}
}

// With -o - it prints samples in place of the table.
func TestBenchScaling(t *testing.T) {
	at := in(t.TempDir())
	out := must(t, "bench", "--quick", "--backend", "cpu", "--type", "f4", "--sizes", "16,24", "--only", "scaling",
		"--plot", at("plots"), "-o", "-")
	if r, err := bench.Read(strings.NewReader(out)); err != nil || len(r.Rows) != 2 || strings.Contains(out, "| ---") {
		t.Errorf("%v, it prints\n%s", err, out)
	}
	if got := inFolder(t, at("plots")); !slices.Equal(got, []string{"scaling-float32.svg"}) {
		t.Errorf("plots: %q", got)
	}
}

// With --json it prints the report and nothing else, as every command does.
func TestBenchJSON(t *testing.T) {
	racetest.Skip(t, "others have its goroutines")
	var r bench.Report
	out := must(t, "bench", "--quick", "--backend", "cpu", "--type", "f4", "--sizes", "24", "--only", "products",
		"--json")
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Config["backend"] != "cpu" || len(r.Rows) == 0 {
		t.Errorf("%v in\n%s", err, out)
	}
	code, out, stderr := tandem("bench", "--quick", "--backend", "cpu", "--type", "f4", "--sizes", "24", "--only",
		"products", "--json", "-o", "-")
	if err := json.Unmarshal([]byte(stderr), &r); err != nil || code != exitOK {
		t.Errorf("%d, %v in\n%s", code, err, stderr)
	}
	if r, err := bench.Read(strings.NewReader(out)); err != nil || len(r.Rows) == 0 {
		t.Errorf("%v, it prints\n%s", err, out)
	}
}

// A folder that was there before stays, and so does a link to it.
func TestBenchPlotFolder(t *testing.T) {
	dir := t.TempDir()
	at := in(dir)
	if err := os.Mkdir(at("folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	want := []string{"folder"}
	if os.Symlink("folder", at("link")) == nil {
		want = append(want, "link")
	}
	for _, name := range want {
		tandem("bench", "--backend", "abacus", "--plot", at(name))
	}
	if got := inFolder(t, dir); !slices.Equal(got, want) {
		t.Errorf("%q are there, want %q", got, want)
	}
}

func TestCommandLine(t *testing.T) {
	got := commandLine([]string{
		"/home/me/bin/tandem", "bench", "--backend", "opencl:0", "--json", "/home/me/r.json",
		"--plot=/home/me/plots", "--type=f4,f8", "-x", "",
	})
	want := []string{
		"tandem", "bench", "--backend", "opencl:0", "--json", "r.json", "--plot=plots", "--type=f4,f8", "-x", "",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// unfinished tells the names of files that should have gone or been renamed.
func unfinished(name string) bool { return !strings.HasSuffix(name, ".svg") }

func TestBenchErrors(t *testing.T) {
	dir := t.TempDir()
	at := in(dir)
	file := write(t, at("file"), []byte("x"))
	for _, c := range []struct {
		code int
		want string // of stderr
		args []string
	}{
		{exitUsage, `type "f2": there are f4, f8 and i4`, []string{"--type", "f2"}},
		{exitUsage, "not 0", []string{"--sizes", "0"}},
		{exitUsage, `"many" for "--sizes" flag: invalid syntax`, []string{"--sizes", "many"}},
		{exitUsage, "negative", []string{"--rounds", "-3"}},
		{exitUsage, "--minutes", []string{"--minutes", "-1"}},
		{exitUsage, "--minutes", []string{"--minutes", "0"}},
		{exitUsage, "--minutes", []string{"--minutes", "NaN"}},
		{exitUsage, "--output needs a name", []string{"-o", ""}},
		{exitUsage, "--plot needs a name", []string{"--plot", ""}},
		{exitUsage, "unknown command", []string{"extra"}},
		{exitUsage, `not "fft"`, []string{"--only", "fft"}},
		{exitError, `"abacus"`, []string{"--backend", "abacus", "-o", at("r.txt"), "--plot", at("plots")}},
		{exitError, "-o " + at("no/r.txt"), []string{"-o", at("no/r.txt"), "--plot", at("plots")}},
		{exitError, "--plot", []string{"-o", at("r.txt"), "--plot", filepath.Join(file, "plots")}},
	} {
		code, stdout, stderr := tandem(append([]string{"bench", "--quick"}, c.args...)...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("bench %q: exit code %d, want %d\n%s%s", c.args, code, c.code, stdout, stderr)
		}
	}
	if got := inFolder(t, dir); !slices.Equal(got, []string{"file"}) {
		t.Errorf("files are left: %q", got)
	}
}

// A run that is interrupted at once leaves no files, and what was there before as it was; one that
// is interrupted later has written what it measured.
func TestBenchInterrupted(t *testing.T) {
	dir := t.TempDir()
	at := in(dir)
	write(t, at("r.txt"), []byte("before"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	args := []string{"bench", "--backend", "cpu", "--only", "lapack", "-o", at("r.txt"), "--plot", at("plots")}
	code, _, stderr := tandemContext(ctx, args...)
	if code != exitError || !strings.Contains(stderr, "interrupted") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if got := inFolder(t, dir); !slices.Equal(got, []string{"r.txt"}) {
		t.Errorf("files: %q", got)
	}
	if text, err := os.ReadFile(at("r.txt")); err != nil || string(text) != "before" {
		t.Errorf("%q, %v", text, err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(3*time.Second, cancel)
	code, out, stderr := tandemContext(ctx, args...)
	if code != exitError || !strings.Contains(out, "| float64 LU 1x1 |") || strings.Contains(stderr, "no output") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	if text, err := os.ReadFile(at("r.txt")); err != nil || !strings.Contains(string(text), "\nBenchmarkLapack/LU") {
		t.Errorf("%q, %v", text, err)
	}
}
