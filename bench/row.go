package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-gpu/tandem/bench/internal/measure"
)

// A Report is what a run of the benchmark found.
type Report struct {
	Config map[string]string `json:"config"` // the machine, the device and the program
	Rows   []Row             `json:"rows"`
	Notes  []string          `json:"notes"` // what was left out, and why; the machine's state
}

// A Row compares contenders on one problem.
type Row struct {
	Group   string  `json:"group"` // of Groups, or "peaks"
	Name    string  `json:"name"`  // "product", "sum of rows"
	Type    string  `json:"type"`
	Size    string  `json:"size"` // "1024x1024x1024": of a product rows of A, columns of A, columns of B
	Work    float64 `json:"work"` // operations, bytes or elements of a run
	Unit    string  `json:"unit"` // 10^9 of Work a second
	Entries []Entry `json:"entries"`
}

// An Entry is one contender of a Row.
type Entry struct {
	Name    string    `json:"name"`
	Peer    bool      `json:"peer"` // not of Tandem
	Status  string    `json:"status"`
	Note    string    `json:"note,omitempty"` // why it is not OK
	Differ  float64   `json:"differ"`         // the fraction of elements whose bits are not the contract's
	Runs    int       `json:"runs"`           // of a sample
	Seconds []float64 `json:"seconds"`        // of one run: every sample, in the order of the rounds
}

// The states of an Entry.
const (
	OK      = "ok"
	Wrong   = "wrong"   // the result is not what it must be: there are no samples
	Failed  = "failed"  // an error
	Skipped = "skipped" // it would take too long, or was interrupted
)

// The names of Tandem's contenders, and of the copies that transposes are compared with.
const (
	nameNaive  = "naive"
	nameTiled  = "tiled"
	nameFast   = "fast"
	nameHost   = "linalg.MatMul"
	nameInto   = "linalg.Gemm"
	nameCPU    = "cpu device"
	nameTwin   = "through OpenCL" // the same GPU
	nameEach   = "one by one"
	nameCopy   = "copy on the device"
	nameMemcpy = "memcpy on all cores"
)

// The units of rates.
const gigabytes, gigaflops, gigaelements = "GB/s", "GFLOP/s", "Gelem/s"

// The group, and the names, of what is measured to compare with.
const (
	groupPeaks      = "peaks"
	nameCopies      = "copies"
	nameMultiplyAdd = "multiply-adds"
)

// Title names the row: "float32 product 1024x1024x1024".
func (r *Row) Title() string { return strings.TrimSpace(r.Type + " " + r.Name + " " + r.Size) }

// Median is the time of a run in seconds; without samples it is NaN.
func (e *Entry) Median() float64 { return measure.Median(e.Seconds) }

// find is the entry of a name, if it has samples.
func (r *Row) find(name string) *Entry {
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Name == name && e.Status == OK {
			return e
		}
	}
	return nil
}

// main is the entry that the others are compared with: the fast one, or else the first.
func (r *Row) main() *Entry {
	if e := r.find(nameFast); e != nil {
		return e
	}
	if i := slices.IndexFunc(r.Entries, func(e Entry) bool { return e.Status == OK }); i >= 0 {
		return &r.Entries[i]
	}
	return nil
}

// rate is 10^9 of the row's work a second.
func (r *Row) rate(seconds float64) float64 { return r.Work / seconds / 1e9 }

// square is the n of matrices of n by n; 0 of others.
func (r *Row) square() int {
	var m, k, n int
	fmt.Sscanf(r.Size, "%dx%dx%d", &m, &k, &n)
	if m == k && (n == 0 || n == k) && !strings.HasPrefix(r.Name, "batch") {
		return m
	}
	return 0
}

// peak is the highest rate that was measured of multiply-adds in a type or, of any type, of copies;
// 0 where there is none.
func (r *Report) peak(name, typ string) (most float64) {
	for i := range r.Rows {
		p := &r.Rows[i]
		if p.Group != groupPeaks || p.Name != name || name == nameMultiplyAdd && p.Type != typ {
			continue
		}
		for _, e := range p.Entries {
			if e.Status == OK {
				most = max(most, p.rate(slices.Min(e.Seconds))) // as it is a ceiling
			}
		}
	}
	return most
}

// ofPeak is the main entry's rate as a fraction of the peak: that of multiply-adds for products,
// the row's best copy for what moves; 0 where there is none.
func (r *Report) ofPeak(row *Row) float64 {
	e, most := row.main(), 0.0
	switch {
	case e == nil || row.Group == groupPeaks:
		return 0
	case row.Unit == gigaflops || row.Unit == operations[int32]():
		most = r.peak(nameMultiplyAdd, row.Type)
	default:
		for _, name := range []string{nameCopy, nameMemcpy} {
			if c := row.find(name); c != nil {
				most = max(most, row.rate(c.Median()))
			}
		}
	}
	if most == 0 {
		return 0
	}
	return row.rate(e.Median()) / most
}

// Failures lists the contenders of Tandem whose results are wrong or that failed.
func (r *Report) Failures() (list []string) {
	for i := range r.Rows {
		for _, e := range r.Rows[i].Entries {
			if !e.Peer && (e.Status == Wrong || e.Status == Failed) {
				list = append(list, r.Rows[i].Title()+", "+e.Name+": "+e.Note)
			}
		}
	}
	return list
}
