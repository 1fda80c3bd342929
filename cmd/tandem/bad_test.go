package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/tandem-gpu/tandem/linalg"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fails runs the program, which must fail with words and leave the folder as it is.
func fails(t *testing.T, dir string, code int, says string, args ...string) {
	t.Helper()
	before := inFolder(t, dir)
	got, stdout, stderr := tandem(args...)
	line := "tandem " + strings.Join(args, " ")
	if got != code {
		t.Errorf("%s: exit code %d, want %d\n%s", line, got, code, stderr)
	}
	if !strings.HasPrefix(stderr, "tandem: ") || !strings.Contains(stderr, says) {
		t.Errorf("%s: %q does not say %q", line, stderr, says)
	}
	if strings.Contains(stderr, "goroutine ") || strings.Contains(stderr, "Usage:") || strings.Contains(stderr, "%!") {
		t.Errorf("%s: stderr is no message for a person:\n%s", line, stderr)
	}
	if stdout != "" {
		t.Errorf("%s: stdout is %q", line, stdout)
	}
	if after := inFolder(t, dir); !slices.Equal(before, after) {
		t.Errorf("%s: files were %v and are %v", line, before, after)
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// What cannot be printed is a failure, and not one of the flags.
func TestOutputFull(t *testing.T) {
	for _, line := range []string{
		"", "help", "version", "--version", "completion bash", "conformance --quick --backend cpu",
	} {
		var stderr strings.Builder
		code := run(t.Context(), strings.Fields(line), strings.NewReader(""), full{}, &stderr)
		if code != exitError || stderr.String() != "tandem: "+syscall.ENOSPC.Error()+"\n" {
			t.Errorf("%s: exit code %d, %q", line, code, &stderr)
		}
	}
}

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	at := in(dir)
	a := save(t, at("a.npy"), linalg.NewMatrix(2, 3, []float32{1, 2, 3, 4, 5, 6}))
	d := save(t, at("d.npy"), linalg.NewMatrix(3, 2, []float64{1, 2, 3, 4, 5, 6}))
	i := save(t, at("i.npy"), linalg.NewMatrix(1, 2, []int32{1, 2}))
	j := save(t, at("j.npy"), linalg.NewMatrix(2, 1, []int32{1, 2}))
	v := saveVector[float32](t, at("v.npy"), 1, 2, 3)
	long := save(t, at("long.npy"), linalg.NewMatrix[int32](1<<20, 1, nil))
	wide := save(t, at("wide.npy"), linalg.NewMatrix[int32](1, 1<<20, nil))
	file := read(t, a)
	cut := write(t, at("cut.npy"), []byte(file[:len(file)-1]))
	extra := write(t, at("extra.npy"), []byte(file+"x"))
	text := write(t, at("text.npy"), []byte("1 2 3\n"))
	empty := write(t, at("empty.npy"), nil)
	int64s := write(t, at("int64.npy"), []byte(strings.Replace(file, "<f4", "<i8", 1)))
	scalar := write(t, at("scalar.npy"), whole([]int{}, linalg.NewMatrix(1, 1, []float32{2})))
	cube := write(t, at("cube.npy"), []byte(strings.Replace(file, "(2, 3)", "(1,2,3)", 1)))
	huge := write(t, at("huge.npy"), []byte(strings.Replace(file, "(2, 3), }        ", "(999999, 99999), }", 1)))
	out := at("out.npy")

	hugeText := "promises 399995600004 bytes"
	if strconv.IntSize == 32 {
		hugeText = "(999999, 99999), which no memory holds"
	}

	for _, test := range []struct {
		code int
		says string
		args []string
	}{
		// files
		{1, "a.npy (float32 2x3) times " + a + " (float32 2x3)", []string{"matmul", a, a, "-o", out}},
		{1, "the columns of the first (3) are not the rows of the second (2)", []string{"matmul", a, a, "-o", out}},
		{1, "convert one with numpy, as in x.astype('float32')", []string{"matmul", a, d, "-o", out}},
		{1, "shapes differ", []string{"add", i, j, "-o", out}},
		{1, "shapes differ", []string{"add", a, v, "-o", out}},
		{1, "no such file", []string{"transpose", at("nothing.npy"), "-o", out}},
		{1, "is a directory", []string{"transpose", dir, "-o", out}},
		{1, "cut.npy: not a whole .npy file: it is truncated", []string{"transpose", cut, "-o", out}},
		{1, "more follows", []string{"transpose", extra, "-o", out}},
		{1, "does not begin as one", []string{"transpose", text, "-o", out}},
		{1, "ends within the header", []string{"transpose", empty, "-o", out}},
		{1, "astype", []string{"transpose", int64s, "-o", out}},
		{1, "(float32 number) is no matrix: 'tandem scale'", []string{"matmul", scalar, a, "-o", out}},
		{1, "(float32 number) is no matrix: 'tandem scale'", []string{"matmul", a, scalar, "-o", out}},
		{1, "3 dimensions", []string{"transpose", cube, "-o", out}},
		{1, hugeText, []string{"transpose", huge, "-o", out}},
		{1, "out of memory", []string{"matmul", long, wide, "-o", "-"}},
		{1, "is a directory; name a file", []string{"transpose", a, "-o", dir}},
		{
			1, "cannot create a file there",
			[]string{"transpose", a, "-o", filepath.Join(dir, "no", "such", "folder.npy")},
		},
		{1, "cannot create a file there", []string{"transpose", a, "-o", filepath.Join(a, "below-a-file.npy")}},

		// backends
		{
			1, "unknown driver; there are auto, gpus, cpu, cuda, cudasim, opencl",
			[]string{"transpose", a, "-o", out, "--backend", "abacus"},
		},
		{1, "auto takes no device", []string{"transpose", a, "-o", out, "--backend", "auto:1"}},
		{1, "no device after the colon", []string{"transpose", a, "-o", out, "--backend", "cpu:"}},
		{1, "there are only the devices", []string{"transpose", a, "-o", out, "--backend", "cpu:99"}},
		{1, `no device has "no such name"`, []string{"transpose", a, "-o", out, "--backend", "cpu:no such name"}},

		// flags and arguments
		{2, "no output file: give -o", []string{"matmul", a, a}},
		{2, "no output file: give -o", []string{"transpose", "nothing.npy"}},
		{2, "2 files for 1 results", []string{"transpose", a, "-o", out, "-o", at("other.npy")}},
		{2, "given twice", []string{"transpose", a, "-o", out, "-o", filepath.Join(dir, ".", "out.npy")}},
		{2, "-o - is given twice", []string{"transpose", a, "-o", "-", "-o", "-"}},
		{2, "-, standard input, is given twice", []string{"add", "-", "-", "-o", out}},
		{1, "-: not a whole .npy file", []string{"transpose", "-", "-o", out}},
		{1, "file name too long", []string{"transpose", "nothing.npy", "-o", at(strings.Repeat("x", 300))}},
		{2, "needs a file name", []string{"transpose", a, "-o", ""}},
		{2, "no B.npy: give A.npy B.npy", []string{"matmul", a, "-o", out}},
		{2, "a.npy is one argument too many: give A.npy", []string{"transpose", a, a, "-o", out}},
		{2, "unknown flag: --fast", []string{"matmul", a, d, "-o", out, "--fast"}},
		{2, "flag needs an argument", []string{"matmul", a, d, "-o"}},
		{2, "invalid argument \"maybe\"", []string{"devices", "--json=maybe"}},
		{2, "\"multiply\" for \"tandem\"\n\nDid you mean this?\n\tmatmul\n", []string{"multiply", a, a}},
		{2, "Did you mean this?\n\ttranspose\n", []string{"tranpose", a}},
		{2, `unknown command "abacus"`, []string{"abacus"}},
		{2, `unknown command "extra"`, []string{"devices", "extra"}},
		{2, `unknown command "cauchy" for "tandem random"`, []string{"random", "cauchy", "3x3", "-o", out}},
		{2, `unknown command "nothing" for "tandem"`, []string{"help", "nothing"}},
		{2, "Did you mean this?\n\ttranspose\n", []string{"help", "tranpose"}},
		{2, "no factor", []string{"scale", a, "-o", out}},
		{2, "not a float32, as the elements of " + a, []string{"scale", a, "--by", "two", "-o", out}},
		{2, "not a float32", []string{"scale", a, "--by", "1e39", "-o", out}},
		{2, "not a whole number", []string{"scale", i, "--by", "1.5", "-o", out}},
		{2, "not a whole number", []string{"scale", i, "--by", "2147483648", "-o", out}},
	} {
		fails(t, dir, test.code, test.says, test.args...)
	}
	if runtime.GOOS == "linux" { // elsewhere the disk is filled first
		fails(t, dir, exitError, "4.0 TiB", "matmul", long, wide, "-o", out)
	}
}

func TestBackendFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	a := save(t, in(dir)("a.npy"), linalg.NewMatrix(1, 1, []int32{1}))
	t.Setenv("TANDEM_BACKEND", "abacus")
	fails(t, dir, exitError, "from TANDEM_BACKEND", "transpose", a, "-o", in(dir)("b.npy"))
	must(t, "transpose", a, "-o", in(dir)("b.npy"), "--backend", "cpu")
}

// An output that was there stays as it was when the work fails.
func TestOldOutputSurvivesFailure(t *testing.T) {
	dir := t.TempDir()
	at := in(dir)
	old := write(t, at("out.npy"), []byte("precious"))
	a := save(t, at("a.npy"), linalg.NewMatrix(2, 3, make([]float32, 6)))
	fails(t, dir, exitError, "columns of the first", "matmul", a, a, "-o", old)
	if read(t, old) != "precious" {
		t.Error("the old file is gone")
	}
}

func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	a := save(t, in(dir)("a.npy"), linalg.NewMatrix(2, 2, make([]float32, 4)))
	before := inFolder(t, dir)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	code, stdout, stderr := tandemContext(ctx, "matmul", a, a, "-o", in(dir)("c.npy"))
	if code != exitError || stdout != "" || stderr != "tandem: interrupted; no output was written\n" {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if after := inFolder(t, dir); !slices.Equal(before, after) {
		t.Errorf("files were %v and are %v", before, after)
	}
}
