package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/linalg"
)

func TestOutputCommit(t *testing.T) {
	dir := t.TempDir()
	path := write(t, in(dir)("c.npy"), []byte("old"))
	o, err := files.Create(t.Context(), files.Target{Flag: "-o", Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Abort()
	if _, err := io.WriteString(o, "new"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "old" {
		t.Errorf("%q before commit", got)
	}
	if err := (files.Outputs{o}).Commit(); err != nil || read(t, path) != "new" {
		t.Errorf("%v, %q after commit", err, read(t, path))
	}
	o.Abort()
	if names := inFolder(t, dir); !slices.Equal(names, []string{"c.npy"}) {
		t.Errorf("left behind: %v", names)
	}
}

func TestOutputAbort(t *testing.T) {
	dir := t.TempDir()
	o, err := files.Create(t.Context(), files.Target{Flag: "-o", Path: in(dir)("c.npy")})
	if err != nil {
		t.Fatal(err)
	}
	if names := inFolder(t, dir); len(names) != 1 || names[0] == "c.npy" {
		t.Errorf("while it is made: %v", names)
	}
	o.Abort()
	o.Abort()
	if names := inFolder(t, dir); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

// Of several outputs the last cannot be made: none of them is left.
func TestOutputsFailTogether(t *testing.T) {
	dir := t.TempDir()
	at := in(dir)
	if _, err := files.CreateAll(t.Context(), files.TargetsOf([]string{
		at("a.npy"), at("b.npy"),
		filepath.Join(dir, "no", "c.npy"),
	}), io.Discard, false); err == nil {
		t.Error("no error")
	}
	if names := inFolder(t, dir); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestOutputPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no umask")
	}
	at := in(t.TempDir())
	reference, err := os.Create(at("reference"))
	if err != nil {
		t.Fatal(err)
	}
	reference.Close()
	a := save(t, at("a.npy"), linalg.NewMatrix(1, 1, []int32{1}))
	must(t, "transpose", a, "-o", at("b.npy"))
	if got, want := stat(t, at("b.npy")).Mode(), stat(t, at("reference")).Mode(); got != want {
		t.Errorf("mode %v, want %v as of any new file", got, want)
	}
}

// What was there keeps its permissions, and other hard links to it their content.
func TestOutputKeepsPermissions(t *testing.T) {
	at := in(t.TempDir())
	a := save(t, at("a.npy"), linalg.NewMatrix(1, 1, []int32{1}))
	for _, mode := range []os.FileMode{0o600, 0o666, 0o444} {
		if mode == 0o444 && runtime.GOOS == "windows" {
			continue // there, such a file cannot be replaced
		}
		b, link := write(t, at("b.npy"), []byte("old")), at("link.npy")
		if err := os.Link(b, link); err != nil {
			t.Skipf("no hard links: %v", err)
		}
		if err := os.Chmod(b, mode); err != nil {
			t.Fatal(err)
		}
		want := stat(t, b).Mode()
		must(t, "transpose", a, "-o", b)
		if got := stat(t, b).Mode(); got != want {
			t.Errorf("mode %v, was %v", got, want)
		}
		if got := read(t, link); got != "old" {
			t.Errorf("the other link holds %q", got)
		}
		for _, name := range []string{b, link} {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// A link stays a link, and what it points to is replaced.
func TestOutputThroughLink(t *testing.T) {
	at := in(t.TempDir())
	target := write(t, at("target.npy"), []byte("old"))
	if err := os.Symlink(target, at("link.npy")); err != nil {
		t.Skipf("no symbolic links: %v", err)
	}
	a := save(t, at("a.npy"), linalg.NewMatrix(1, 1, []int32{7}))
	must(t, "transpose", a, "-o", at("link.npy"))
	checkFile(t, target, []int{1, 1}, linalg.NewMatrix(1, 1, []int32{7}))
	if info, err := os.Lstat(at("link.npy")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", info, err)
	}
}

// A link to what is not there yet stays a link, too, and the file appears where it points.
func TestOutputThroughDanglingLink(t *testing.T) {
	dir := t.TempDir()
	at := in(dir)
	if err := os.Mkdir(at("there"), 0o777); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"first.npy": "second.npy", "second.npy": "folder/../new.npy", "folder": "there",
		"absolute.npy": at("other.npy"), "ring.npy": "ring.npy",
	} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Skipf("no symbolic links: %v", err)
		}
	}
	a := save(t, at("a.npy"), linalg.NewMatrix(1, 1, []int32{7}))
	for link, target := range map[string]string{"first.npy": "new.npy", "absolute.npy": "other.npy"} {
		must(t, "transpose", a, "-o", at(link))
		checkFile(t, at(target), []int{1, 1}, linalg.NewMatrix(1, 1, []int32{7}))
		if info, err := os.Lstat(at(link)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is gone: %v %v", info, err)
		}
	}
	fails(t, dir, exitError, "cannot create a file there", "transpose", a, "-o", at("ring.npy"))
}

// A device is written to, not replaced by a file.
func TestOutputToDevice(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no /dev/null")
	}
	a := save(t, in(t.TempDir())("a.npy"), linalg.NewMatrix(1, 1, []int32{7}))
	must(t, "transpose", a, "-o", os.DevNull)
	if mode := stat(t, os.DevNull).Mode(); mode&os.ModeCharDevice == 0 {
		t.Fatalf("%s is %v now", os.DevNull, mode)
	}
}

// "-" is standard input and standard output; the report is out of the way then.
func TestStandardStreams(t *testing.T) {
	at := in(t.TempDir())
	m := linalg.NewMatrix(2, 3, []float32{1, 2, 3, 4, 5, 6})
	turned := linalg.NewMatrix(3, 2, []float32{1, 4, 2, 5, 3, 6})
	stream := func(input string, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs strings.Builder
		if code := run(t.Context(), args, strings.NewReader(input), &out, &errs); code != exitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
		}
		return out.String(), errs.String()
	}
	a := string(whole([]int{2, 3}, m))
	stdout, stderr := stream(a, "transpose", "-", "-o", "-")
	if stdout != string(whole([]int{3, 2}, turned)) || !strings.Contains(stderr, "output   - (float32 3x2)") {
		t.Errorf("%q, %q", stdout, stderr)
	}
	stdout, stderr = stream(a, "transpose", "-", "-o", "-", "--json")
	var r record
	if err := json.Unmarshal([]byte(stderr), &r); err != nil || stdout != string(whole([]int{3, 2}, turned)) ||
		r.Outputs[0].Path != "-" {
		t.Errorf("%v, %q, %q", err, stdout, stderr)
	}
	if stdout, stderr = stream(a, "transpose", "-", "-o", at("b.npy")); stderr != "" ||
		!strings.Contains(stdout, "input    - (float32 2x3)") {
		t.Errorf("%q, %q", stdout, stderr)
	}
	checkFile(t, at("b.npy"), []int{3, 2}, turned)
	if names := inFolder(t, at("")); len(names) != 1 {
		t.Errorf("files %v", names)
	}
	// A pipe that promises more than the machine holds is refused by its header.
	code, stderr := 0, ""
	var errs strings.Builder
	code = run(t.Context(), []string{"transpose", "-", "-o", at("c.npy")},
		strings.NewReader(strings.Replace(a, "(2, 3), }          ", "(99999999, 9999999) }", 1)), io.Discard, &errs)
	want := "out of memory"
	if strconv.IntSize == 32 {
		want = "which no memory holds"
	}
	if stderr = errs.String(); code != exitError || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// A source without end is refused, and not read until memory ends.
func TestEndlessSource(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	fails(t, dir, exitError, "/dev/zero: more than 16.0 MiB are no kernel's source", "run", "/dev/zero",
		"--kernel", "k", "--grid", "1", "--block", "1", "--arg", "out:f4:1", "-o", in(dir)("out.npy"))
}

func TestFitsHost(t *testing.T) {
	if err := files.FitsHost(1 << 10); err != nil {
		t.Error(err)
	}
	if err := files.FitsHost(1 << 60); err == nil || !strings.Contains(err.Error(), "1.0 EiB are needed") {
		t.Error(err)
	}
	if strconv.IntSize == 32 { // whatever the machine has: the elements' number would be 0
		if _, err := files.Zeros(element.Int32, []int{1 << 16, 1 << 16}); !errors.Is(err, backend.ErrOutOfMemory) {
			t.Error(err)
		}
	}
}
