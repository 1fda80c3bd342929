package bench

import (
	"time"

	"github.com/tandem-gpu/tandem/backend"
)

// A Report is what a run of the benchmark found. As JSON it is the file that `tandem bench -o`
// writes.
type Report struct {
	Format  int       `json:"format"`  // of this structure; 1
	Command []string  `json:"command"` // the exact command line
	Date    time.Time `json:"date"`    // of the beginning
	Seconds float64   `json:"seconds"` // that the run took
	Version string    `json:"version"` // of the program
	Machine Machine   `json:"machine"`
	Method  Method    `json:"method"`

	Device backend.Info  `json:"device"`               // that was measured
	Tuning string        `json:"tuning"`               // where the parameters of the fast kernels come from
	CPU    *backend.Info `json:"cpu_device,omitempty"` // that it is compared with; absent where it is the device itself
	Peers  []PeerInfo    `json:"peers"`

	Peaks       []Peak      `json:"peaks"`
	FirstCalls  []FirstCall `json:"first_calls"`
	SmallCalls  []SmallCall `json:"small_calls"`
	Products    []Row       `json:"products"`
	Transposes  []Row       `json:"transposes"`
	Functions   []Row       `json:"functions,omitempty"`
	Scaling     []Curve     `json:"scaling"`
	Notes       []string    `json:"notes"` // what was left out, and why
	LoadAtStart []float64   `json:"load_average_at_start"`
	LoadAtEnd   []float64   `json:"load_average_at_end"`
	MHzAtStart  float64     `json:"mhz_at_start,omitempty"` // the mean of the cores; absent where it is not known
	MHzAtEnd    float64     `json:"mhz_at_end,omitempty"`
	Stolen      float64     `json:"stolen,omitempty"` // the fraction of the time that the machine's host gave to others
	Fallen      []string    `json:"fallen,omitempty"` // of CompareWith: what is slower than in an earlier report

	failed []string // of scaling, where no entry keeps it
}

// Machine is the computer.
type Machine struct {
	OS             string `json:"os"`
	Arch           string `json:"arch"`
	Kernel         string `json:"kernel"` // of the operating system; "" where it is not known
	CPU            string `json:"cpu"`    // model
	Cores          int    `json:"cores"`  // that the process may use
	GoMaxProcs     int    `json:"gomaxprocs"`
	InstructionSet string `json:"instruction_set"` // of the Go implementation
	Go             string `json:"go"`              // version
}

// Method is how the samples were taken.
type Method struct {
	Rounds        int     `json:"rounds"`         // samples of a contender
	SampleSeconds float64 `json:"sample_seconds"` // that a sample lasts at least
	RestSeconds   float64 `json:"rest_seconds"`   // before each sample
	RunLimit      float64 `json:"run_limit"`      // seconds: a contender with a longer run is left out
	Quick         bool    `json:"quick"`
}

// PeerInfo is another library.
type PeerInfo struct {
	Name   string `json:"name"`
	Loaded bool   `json:"loaded"`
	Detail string `json:"detail"` // version, core type, threads; or why it is not loaded
}

// A Peak is the highest rate that was measured of one kind of operation.
type Peak struct {
	What    string    `json:"what"` // "float32", "float64", "int32" for multiply-adds, "copy"
	Unit    string    `json:"unit"` // "GFLOP/s", "Gop/s", "GB/s"
	How     string    `json:"how"`  // what was run; or why there is no figure
	Rate    float64   `json:"rate"` // of the fastest sample, as it is a ceiling; 0: there is no figure
	Seconds []float64 `json:"seconds"`
	Work    float64   `json:"work"` // operations or bytes of a run
}

// A FirstCall is what the first calls of linalg.MatMul on a new session cost, from host memory to
// host memory.
type FirstCall struct {
	Type     string        `json:"type"`
	N        int           `json:"n"` // product of n by n by n
	Sessions []SessionCall `json:"sessions"`
}

// A SessionCall is one session, in seconds. The first of the process also loads the driver; what is
// cached on disk is as it was.
type SessionCall struct {
	Open   float64 `json:"open"`
	First  float64 `json:"first"`
	Second float64 `json:"second"`
	Third  float64 `json:"third"`
}

// A SmallCall is what a device-resident product that is too small to hide its cost takes for each
// call, in seconds.
type SmallCall struct {
	Type      string    `json:"type"`
	N         int       `json:"n"`
	Calls     int       `json:"calls"`     // of each sample
	Enqueue   []float64 `json:"enqueue"`   // until Mul returns
	Pipelined []float64 `json:"pipelined"` // until all are done, waited for once
	Waited    []float64 `json:"waited"`    // each waited for
	// by the device's own clock, from an event before to one after a call, at the median of the
	// calls
	Device      []float64 `json:"device"`
	Overhead    float64   `json:"overhead"` // median of Waited less median of Device
	AllocsEach  float64   `json:"allocations_each"`
	BytesEach   float64   `json:"allocated_bytes_each"`
	Explanation string    `json:"explanation"`
}

// The states of an Entry.
const (
	OK      = "ok"
	Wrong   = "wrong"   // the result is not what it must be: there are no figures
	Failed  = "failed"  // an error
	Skipped = "skipped" // it would take too long, or does not apply
)

// A Row compares contenders on one problem.
type Row struct {
	Experiment string  `json:"experiment"` // "product", "transpose", "add" or "scale"; a function's name
	Type       string  `json:"type"`
	M          int     `json:"m"`               // rows of A
	N          int     `json:"n"`               // columns of B; of A for a transpose
	K          int     `json:"k"`               // columns of A; 0 for what is no product
	Batch      int     `json:"batch,omitempty"` // number of products, where it is a batch
	Work       float64 `json:"work"`
	Unit       string  `json:"unit"` // of Rate: 10^9 of Work a second
	Entries    []Entry `json:"entries"`
}

// An Entry is one contender of a Row.
type Entry struct {
	Name    string    `json:"name"`
	Peer    bool      `json:"peer"`  // not of Tandem
	Place   string    `json:"place"` // "device": operands and result stay there; "host"
	Status  string    `json:"status"`
	Note    string    `json:"note,omitempty"` // why it is not OK
	Check   *Check    `json:"check,omitempty"`
	Runs    int       `json:"runs"`    // of a sample
	Seconds []float64 `json:"seconds"` // of one run: every sample, in the order of the rounds
	Time    *Summary  `json:"time,omitempty"`
	Rate    float64   `json:"rate"` // at the median
	// Rate as a fraction of the measured peak: multiply-adds for products, the row's best copy for
	// transposes
	OfPeak float64 `json:"of_peak,omitempty"`
}

// A Check compares the result of a contender with the contract's.
type Check struct {
	Elements int     `json:"elements"` // that were compared
	Wrong    int     `json:"wrong"`    // not the contract's bits; for a peer, farther off than rounding explains
	Differ   int     `json:"differ"`   // other bits than the contract's
	OfBound  float64 `json:"of_bound"` // for a peer: the largest error, as a fraction of what rounding can explain
}

// Failures lists the contenders of Tandem whose results are wrong or that failed.
func (r *Report) Failures() (list []string) {
	for _, rows := range [][]Row{r.Products, r.Transposes, r.Functions} {
		for i := range rows {
			for _, e := range rows[i].Entries {
				if !e.Peer && (e.Status == Wrong || e.Status == Failed) {
					list = append(list, rows[i].Title()+", "+e.Name+": "+e.Note)
				}
			}
		}
	}
	return append(list, r.failed...)
}

// find is the entry of a name, if it has figures.
func (r *Row) find(name string) *Entry {
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Name == name && e.Status == OK {
			return e
		}
	}
	return nil
}
