package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The reports in results are short: of all samples the fastest, the median and the slowest, and a
// line for each measurement. -update makes those of new ones so.
func TestCommittedReports(t *testing.T) {
	for _, file := range reports(t) {
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		have = bytes.ReplaceAll(have, []byte("\r\n"), []byte("\n"))
		want := short(t, have)
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
			have = want
		}
		if !bytes.Equal(have, want) {
			t.Errorf("%s is not short: go test ./bench -run Committed -update", file)
		}
	}
}

// reports is the names of all reports in results.
func reports(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("results/*/*.json")
	if err != nil || len(names) == 0 {
		t.Fatal("no reports:", err)
	}
	return names
}

var samples = regexp.MustCompile(`("(?:seconds|enqueue|pipelined|waited|device)": )(\[[^][{}]*\])`)

// short is a report in short.
func short(t *testing.T, report []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, report, "", " "); err != nil {
		t.Fatal(err)
	}
	return samples.ReplaceAllFunc(lines(b.String()), func(text []byte) []byte {
		m := samples.FindSubmatch(text)
		var list []float64
		if err := json.Unmarshal(m[2], &list); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if len(list) <= 3 {
			return text
		}
		s := Summarize(list)
		three, err := json.Marshal([]float64{s.Min, s.Median, s.Max})
		if err != nil {
			t.Fatal(err)
		}
		return append(m[1], three...)
	})
}

// lines joins the lines of indented JSON, but for those of the report's fields, of what these
// consist of, and of the measurements of a row.
func lines(text string) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		s := strings.TrimSpace(line)
		depth := strings.Index(line, s)
		closes := s[0] == '}' || s[0] == ']'
		if depth == 1 || depth == 2 && !closes || depth == 4 && s[0] == '{' {
			b.WriteString("\n" + line[:depth])
		}
		b.WriteString(s)
	}
	return append(b.Bytes(), '\n')
}
