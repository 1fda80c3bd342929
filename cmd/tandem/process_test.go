package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/linalg"
	npyfiles "github.com/tandem-gpu/tandem/linalg/files"
)

// program is this program, whose processes TestMain makes tandem itself in this test.
func program(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts the program; left out by -short")
	}
	t.Setenv(envMain, "1")
	return executable(t)
}

func executable(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// The real program: its exit codes, what goes where, and no escape sequences in a pipe.
func TestProcess(t *testing.T) {
	exe := program(t)
	dir := t.TempDir()
	at := in(dir)
	a := save(t, at("a.npy"), linalg.NewMatrix(2, 2, []float32{1, 2, 3, 4}))
	for _, test := range []struct {
		code           int
		stdout, stderr string // what they contain; "" for nothing at all
		args           []string
	}{
		{0, "c.npy (float32 2x2)", "", []string{"matmul", a, a, "-o", at("c.npy")}},
		{0, "* cpu:0", "", []string{"devices"}},
		{0, runtime.Version(), "", []string{"version"}},
		{0, runtime.Version(), "", []string{"--version"}},
		{0, "Examples:", "", []string{"run", "--help"}},
		{1, "", "tandem: open ", []string{"transpose", at("nothing.npy"), "-o", at("d.npy")}},
		{1, "", "unknown driver", []string{"transpose", a, "-o", at("d.npy"), "--backend", "abacus"}},
		{2, "", "unknown flag", []string{"transpose", a, "--fast"}},
		{2, "", "no output file", []string{"transpose", a}},
	} {
		cmd := exec.Command(exe, test.args...)
		cmd.Env = append(os.Environ(), "TANDEM_BACKEND=cpu")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != test.code {
			t.Errorf("%q: exit code %d, want %d", test.args, code, test.code)
		}
		for _, s := range []struct{ name, got, want string }{
			{"stdout", stdout.String(), test.stdout},
			{"stderr", stderr.String(), test.stderr},
		} {
			if !strings.Contains(s.got, s.want) || s.want == "" && s.got != "" {
				t.Errorf("%q: %s is %q, want %q", test.args, s.name, s.got, s.want)
			}
			if strings.ContainsAny(s.got, "\x1b\r") {
				t.Errorf("%q: escape sequences in a pipe: %q", test.args, s.got)
			}
		}
	}
	checkFile(t, at("c.npy"), []int{2, 2}, linalg.NewMatrix(2, 2, []float32{7, 10, 15, 22}))
}

// A name of standard output is standard output: the data alone go there, and the report elsewhere.
func TestProcessStdout(t *testing.T) {
	if _, err := os.Stat("/dev/stdout"); err != nil {
		t.Skip(err)
	}
	exe := program(t)
	at := in(t.TempDir())
	m := linalg.NewMatrix(1, 2, []int32{7, 8})
	a := save(t, at("a.npy"), m)
	want := string(whole([]int{2, 1}, linalg.NewMatrix(2, 1, m.Data)))
	cmd := exec.Command(exe, "transpose", a, "-o", "/dev/stdout", "--backend", "cpu")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || string(out) != want || !strings.Contains(stderr.String(), "output   /dev/stdout") {
		t.Errorf("a pipe: %v, %q, %q", err, out, &stderr)
	}
	shell := `"$0" transpose "$1" -o /dev/stdout --backend cpu >"$2"`
	err = exec.Command("sh", "-c", shell, exe, a, at("c.npy")).Run()
	if got := read(t, at("c.npy")); err != nil || got != want {
		t.Errorf("a file: %v, %q", err, got)
	}
	shell = `"$0" transpose "$1" -o /dev/null --backend cpu >/dev/null`
	if out, err := exec.Command("sh", "-c", shell, exe, a).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("nowhere: %v, %q", err, out)
	}
	for _, line := range []string{
		"run ../../examples/userkernel/kernels.cl --kernel k --grid 1 --block 1 --arg out:f4:1 --arg out:f4:1 " +
			"-o - -o /dev/stdout",
	} {
		cmd := exec.Command(exe, strings.Fields(line)...)
		if out, err := cmd.Output(); cmd.ProcessState.ExitCode() != exitUsage || len(out) > 0 {
			t.Errorf("%s: %v, %q", line, err, out)
		}
	}
}

// A reader that leaves is an error like a full disk: nothing hidden stays, and what was measured
// until then does.
func TestProcessWithoutReader(t *testing.T) {
	exe := program(t)
	dir := t.TempDir()
	at := in(dir)
	a := save(t, at("a.npy"), linalg.NewMatrix(2, 2, []float32{1, 2, 3, 4}))
	for _, test := range []struct {
		line string
		left []string
	}{
		{"qr " + a + " -o - --r " + at("r.npy") + " --backend cpu", []string{"a.npy"}},
		{
			"bench --quick --only products --type f4 --sizes 16 --backend cpu -o " + at("b.txt"),
			[]string{"a.npy", "b.txt"},
		},
	} {
		cmd := exec.Command(exe, strings.Fields(test.line)...)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(test.line, "bench") {
			stdout.Read(make([]byte, 1)) // the head of the table
		}
		stdout.Close()
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitError || !strings.Contains(stderr.String(), "pipe") {
			t.Errorf("%s: exit code %d, %s", test.line, code, &stderr)
		}
		if names := inFolder(t, dir); !slices.Equal(names, test.left) {
			t.Errorf("%s: left behind: %v", test.line, names)
		}
	}
}

// Ctrl-C, or a terminal that is closed, while the program waits for its input or for a reader of
// its output: no output file, none in the making, exit code 1, at once.
func TestProcessInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows cannot send an interrupt to one process")
	}
	exe := program(t)
	at := in(t.TempDir())
	fifo := at("fifo")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Skipf("mkfifo: %v\n%s", err, out)
	}
	a := save(t, at("a.npy"), linalg.NewMatrix(1, 1, []int32{1}))
	for _, test := range []struct {
		name, input, output string
		signal              os.Signal
	}{
		{"the rest of a pipe", "/dev/stdin", "", os.Interrupt},
		{"the rest of standard input", "-", "", os.Interrupt},
		{"a writer of a pipe", fifo, "", os.Interrupt},
		{"a reader of a pipe", a, fifo, os.Interrupt},
		{"a closed terminal", "-", "", syscall.SIGHUP},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if test.output == "" {
				test.output = in(dir)("out.npy")
			}
			cmd := exec.Command(exe, "transpose", test.input, "-o", test.output, "--backend", "cpu")
			interrupted(t, dir, cmd, test.signal)
		})
	}
}

// Ctrl-C while a driver hangs when it is loaded: opening a pipe that nobody writes to does.
func TestProcessInterruptedInDriver(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere a library is no pipe")
	}
	exe := program(t)
	fifo := in(t.TempDir())("libOpenCL.so")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Skipf("mkfifo: %v\n%s", err, out)
	}
	t.Setenv("TANDEM_OPENCL_LIBRARY", fifo)
	for _, line := range []string{"devices", "conformance --backend opencl", "bench --quick --backend opencl"} {
		t.Run(line, func(t *testing.T) {
			interrupted(t, t.TempDir(), exec.Command(exe, strings.Fields(line)...), os.Interrupt)
		})
	}
}

// The same in the middle of a product from file to file, and where its file may not be so large.
func TestProcessInParts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows cannot send an interrupt to one process")
	}
	exe := program(t)
	dir := t.TempDir()
	a := save(t, in(dir)("a.npy"), linalg.NewMatrix[float64](1, 1, nil))
	const n = 1 << 14
	header := strings.Replace(read(t, a)[:128], "(1, 1), }        ", "(16384, 16384), }", 1)
	if err := errors.Join(os.WriteFile(a, []byte(header), 0o600), os.Truncate(a, 128+8*n*n)); err != nil {
		t.Fatal(err)
	}
	t.Setenv(npyfiles.EnvHostMemory, "200MiB")
	out := t.TempDir()
	args := []string{"matmul", a, a, "-o", in(out)("c.npy"), "--backend", "cpu"}
	interrupted(t, out, exec.Command(exe, args...), os.Interrupt)
	limited := exec.Command("sh", append([]string{"-c", `ulimit -f 1000; exec "$@"`, "sh", exe}, args...)...)
	text, err := limited.CombinedOutput()
	if names := inFolder(t, out); err == nil || !strings.Contains(string(text), "file too large") || len(names) > 0 {
		t.Errorf("%v, %q; left behind: %v", err, text, names)
	}
}

// interrupted starts cmd, which waits for something, and ends it by a signal.
func interrupted(t *testing.T, dir string, cmd *exec.Cmd, signal os.Signal) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write(encode(layouts[0], linalg.NewMatrix[int32](100, 100, nil))[:200]); err != nil {
		t.Fatal(err)
	}
	for range 500 { // until it has begun
		if len(inFolder(t, dir)) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond)
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	late := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
	defer late.Stop()
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitError ||
		stderr.String() != "tandem: interrupted; no output was written\n" {
		t.Errorf("exit code %d after %v, %q", code, time.Since(start), stderr.String())
	}
	if names := inFolder(t, dir); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}
