package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// tableOf is a comment in a page that asks for a table, and the table: the report, and a regular
// expression for its problems.
var tableOf = regexp.MustCompile(`(?m)^<!-- (\S+): (.*) -->\n\n(?:\|.*\n)*\n?`)

// The tables of docs/performance.md are those of the reports. -update writes them.
func TestPerformancePage(t *testing.T) {
	const page = "../docs/performance.md"
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	have = bytes.ReplaceAll(have, []byte("\r\n"), []byte("\n"))
	tables := 0
	want := tableOf.ReplaceAllFunc(have, func(text []byte) []byte {
		tables++
		m := tableOf.FindSubmatch(text)
		f, err := os.Open(filepath.Join("results", string(m[1])))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := ReadReport(f)
		if err != nil {
			t.Fatal(err)
		}
		comment, _, _ := bytes.Cut(text, []byte("\n"))
		return []byte(string(comment) + "\n\n" + times(r, regexp.MustCompile("^(?:"+string(m[2])+")$")) + "\n")
	})
	if tables == 0 {
		t.Error("the page asks for no table")
	}
	switch {
	case bytes.Equal(have, want):
	case *update:
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has other tables than the reports: go test ./bench -run PerformancePage -update", page)
	}
}

// times is a table of median times. Those of the types of one problem stand in one cell.
func times(r *Report, problems *regexp.Regexp) string {
	var rows, columns, types []string
	cells := map[[2]string][]string{}
	once := func(list *[]string, s string) {
		if !slices.Contains(*list, s) {
			*list = append(*list, s)
		}
	}
	for _, row := range slices.Concat(r.Products, r.Transposes, r.Functions) {
		typ, problem, _ := strings.Cut(row.Title(), " ")
		if !problems.MatchString(problem) {
			continue
		}
		once(&rows, problem)
		once(&types, typ)
		for _, e := range row.Entries {
			if e.Time == nil || e.Name == nameNaive || e.Name == nameTiled {
				continue
			}
			once(&columns, e.Name)
			at := [2]string{problem, e.Name}
			cells[at] = append(cells[at], formatTime(e.Time.Median))
		}
	}
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(append([]string{strings.Join(types, " / ")}, columns...))
	line(slices.Repeat([]string{"---"}, 1+len(columns)))
	for _, problem := range rows {
		list := []string{problem}
		for _, c := range columns {
			list = append(list, strings.Join(cells[[2]string{problem, c}], " / "))
		}
		line(list)
	}
	return b.String()
}
