package tuning

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/kernels"
)

// Env is the environment variable that names a file of tuning data to use in place of the one in
// the user's cache, or is "off".
const Env = "TANDEM_TUNE"

// format is the version of the structure of tuning files.
const format = 1

// maxFile is how long a tuning file may be in bytes: far above any that is written.
const maxFile = 64 << 20

// A Data is the content of a tuning file: what was measured on the devices of a machine.
type Data struct {
	Format  int      `json:"format"`
	Devices []Record `json:"devices"`
}

// A Record is what was measured on one device. It is used on exactly that device, with exactly that
// version of its driver.
type Record struct {
	Device DeviceID  `json:"device"`
	Date   time.Time `json:"date"`   // of the latest measurement
	Tandem string    `json:"tandem"` // version of the program that measured

	MatMul    []Tuned[kernels.MatMulParams]    `json:"matmul"`
	Transpose []Tuned[kernels.TransposeParams] `json:"transpose"`
	Crossover []Crossing                       `json:"crossover"`
}

// A DeviceID tells devices apart, and versions of their drivers. The fields are those of
// [backend.Info].
type DeviceID struct {
	Driver       string `json:"driver"`
	Platform     string `json:"platform"`
	Vendor       string `json:"vendor"`
	Name         string `json:"name"`
	Arch         string `json:"arch"`
	Version      string `json:"version"`
	ComputeUnits int    `json:"compute_units"`
}

// DeviceIDOf is the DeviceID of the device of info.
func DeviceIDOf(info *backend.Info) DeviceID {
	return DeviceID{info.Driver, info.Platform, info.Vendor, info.Name, info.Arch, info.Version, info.ComputeUnits}
}

// Tuned is the outcome of a search for the fastest parameters of one kernel, for one type and size.
type Tuned[P any] struct {
	Type    string     `json:"type"`    // "float32", "float64" or "int32"
	N       int        `json:"n"`       // all dimensions of the operands
	Params  P          `json:"params"`  // the fastest
	Seconds float64    `json:"seconds"` // that a run of these took, in the median
	Trials  []Trial[P] `json:"trials"`  // all that was measured, in its order
}

// used tells whether the device can run the parameters. Others are ignored.
func used[P params](w *Tuned[P], info *backend.Info) bool {
	t, err := element.ParseType(w.Type)
	return err == nil && w.Type == t.String() && w.N > 0 && w.Params.Runs(info, t)
}

// Ignored names the parameters that the device of info cannot run, by their kernel, type and size.
func (r *Record) Ignored(info *backend.Info) []string {
	return append(ignored("matmul", r.MatMul, info), ignored("transpose", r.Transpose, info)...)
}

func ignored[P params](kernel string, list []Tuned[P], info *backend.Info) (names []string) {
	for i := range list {
		if w := &list[i]; !used(w, info) {
			names = append(names, fmt.Sprintf("%s %s %d", kernel, w.Type, w.N))
		}
	}
	return names
}

// A Trial is one set of parameters that a search tried.
type Trial[P any] struct {
	Params  P         `json:"params"`
	Seconds []float64 `json:"seconds,omitempty"` // of a run, in each sample
	Note    string    `json:"note,omitempty"`    // why it was dropped
}

// A Crossing is the size from which products are not slower on the device than on the host.
type Crossing struct {
	Type   string         `json:"type"`
	Host   string         `json:"host"`            // HostName of the host that was compared with
	N      int            `json:"n,omitempty"`     // harmonic mean of m, n and k
	Never  bool           `json:"never,omitempty"` // there is no such size
	Points []CrossingPair `json:"points"`          // what was measured
}

// A CrossingPair is what a product of N by N by N took from host memory to host memory, in seconds,
// in the median.
type CrossingPair struct {
	N      int     `json:"n"`
	Device float64 `json:"device"`
	Host   float64 `json:"host"`
}

// fileName is the name of the file of the user's tuning data: what TANDEM_TUNE says, else tune.json
// in backend.CacheDir. It is "" where there is none: one of the variables is "off", or the user has
// no cache.
func fileName() string {
	switch name := os.Getenv(Env); name {
	case "":
	case "off":
		return ""
	default:
		return name
	}
	dir := backend.CacheDir()
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "tune.json")
}

// read reads a tuning file. One that is not there is empty. The error says what is wrong with the
// file as a whole; parameters that do not fit a device are ignored when they are looked up.
func read(name string) (*Data, error) {
	t := &Data{Format: format}
	if name == "" {
		return t, nil
	}
	data, err := readLimited(name)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	var found Data
	if err := json.Unmarshal(data, &found); err != nil {
		return nil, fmt.Errorf("%s is not tuning data: %w", name, err)
	}
	if found.Format != format {
		return nil, fmt.Errorf("%s has format %d of tuning data; this program reads format %d", name, found.Format,
			format)
	}
	return &found, nil
}

// readLimited reads a regular file that is not too large: a device or a pipe must not hold up a
// program that only looks for tuning data. In the cache only this user can have written it.
func readLimited(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", name)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has %d bytes: too many for tuning data", name, info.Size())
	}
	if os.Getenv(Env) == "" { // else the user has chosen the file
		if err := cmp.Or(diskcache.CheckOwned(filepath.Dir(name)), diskcache.CheckOwned(name)); err != nil {
			return nil, err
		}
	}
	var data []byte
	err = patiently(func() (err error) {
		data, err = os.ReadFile(name)
		return err
	})
	return data, err
}

// Keep adds what was measured to the user's tuning file, and makes the process use it.
func Keep(d *Record) error {
	file := fileName()
	if file == "" {
		return fmt.Errorf("there is no place to keep tuning data: name a file in %s", Env)
	}
	if target, err := filepath.EvalSymlinks(file); err == nil { // what a link names is replaced, not the link
		file = target
	}
	unlock, err := lockFile(file)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := read(file)
	if err != nil {
		return err
	}
	all.merge(d)
	if err := write(file, all); err != nil {
		return err
	}
	Reload()
	return nil
}

// CanKeep says why Keep could not add to the user's tuning file, as far as that can be seen before.
// It makes the file's folder.
func CanKeep() error {
	file := fileName()
	if _, err := read(file); err != nil {
		return err
	}
	unlock, err := lockFile(file)
	if err == nil {
		unlock()
	}
	return err
}

// keeping is held by the goroutine that adds to a file.
var keeping sync.Mutex

// lockFile waits until no other goroutine or process adds to a file: by a lock beside it, as the
// file itself is replaced. It makes the folder.
func lockFile(name string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	keeping.Lock()
	unlock = func() {
		f.Close()
		keeping.Unlock()
	}
	if err := lock(f); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// write writes a tuning file, whole or not at all, for the user's eyes alone.
func write(name string, t *Data) (err error) {
	data, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".tune-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = patiently(func() error { return os.Rename(f.Name(), name) })
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Find is what was measured on the device of info; nil if nothing was.
func (t *Data) Find(info *backend.Info) *Record {
	id := DeviceIDOf(info)
	i := slices.IndexFunc(t.Devices, func(r Record) bool { return r.Device == id })
	if i < 0 {
		return nil
	}
	return &t.Devices[i]
}

// merge takes over what d holds: a newer result takes the place of an older one for the same
// device, type and size.
func (t *Data) merge(d *Record) {
	same := func(r Record) bool { return r.Device == d.Device }
	if !slices.ContainsFunc(t.Devices, same) {
		t.Devices = append(t.Devices, Record{Device: d.Device})
	}
	old := &t.Devices[slices.IndexFunc(t.Devices, same)]
	old.Date, old.Tandem = d.Date, d.Tandem
	old.MatMul, old.Transpose = mergeTuned(old.MatMul, d.MatMul), mergeTuned(old.Transpose, d.Transpose)
	old.Crossover = replace(old.Crossover, d.Crossover, func(x, y Crossing) bool {
		return x.Type == y.Type && x.Host == y.Host
	})
}

func mergeTuned[P any](old, list []Tuned[P]) []Tuned[P] {
	return replace(old, list, func(x, y Tuned[P]) bool { return x.Type == y.Type && x.N == y.N })
}

// replace is list, and before it what is in old only.
func replace[E any](old, list []E, same func(x, y E) bool) []E {
	merged := []E{}
	for _, x := range old {
		if !slices.ContainsFunc(list, func(y E) bool { return same(x, y) }) {
			merged = append(merged, x)
		}
	}
	return append(merged, list...)
}
