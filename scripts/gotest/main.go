// Gotest runs go test, and says on the way what runs: nothing of "go test ./..." is seen for
// minutes, and a test that hangs has no name until its time is up.
//
//	go run ./scripts/gotest [arguments of go test]
//
// It prints the results of packages as they come, the output of what fails, and every half minute
// the tests that run. The exit code is that of go test.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const period = 30 * time.Second

func main() {
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
	tick := time.NewTicker(period)
	watch(os.Stdout, lines(out), tick.C)
	var exit *exec.ExitError
	switch err := cmd.Wait(); {
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

func lines(r io.Reader) <-chan string {
	c := make(chan string)
	go func() {
		defer close(c)
		b := bufio.NewReader(r)
		for {
			line, err := b.ReadString('\n')
			if line != "" {
				c <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return c
}

// An event is a line of go test -json: see "go doc test2json".
type event struct {
	Time                          time.Time
	Action, Package, Test, Output string
}

// A test is one that runs; a package is one without a name.
type test struct {
	pkg, name string
	since     time.Time
	output    []string
}

// watch prints what is worth reading of the lines of go test -json, until they end, and what runs
// at each tick.
func watch(w io.Writer, lines <-chan string, tick <-chan time.Time) {
	var running []*test
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return
			}
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				io.WriteString(w, line)
				continue
			}
			running = take(w, running, e)
		case now := <-tick:
			printRunning(w, running, now)
		}
	}
}

// take prints what is worth reading of e, and notes what begins and ends.
func take(w io.Writer, running []*test, e event) []*test {
	at := slices.IndexFunc(running, func(t *test) bool { return t.pkg == e.Package && t.name == e.Test })
	switch e.Action {
	case "start", "run":
		return append(running, &test{pkg: e.Package, name: e.Test, since: e.Time})
	case "build-output":
		io.WriteString(w, e.Output)
	case "output":
		if e.Test == "" && isResult(e.Output) || at < 0 {
			io.WriteString(w, e.Output)
		} else if !strings.HasPrefix(e.Output, "=== ") {
			running[at].output = append(running[at].output, e.Output)
		}
	case "fail", "pass", "skip": // a package that ends by a panic leaves tests without an end
		ended := func(t *test) bool { return t.pkg == e.Package && (t.name == e.Test || e.Test == "") }
		for _, t := range running {
			if e.Action == "fail" && ended(t) {
				io.WriteString(w, strings.Join(t.output, ""))
			}
		}
		return slices.DeleteFunc(running, ended)
	}
	return running
}

// isResult tells whether a line of a package's output is what go test prints of it in any case.
func isResult(line string) bool {
	return strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "FAIL\t") || strings.HasPrefix(line, "?   \t")
}

// most is how many tests of a package are named at a time.
const most = 3

// printRunning names tests that run, of each package the first without a subtest that runs too.
func printRunning(w io.Writer, running []*test, now time.Time) {
	if len(running) == 0 {
		fmt.Fprintln(w, "...  \tbuilding")
	}
	named := map[string]int{}
	for _, t := range running {
		if named[t.pkg] < most && !slices.ContainsFunc(running, t.holds) {
			named[t.pkg]++
			fmt.Fprintf(w, "...  \t%s %s, since %.0fs\n", t.pkg, t.name, now.Sub(t.since).Seconds())
		}
	}
}

// holds tells whether o is a part of t.
func (t *test) holds(o *test) bool {
	return t.pkg == o.pkg && t != o && (t.name == "" || strings.HasPrefix(o.name, t.name+"/"))
}
