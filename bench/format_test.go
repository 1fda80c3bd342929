package bench

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "make the tables and plots of results, and docs/performance.md's, anew")

func entry(name string, seconds ...float64) Entry {
	return Entry{Name: name, Status: OK, Runs: 3, Seconds: seconds}
}

// What is written is read again, and is what benchstat reads.
func TestLines(t *testing.T) {
	r := Report{Rows: []Row{
		{
			Group: "blas", Name: "x' times a column", Type: "float32", Size: "20x50", Work: 2e9, Unit: gigaflops,
			Entries: []Entry{entry(nameFast, 0.5, 0.25), entry("copy on the device", 1)},
		},
		{
			Group: groupPeaks, Name: nameMultiplyAdd, Type: "int32", Size: "vectors of 8", Work: 1e9, Unit: "Gop/s",
			Entries: []Entry{{Name: "gonum", Peer: true, Status: Wrong, Note: "3 of 9"}, entry(nameFast, 0.125)},
		},
	}}
	var b bytes.Buffer
	for i := range r.Rows {
		if err := r.Rows[i].writeLines(&b); err != nil {
			t.Fatal(err)
		}
	}
	const want = `BenchmarkBlas/x'_times_a_column/type=float32/size=20x50/by=fast 3 500000000.00 ns/op 4 GFLOP/s
BenchmarkBlas/x'_times_a_column/type=float32/size=20x50/by=fast 3 250000000.00 ns/op 8 GFLOP/s
BenchmarkBlas/x'_times_a_column/type=float32/size=20x50/by=copy_on_the_device 3 1000000000.00 ns/op 2 GFLOP/s
# int32 multiply-adds vectors of 8, gonum: wrong: 3 of 9
BenchmarkPeaks/multiply-adds/type=int32/size=vectors_of_8/by=fast 3 125000000.00 ns/op 8 Gop/s
`
	if b.String() != want {
		t.Errorf("it writes\n%s, want\n%s", &b, want)
	}
	read, err := Read(strings.NewReader("# of a day\ncpu: Z 80\n" + want))
	if err != nil {
		t.Fatal(err)
	}
	r.Rows[1].Entries = r.Rows[1].Entries[1:]
	if !reflect.DeepEqual(read.Rows, r.Rows) || read.Config["cpu"] != "Z 80" || len(read.Config) != 1 {
		t.Errorf("%+v, want %+v", read, r)
	}
	for _, bad := range []string{"BenchmarkX 1 2 ns/op", "BenchmarkX 1 2 ns/op 3 GB/s"} {
		if _, err := Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is a sample", bad)
		}
	}
}

// The table compares a row's contenders with the fast one, and with the peaks.
func TestTable(t *testing.T) {
	product := Row{Group: "products", Name: "product", Type: "float32", Size: "8x8x8", Work: 1e9, Unit: gigaflops}
	moved := Row{Group: "transposes", Name: "transpose", Type: "int32", Size: "8x8", Work: 1e9, Unit: gigabytes}
	peak := product
	peak.Group, peak.Name, peak.Entries = groupPeaks, nameMultiplyAdd, []Entry{entry(nameFast, 0.25, 0.05, 1)}
	product.Entries = []Entry{
		entry("naive", 1), entry(nameFast, 0.1, 0.2, 0.1), entry("OpenBLAS", 0.12),
		{Name: "CLBlast", Status: Wrong},
		{Name: "gonum", Status: Skipped},
	}
	moved.Entries = []Entry{entry(nameFast, 0.2), entry(nameMemcpy, 0.1)}
	failed := Row{Type: "int32", Name: "add", Size: "9x9", Entries: []Entry{{Name: nameFast, Status: Failed}}}
	r := Report{Rows: []Row{peak, product, moved, failed}}
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	const want = tableHead + `| float32 multiply-adds 8x8x8 | 250 ms | 4.00 GFLOP/s | - |  |
| float32 product 8x8x8 | 100 ms | 10.0 GFLOP/s | 50 % | naive 10, OpenBLAS 1.2, CLBlast wrong |
| int32 transpose 8x8 | 200 ms | 5.00 GB/s | 50 % | memcpy on all cores 0.5 |
| int32 add 9x9 | - | - | - | |
`
	if b.String() != want {
		t.Errorf("it writes\n%s, want\n%s", &b, want)
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{formatRate(1234.5), "1234"},
		{formatRate(99.94), "99.9"},
		{formatRate(1.234), "1.23"},
		{formatRate(0.01234), "0.0123"},
		{formatTime(2.5e-7), "250 ns"},
		{formatTime(1.5e-5), "15 µs"},
		{formatTime(0.02), "20 ms"},
		{formatTime(2), "2 s"},
		{formatPercent(0), "-"},
		{formatPercent(0.5), "50 %"},
		{formatPercent(0.00123), "0.12 %"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// A legend in a font of wider letters than those measured is not cut off.
func TestLegendInAnotherFont(t *testing.T) {
	p := newPlot("title", "x", "y")
	const name = "Tandem linalg.MatMul"
	p.Legend.Add(name)
	var b bytes.Buffer
	if err := writeSVG(p, &b); err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`<text x="([0-9.]+)"[^<]*>` + name).FindSubmatch(b.Bytes())
	if m == nil || strings.Count(b.String(), "Liberation Serif,") != strings.Count(b.String(), "font-family:") {
		t.Fatalf("no such text, or one without other fonts:\n%s", &b)
	}
	x, err := strconv.ParseFloat(string(m[1]), 64)
	if right := x + 1.3*p.Legend.TextStyle.Width(name).Points(); err != nil || right > 720 {
		t.Errorf("%v, and letters of DejaVu end at %.0f of 720 points", err, right)
	}
}

func readFile(t *testing.T, name string) *Report {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := Read(f)
	if err != nil || len(r.Rows) == 0 {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// The tables and plots in results are those of the reports beside them.
func TestCommitted(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("a processor that contracts a*b + c may place a line elsewhere in the last digit")
	}
	names, err := filepath.Glob("results/*/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal("no reports:", err)
	}
	for _, file := range names {
		r, folder := readFile(t, file), strings.TrimSuffix(file, ".txt")
		checkCommitted(t, folder+".md", func(w io.Writer) error {
			fmt.Fprintf(w, "%s,\n%s threads, %s\n\n", strings.Replace(r.caption(), ", beside", ",\nbeside", 1),
				r.Config["gomaxprocs"], r.Config["instructions"])
			return r.WriteTable(w)
		})
		if _, err := os.Stat(folder); err != nil {
			continue // a second measurement, without plots
		}
		plots, err := r.Plots()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, p := range plots {
			checkCommitted(t, filepath.Join(folder, p.File), p.Write)
		}
	}
}

func checkCommitted(t *testing.T, name string, write func(w io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if have = bytes.ReplaceAll(have, []byte("\r\n"), []byte("\n")); err != nil || !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s is not that of the report beside it (%v): go test ./bench -run Committed -update", name, err)
	}
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
		comment, _, _ := bytes.Cut(text, []byte("\n"))
		r := readFile(t, filepath.Join("results", string(m[1])))
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
	for _, row := range r.Rows {
		problem := row.Name + " " + row.Size
		if !problems.MatchString(problem) {
			continue
		}
		once(&rows, problem)
		once(&types, row.Type)
		for _, e := range row.Entries {
			if e.Name == nameNaive || e.Name == nameTiled || e.Name == nameInto {
				continue
			}
			once(&columns, e.Name)
			at := [2]string{problem, e.Name}
			cells[at] = append(cells[at], formatTime(e.Median()))
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
