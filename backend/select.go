package backend

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// EnvBackend is the environment variable that Open reads when it is asked for no backend in
// particular.
const EnvBackend = "TANDEM_BACKEND"

// A Spec is a parsed choice of backend: "auto", "opencl", "cuda:1" or "opencl:gfx90a".
type Spec struct {
	Driver string // "auto" or a driver's name
	Device string // an index, a part of a name, or "" for the driver's best
}

// ParseSpec reads s; "" stands for the environment variable TANDEM_BACKEND, and for auto where that
// is empty too. The error matches ErrNoDevice.
func ParseSpec(s string) (Spec, error) {
	from := ""
	if s == "" {
		s, from = os.Getenv(EnvBackend), " (from "+EnvBackend+")"
	}
	if s == "" {
		return Spec{Driver: "auto"}, nil
	}
	driver, device, named := strings.Cut(s, ":")
	spec := Spec{Driver: strings.ToLower(driver), Device: device}
	switch {
	case spec.Driver == "auto" && named:
		return Spec{}, specError("backend %q%s: auto takes no device", s, from)
	case named && device == "":
		return Spec{}, specError("backend %q%s: no device after the colon; give an index or a part of a name, as in "+
			"opencl:0 or opencl:pocl", s, from)
	case spec.Driver == "auto" || Lookup(spec.Driver) != nil:
	case slices.Contains(folders, spec.Driver):
		return Spec{}, specError("backend %q%s: the program does not have this driver; it needs\n\t"+
			"import _ \"github.com/tandem-gpu/tandem/backend/%s\"", s, from, spec.Driver)
	default:
		hint := ""
		if meant := meanings[spec.Driver]; meant != "" {
			hint = " (did you mean " + meant + "?)"
		}
		return Spec{}, specError("backend %q%s: unknown driver%s; there are %s", s, from, hint,
			strings.Join(append([]string{"auto"}, Names()...), ", "))
	}
	return spec, nil
}

// meanings are what to ask for in place of what is often asked for.
var meanings = map[string]string{
	"gpu": "auto", "nvidia": "cuda", "amd": "opencl:amd", "rocm": "opencl:amd", "intel": "opencl:intel",
	"pocl": "opencl:pocl", "host": "cpu",
}

func specError(format string, v ...any) error {
	return &Error{Op: "backend.Open", Err: ErrNoDevice, Detail: fmt.Sprintf(format, v...)}
}

// String is the spec as ParseSpec reads it.
func (s Spec) String() string {
	if s.Device == "" {
		return s.Driver
	}
	return s.Driver + ":" + s.Device
}

// Open opens the device that spec names: a driver ("cuda", "opencl", "cpu", "cudasim"), with an
// optional device by index ("cuda:1") or by a part of its name, platform, architecture, vendor or
// version in any case ("opencl:gfx90a", "opencl:pocl"). "" takes TANDEM_BACKEND, and "auto", or
// nothing anywhere, the first that opens of: a CUDA GPU, an OpenCL GPU (AMD first), the CPU device.
// A named choice never falls back: it opens, or the error, which matches ErrNoDevice, says why.
func Open(spec string) (Device, error) {
	s, err := ParseSpec(spec)
	if err != nil {
		return nil, err
	}
	if s.Driver != "auto" {
		info, err := pick(s)
		if err != nil {
			return nil, err
		}
		return Lookup(s.Driver).Open(info.Index)
	}
	candidates, failures := autoCandidates()
	for _, c := range candidates {
		d, err := Lookup(c.Driver).Open(c.Index)
		if err == nil {
			return d, nil
		}
		failures = append(failures, fmt.Errorf("%s:%d (%s): %w", c.Driver, c.Index, c.Name, err))
	}
	return nil, autoError(failures)
}

func autoError(failures []error) error {
	return &Error{
		Op: "backend.Open", Err: ErrNoDevice,
		Detail: "auto found nothing that opens; a program that does not import linalg must import a driver, such as " +
			"backend/cpu\n" + joinErrors(failures),
	}
}

func joinErrors(errs []error) string {
	if err := errors.Join(errs...); err != nil {
		return err.Error()
	}
	return "no driver is registered"
}

// folders are the drivers beside this package, and autoOrder is where auto looks: the simulated
// device is never chosen by itself, and a driver made elsewhere only by name.
var (
	folders   = []string{"cuda", "opencl", "cpu", "cudasim"}
	autoOrder = folders[:3]
)

// autoCandidates lists the devices that auto would open, best first, and why drivers have none.
func autoCandidates() (candidates []Info, failures []error) {
	for _, name := range autoOrder {
		d := Lookup(name)
		if d == nil {
			continue
		}
		infos, err := d.Devices()
		if err != nil {
			failures = append(failures, err)
			continue
		}
		for _, info := range ranked(infos) {
			if info.GPU || name == "cpu" {
				candidates = append(candidates, info)
			}
		}
	}
	return candidates, failures
}

// ranked orders the devices of one driver by preference: GPUs first, of these AMD's first in
// OpenCL, then as listed.
func ranked(infos []Info) []Info {
	rank := func(i Info) int {
		switch {
		case !i.GPU:
			return 2
		case i.Driver == "opencl" && !isAMD(i):
			return 1
		}
		return 0
	}
	r := slices.Clone(infos)
	slices.SortStableFunc(r, func(a, b Info) int { return rank(a) - rank(b) })
	return r
}

func isAMD(i Info) bool {
	v := strings.ToLower(i.Vendor)
	return strings.Contains(v, "amd") || strings.Contains(v, "advanced micro devices")
}

// pick finds the device of one driver that a spec means.
func pick(s Spec) (Info, error) {
	infos, err := Lookup(s.Driver).Devices()
	if err != nil {
		return Info{}, err
	}
	if len(infos) == 0 {
		return Info{}, specError("backend %q: the driver lists no devices", s)
	}
	if s.Device == "" {
		return ranked(infos)[0], nil
	}
	if i, err := strconv.Atoi(s.Device); err == nil {
		if i < 0 || i >= len(infos) {
			return Info{}, specError("backend %q: there are only the devices\n%s", s, listing(infos))
		}
		return infos[i], nil
	}
	want := strings.ToLower(s.Device)
	for _, info := range ranked(infos) {
		for _, name := range []string{info.Name, info.Platform, info.Arch, info.Vendor, info.Version} {
			if strings.Contains(strings.ToLower(name), want) {
				return info, nil
			}
		}
	}
	return Info{}, specError("backend %q: no device has %q in its name, platform, architecture, vendor or version; "+
		"there are\n%s", s, s.Device, listing(infos))
}

func listing(infos []Info) string {
	var b strings.Builder
	for _, i := range infos {
		fmt.Fprintf(&b, "  %s:%d  %s (%s, %s)\n", i.Driver, i.Index, i.Name, i.Platform, i.Arch)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// An Explanation says which device a spec means and what became of every driver.
type Explanation struct {
	Spec    Spec           // what was asked for
	Chosen  *Info          // what Open would try first; nil if Err is set
	Err     error          // why nothing is chosen
	Drivers []DriverReport // every registered driver, sorted by name
}

// A DriverReport is what one driver has to offer.
type DriverReport struct {
	Name    string
	Devices []Info
	Err     error // why there are no devices
}

// Explain asks every driver for its devices and says what Open(spec) would try first, and why the
// others were not chosen. It opens nothing.
func Explain(spec string) Explanation {
	var e Explanation
	for _, d := range Drivers() {
		r := DriverReport{Name: d.Name()}
		r.Devices, r.Err = d.Devices()
		e.Drivers = append(e.Drivers, r)
	}
	if e.Spec, e.Err = ParseSpec(spec); e.Err != nil {
		return e
	}
	if e.Spec.Driver != "auto" {
		info, err := pick(e.Spec)
		if e.Err = err; err == nil {
			e.Chosen = &info
		}
		return e
	}
	candidates, failures := autoCandidates()
	if len(candidates) == 0 {
		e.Err = autoError(failures)
		return e
	}
	e.Chosen = &candidates[0]
	return e
}

// Why says why the device was chosen or passed over.
func (e *Explanation) Why(i Info) string {
	if c := e.Chosen; c != nil && c.Driver == i.Driver && c.Index == i.Index {
		return "chosen by " + e.Spec.String()
	}
	switch {
	case e.Spec.Driver != "auto":
		return "not asked for"
	case !slices.Contains(autoOrder, i.Driver):
		return "only when asked for"
	case i.Driver != "cpu" && !i.GPU:
		return "not a GPU; only when asked for"
	}
	return "a device before it was chosen"
}

// String is the explanation as text, a line for each device and each driver without any.
func (e *Explanation) String() string {
	var b strings.Builder
	for _, d := range e.Drivers {
		if d.Err != nil {
			fmt.Fprintf(&b, "%s: %v\n", d.Name, d.Err)
		}
		for _, i := range d.Devices {
			fmt.Fprintf(&b, "%s:%d  %s (%s, %s): %s\n", i.Driver, i.Index, i.Name, i.Platform, i.Arch, e.Why(i))
		}
	}
	if e.Err != nil {
		fmt.Fprintf(&b, "%v\n", e.Err)
	}
	return b.String()
}
