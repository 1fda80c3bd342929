package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// What fails is printed with its output, a test that hung as well; of what passes the package's
// line alone; and at a tick what runs, without what waits for its parts.
func TestWatch(t *testing.T) {
	start := time.Now()
	c, tick := make(chan string), make(chan time.Time)
	var out strings.Builder
	done := make(chan bool)
	go func() {
		watch(&out, c, tick)
		close(done)
	}()
	send := func(action, pkg, test, output string) {
		line, err := json.Marshal(event{start, action, pkg, test, output})
		if err != nil {
			t.Fatal(err)
		}
		c <- string(line)
	}
	tick <- start
	send("start", "a", "", "")
	send("run", "a", "TestGood", "")
	send("output", "a", "TestGood", "quiet\n")
	send("pass", "a", "TestGood", "")
	send("run", "a", "TestBad", "")
	send("run", "a", "TestBad/part", "")
	send("output", "a", "TestBad/part", "=== RUN   TestBad/part\n")
	send("output", "a", "TestBad/part", "why\n")
	tick <- start.Add(40 * time.Second)
	send("fail", "a", "TestBad/part", "")
	send("output", "a", "TestBad", "--- FAIL: TestBad\n")
	send("fail", "a", "TestBad", "")
	send("run", "a", "TestHang", "")
	send("output", "a", "TestHang", "panic: test timed out\n")
	send("output", "a", "", "FAIL\ta\t2s\n")
	send("fail", "a", "", "")
	send("start", "b", "", "")
	send("output", "b", "", "noise\n")
	send("output", "b", "", "ok  \tb\t1s\n")
	send("pass", "b", "", "")
	send("build-output", "", "", "c.go:1: undefined\n")
	c <- "not JSON\n"
	close(c)
	<-done
	const want = "...  \tbuilding\n...  \ta TestBad/part, since 40s\nwhy\n--- FAIL: TestBad\nFAIL\ta\t2s\n" +
		"panic: test timed out\nok  \tb\t1s\nc.go:1: undefined\nnot JSON\n"
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", &out, want)
	}
}
