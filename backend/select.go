package backend

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// EnvBackend is the environment variable that Open reads when it is asked for no backend in
// particular.
const EnvBackend = "TANDEM_BACKEND"

// A Spec is a parsed choice of backend: "auto", "opencl", "cuda:1", "opencl:gfx90a" or "gpus".
type Spec struct {
	Driver string // "auto", "gpus" or a driver's name
	Device string // an index, a part of a name, or "" for the driver's best
}

// ParseSpec reads s, one choice or several joined by plus signs ("cuda:0+cuda:1+cpu"); "" stands
// for the environment variable TANDEM_BACKEND, and for auto where that is empty too. The error
// matches ErrNoDevice.
func ParseSpec(s string) ([]Spec, error) {
	from := ""
	if s == "" {
		s, from = os.Getenv(EnvBackend), " (from "+EnvBackend+")"
	}
	if s == "" {
		return []Spec{{Driver: "auto"}}, nil
	}
	var specs []Spec
	for one := range strings.SplitSeq(s, "+") {
		if one == "" {
			return nil, specError("backend %q%s: nothing at one side of a plus sign; give devices as in cuda:0+cpu",
				s, from)
		}
		spec, err := parseOne(one, from)
		if err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// parseOne reads one choice; from says where it comes from.
func parseOne(s, from string) (Spec, error) {
	driver, device, named := strings.Cut(s, ":")
	spec := Spec{Driver: strings.ToLower(driver), Device: device}
	several := spec.Driver == "auto" || spec.Driver == "gpus"
	switch {
	case several && named:
		return Spec{}, specError("backend %q%s: %s takes no device", s, from, spec.Driver)
	case named && device == "":
		return Spec{}, specError("backend %q%s: no device after the colon; give an index or a part of a name, as in "+
			"opencl:0 or opencl:pocl", s, from)
	case several || Lookup(spec.Driver) != nil:
	case slices.Contains(folders, spec.Driver):
		return Spec{}, specError("backend %q%s: the program does not have this driver; it needs\n\t"+
			"import _ \"github.com/tandem-gpu/tandem/backend/%s\"", s, from, spec.Driver)
	default:
		hint := ""
		if meant := meanings[spec.Driver]; meant != "" {
			hint = " (did you mean " + meant + "?)"
		}
		return Spec{}, specError("backend %q%s: unknown driver%s; there are %s", s, from, hint,
			strings.Join(append([]string{"auto", "gpus"}, Names()...), ", "))
	}
	return spec, nil
}

// meanings are what to ask for in place of what is often asked for.
var meanings = map[string]string{
	"gpu": "gpus", "nvidia": "cuda", "amd": "opencl:amd", "rocm": "opencl:amd", "intel": "opencl:intel",
	"pocl": "opencl:pocl", "host": "cpu",
}

func specError(format string, v ...any) error {
	return Failure("", "backend.Open", ErrNoDevice, format, v...)
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
// A named choice never falls back: it opens, or the error, which matches ErrNoDevice, says why. Of
// several devices ("gpus", "cuda:0+cpu") Open opens the first; [OpenAll] opens all.
func Open(spec string) (*Device, error) {
	specs, err := ParseSpec(spec)
	if err != nil {
		return nil, err
	}
	devices, err := openFirst(specs[:1], 1)
	if err != nil {
		return nil, err
	}
	return devices[0], nil
}

// OpenAll opens all devices that spec names: choices as Open takes them, joined by plus signs, as
// in "cuda:0+opencl:gfx90a+cpu". "gpus" is every GPU of CUDA, and every other of OpenCL. All open,
// or none stays open. A device that is named twice is an ErrNoDevice.
func OpenAll(spec string) ([]*Device, error) {
	specs, err := ParseSpec(spec)
	if err != nil {
		return nil, err
	}
	return openFirst(specs, math.MaxInt)
}

// openFirst opens the first n devices of specs.
func openFirst(specs []Spec, n int) (devices []*Device, err error) {
	defer func() {
		if err == nil {
			return
		}
		for _, d := range devices {
			d.Close()
		}
		devices = nil
	}()
	for _, s := range specs {
		infos, failures, err := s.candidates()
		if err != nil {
			return devices, err
		}
		for _, c := range infos {
			if len(devices) == n {
				return devices, nil
			}
			driver := Lookup(s.Driver)
			if driver == nil { // auto and gpus
				driver = Lookup(c.Driver)
			}
			d, err := driver.Open(c.Index)
			if err != nil && s.Driver == "auto" {
				failures = append(failures, fmt.Errorf("%s:%d (%s): %w", c.Driver, c.Index, c.Name, err))
				continue
			}
			if err != nil {
				return devices, err
			}
			devices = append(devices, d)
			if err := distinct(devices, (*Device).Info); err != nil {
				return devices, err
			}
			if failures = nil; s.Driver == "auto" {
				break
			}
		}
		if s.Driver == "auto" && len(failures) > 0 {
			return devices, autoError(failures)
		}
	}
	return devices, nil
}

// distinct refuses a list whose last device is in it twice.
func distinct[D any](list []D, info func(D) Info) error {
	last := info(list[len(list)-1])
	for _, d := range list[:len(list)-1] {
		if i := info(d); i.Driver == last.Driver && i.Index == last.Index {
			return specError("the device %s:%d (%s) is asked for twice", i.Driver, i.Index, i.Name)
		}
	}
	return nil
}

// candidates are the devices that the spec stands for: of auto those to try, best first, of which
// one is enough; failures say why drivers have none.
func (s Spec) candidates() (infos []Info, failures []error, err error) {
	switch s.Driver {
	case "auto":
		infos, failures = autoCandidates()
		if len(infos) == 0 {
			err = autoError(failures)
		}
	case "gpus":
		infos, failures = autoCandidates()
		cuda := slices.ContainsFunc(infos, func(i Info) bool { return i.Driver == "cuda" })
		infos = slices.DeleteFunc(infos, func(i Info) bool { // a GPU of NVIDIA's is a device of both drivers
			return !i.GPU || cuda && i.Driver != "cuda" && strings.Contains(strings.ToLower(i.Vendor), "nvidia")
		})
		if len(infos) == 0 {
			err = specError("gpus: there is none\n%s", joinErrors(failures))
		}
	default:
		var info Info
		info, err = pick(s)
		infos = []Info{info}
	}
	if err != nil {
		infos = nil
	}
	return infos, failures, err
}

func autoError(failures []error) error {
	for _, err := range failures {
		if errors.Is(err, ErrArgument) { // a setting of the user's, which the others would hide
			return err
		}
	}
	return specError("auto found nothing that opens; a program that does not import linalg must import a driver, "+
		"such as backend/cpu\n%s", joinErrors(failures))
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

// An Explanation says which devices a spec means and what became of every driver.
type Explanation struct {
	Specs   []Spec         // what was asked for
	Chosen  []Info         // what OpenAll would try first; nil if Err is set
	Err     error          // why nothing is chosen
	Drivers []DriverReport // every registered driver, sorted by name
}

// A DriverReport is what one driver has to offer.
type DriverReport struct {
	Name    string
	Devices []Info
	Err     error // why there are no devices
}

// Explain asks every driver for its devices and says what OpenAll(spec) would try first, and why
// the others were not chosen. It opens nothing.
func Explain(spec string) Explanation {
	var e Explanation
	for _, d := range Drivers() {
		r := DriverReport{Name: d.Name()}
		r.Devices, r.Err = d.Devices()
		e.Drivers = append(e.Drivers, r)
	}
	e.Specs, e.Err = ParseSpec(spec)
	for _, s := range e.Specs {
		infos, _, err := s.candidates()
		if s.Driver == "auto" && err == nil {
			infos = infos[:1]
		}
		for _, i := range infos {
			e.Chosen = append(e.Chosen, i)
			err = cmp.Or(err, distinct(e.Chosen, func(i Info) Info { return i }))
		}
		e.Err = cmp.Or(e.Err, err)
	}
	if e.Err != nil {
		e.Chosen = nil
	}
	return e
}

// Chose tells whether the device was chosen.
func (e *Explanation) Chose(i Info) bool {
	return slices.ContainsFunc(e.Chosen, func(c Info) bool { return c.Driver == i.Driver && c.Index == i.Index })
}

// Spec is what was asked for, as OpenAll takes it.
func (e *Explanation) Spec() string { return join(e.Specs, "+") }

// Why says why the device was chosen or passed over.
func (e *Explanation) Why(i Info) string {
	auto := slices.Contains(e.Specs, Spec{Driver: "auto"})
	switch {
	case e.Chose(i):
		return "chosen by " + e.Spec()
	case !auto:
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
