// Mutate plants deliberate bugs, one at a time, and requires that the test named for each fails. A
// test suite that lets one of them pass would let such a bug pass in earnest.
//
// It works on a copy of the repository in a temporary folder: the files that git knows, or would
// add, as they are now.
//
//	go run ./scripts/mutate [-list] [-only REGEXP]
//
// The exit code is 1 where a bug survives, or where its place in the source is not found exactly
// once.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"
)

// A mutation replaces text that occurs exactly once in a file, and names the test that must fail
// then.
type mutation struct {
	name     string // what is wrong
	file     string
	old, new string
	pkg      string // "./kernels"
	test     string // "TestProducts/opencl:0": each part is a regular expression for the name of a subtest
	needs    string // what the test needs of the machine, "" for Go alone
	long     bool   // the test leaves it out with -short
	hangs    bool   // the test fails by not coming to an end
	crashes  bool   // the test may end the process, by a signal or by a panic of another goroutine
}

func main() {
	list := flag.Bool("list", false, "print the list, run nothing")
	only := flag.String("only", "", "only mutations whose name matches the regular `expression`")
	flag.Parse()
	if err := run(*list, *only); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(list bool, only string) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var chosen []mutation
	for _, m := range mutations {
		if match.MatchString(m.name) {
			chosen = append(chosen, m)
		}
	}
	if list {
		return printList(chosen)
	}
	dir, err := os.MkdirTemp("", "tandem-mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyRepository(dir); err != nil {
		return err
	}
	survived := 0
	for _, m := range chosen {
		start := time.Now()
		verdict := "killed"
		if err := m.kill(dir); err != nil {
			survived++
			verdict = "SURVIVED: " + err.Error()
		}
		fmt.Printf("%-55s %-22s %s (%.0f s)  %s\n", m.name, m.pkg, m.test, time.Since(start).Seconds(), verdict)
	}
	fmt.Printf("%d of %d mutations killed\n", len(chosen)-survived, len(chosen))
	if survived > 0 {
		return fmt.Errorf("%d mutations survived", survived)
	}
	return nil
}

func printList(list []mutation) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, m := range list {
		fmt.Fprintf(w, "%s\t%s\t%s %s\t%s\n", m.name, m.file, m.pkg, m.test, m.needs)
	}
	return w.Flush()
}

// copyRepository copies the files that git knows, or would add, to dir.
func copyRepository(dir string) error {
	out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		data, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // deleted and not yet committed
		}
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// mutate is the file's text with the bug in it.
func (m *mutation) mutate(text []byte) ([]byte, error) {
	if n := bytes.Count(text, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s has the text %d times, not once:\n%s", m.file, n, m.old)
	}
	return bytes.Replace(text, []byte(m.old), []byte(m.new), 1), nil
}

// A test that a bug makes hang is ended after hangTimeout; any other has testTimeout.
const (
	hangTimeout = 20 * time.Second
	testTimeout = 4 * time.Minute
)

// kill plants the bug in the copy at dir, runs the test, and takes the bug out again. The error
// says why the bug is not found.
func (m *mutation) kill(dir string) error {
	name := filepath.Join(dir, m.file)
	sound, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	broken, err := m.mutate(sound)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, broken, 0o644); err != nil {
		return err
	}
	defer os.WriteFile(name, sound, 0o644)
	timeout := testTimeout
	if m.hangs {
		timeout = hangTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*testTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", fmt.Sprintf("-short=%v", !m.long), "-timeout",
		timeout.String(), "-run", m.pattern(), m.pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TANDEM_CACHE="+filepath.Join(dir, "cache"))
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return fmt.Errorf("the test passes, or is skipped\n%s", tail(out))
	case !m.failed(string(out)):
		return fmt.Errorf("something else fails\n%s", tail(out))
	}
	return nil
}

// tail is the end of what a test printed.
func tail(out []byte) []byte { return out[max(0, len(out)-1000):] }

// pattern is the test's name as go test's -run takes it.
func (m *mutation) pattern() string {
	parts := strings.Split(m.test, "/")
	for i, p := range parts {
		parts[i] = "^(" + p + ")$"
	}
	return strings.Join(parts, "/")
}

// failed tells whether the output of go test says that the very test failed, by itself, because it
// did not end, or because it broke the process.
func (m *mutation) failed(out string) bool {
	if m.crashes && regexp.MustCompile(`(?m)^=== RUN   `+m.test+`$`).MatchString(out) &&
		regexp.MustCompile(`(?m)^(signal|panic): `).MatchString(out) {
		return true
	}
	hung := strings.Contains(out, "panic: test timed out")
	return regexp.MustCompile(`(?m)^\s*--- FAIL: `+m.test+`(/| \()`).MatchString(out) || hung &&
		regexp.MustCompile(`(?m)^\s*`+m.test+`(/.*)? \(`).MatchString(out)
}
