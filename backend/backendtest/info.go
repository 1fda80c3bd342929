package backendtest

import (
	"fmt"
	"reflect"

	"github.com/tandem-gpu/tandem/backend"
)

var infoCases = []testCase{
	{
		"Info/Limits", valid, infoLimits,
		"Info is what a person sees of a device, and all that the choice of a kernel may depend on.",
	},
	{"Info/Stable", valid, infoStable, "Devices lists the devices in a stable order."},
	{
		"Info/Probed", valid, infoProbed,
		"Devices reports what the driver claims, or what an earlier probe found; an open Device what its own probe " +
			"found.",
	},
	{"Info/OpenOutside", refused, openOutside, "Open opens device i of Devices."},
	{"Info/Independent", valid, independent, "Devices opened more than once are independent of each other."},
}

func (e *env) listing() []backend.Info {
	infos, err := e.driver.Devices()
	e.must("Devices", err)
	if e.index >= len(infos) {
		e.fatalf("Devices lists %d devices, fewer than before", len(infos))
	}
	return infos
}

func infoLimits(e *env) {
	i := e.dev.Info()
	if i.Driver != e.driver.Name() {
		e.errorf("Driver is %q, want the driver's name %q", i.Driver, e.driver.Name())
	}
	if i.Index != e.index {
		e.errorf("Index is %d, want the position in Devices, %d", i.Index, e.index)
	}
	for name, v := range map[string]string{
		"Platform": i.Platform, "Vendor": i.Vendor, "Name": i.Name, "Arch": i.Arch, "Version": i.Version,
	} {
		if v == "" {
			e.errorf("%s is empty", name)
		}
	}
	positive := map[string]int64{
		"ComputeUnits": int64(i.ComputeUnits), "MaxAlloc": i.MaxAlloc, "LocalMemory": i.LocalMemory,
		"MaxGroup":      int64(i.MaxGroup),
		"VectorFloat32": int64(i.VectorFloat32), "VectorInt32": int64(i.VectorInt32),
		"OffsetAlign": int64(i.OffsetAlign),
	}
	if i.Float64 {
		positive["VectorFloat64"] = int64(i.VectorFloat64)
	}
	if i.Memory < 0 { // 0 where the system does not tell
		e.errorf("Memory is %d", i.Memory)
	}
	for d := range 3 {
		positive[fmt.Sprintf("MaxGroupDims[%d]", d)] = int64(i.MaxGroupDims[d])
		if i.MaxGroups[d] < 0 {
			e.errorf("MaxGroups[%d] is %d; 0 means that only the int limits it", d, i.MaxGroups[d])
		}
	}
	for name, v := range positive {
		if v <= 0 {
			e.errorf("%s is %d, want at least 1", name, v)
		}
	}
	if i.OffsetAlign&(i.OffsetAlign-1) != 0 {
		e.errorf("OffsetAlign is %d, want a power of two", i.OffsetAlign)
	}
}

func infoStable(e *env) {
	first := e.listing()
	for i, info := range first {
		if info.Driver != e.driver.Name() || info.Index != i {
			e.errorf("entry %d of Devices is %s:%d", i, info.Driver, info.Index)
		}
	}
	kept := first[e.index]
	first[e.index].Name = "overwritten by the caller"
	if again := e.listing()[e.index]; !reflect.DeepEqual(again, kept) {
		e.errorf("the second call of Devices gives\n%+v, the first\n%+v", again, kept)
	}
	first[e.index] = kept // where the driver shares its list, other cases are not to suffer
}

func infoProbed(e *env) {
	listed, open := e.listing()[e.index], e.dev.Info()
	// The probe decides these three.
	listed.Float32, listed.Float64, listed.Note = open.Float32, open.Float64, open.Note
	if !reflect.DeepEqual(listed, open) {
		e.errorf("Devices lists\n%+v, the open device has\n%+v; only Float32, Float64 and Note may differ",
			listed, open)
	}
	if again := e.dev.Info(); !reflect.DeepEqual(again, open) {
		e.errorf("the second call of Info gives\n%+v, the first\n%+v", again, open)
	}
}

func openOutside(e *env) {
	for _, i := range []int{-1, len(e.listing()), 1 << 30} {
		d, err := e.driver.Open(i)
		e.refused(fmt.Sprintf("Open(%d)", i), err, backend.ErrNoDevice, backend.ErrArgument)
		if err == nil {
			d.Close()
		}
	}
}

func independent(e *env) {
	other := e.open()
	b := upload(e, garbage(1000))
	other.holds("a new buffer of the second device", other.alloc(1000), make([]byte, 1000))
	e.must("Close of the second device", other.dev.Close())

	e.holds("a buffer of the first device, after Close of the second", b, garbage(1000))
	src := upload(e, []int32{1, 2, 3})
	k := e.compile(affineSource)
	e.must("Launch", e.affine(e.q, k, src, src, 10, 3))
	same(e, "a launch on the first device, after Close of the second", download[int32](e, src), []int32{11, 12, 13})
}
