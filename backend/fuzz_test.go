package backend

import (
	"errors"
	"slices"
	"testing"
)

// FuzzParseSpec: any text names a registered driver, or is an ErrNoDevice; what a Spec prints is
// read as the same Spec.
func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{
		"", "auto", "AUTO", "auto:0", "metal", "metal:", "metal:0", "metal:-1", "metal:a:b", ":",
		":0", "nonsense:1", "metal:\x00", "metal:99999999999999999999", "metal+auto", "gpus+metal:0", "metal++",
	} {
		f.Add(s)
	}
	d, before := fakes["metal"], *fakes["metal"]
	*d = fakeDriver{
		name:  "metal",
		infos: []Info{{Driver: "metal", Name: "one"}, {Driver: "metal", Index: 1, Name: "two", GPU: true}},
	}
	f.Cleanup(func() { *d = before })
	f.Setenv(EnvBackend, "")
	f.Fuzz(func(t *testing.T, text string) {
		specs, err := ParseSpec(text)
		if err != nil {
			if !errors.Is(err, ErrNoDevice) {
				t.Errorf("%q: %v, want ErrNoDevice", text, err)
			}
			return
		}
		if again, err := ParseSpec(join(specs, "+")); err != nil || !slices.Equal(again, specs) {
			t.Errorf("%q is %+v, which prints as %q and is read as %+v, %v", text, specs, join(specs, "+"), again, err)
		}
		for _, s := range specs {
			if s.Driver == "auto" || s.Driver == "gpus" {
				continue
			}
			if Lookup(s.Driver) == nil {
				t.Errorf("%q: there is no driver %q", text, s.Driver)
			}
			info, err := pick(s)
			if err == nil && info.Driver != s.Driver || err != nil && !errors.Is(err, ErrNoDevice) {
				t.Errorf("%q: device %+v, %v", text, info, err)
			}
		}
	})
}
