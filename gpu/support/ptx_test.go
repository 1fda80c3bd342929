package support_test

import (
	"archive/zip"
	"bytes"
	"testing"

	"github.com/tandem-gpu/tandem/gpu/support"
)

// Each kernel has its own PTX and hash, one that is not in the file has none, and a file that is
// damaged is an error.
func TestPTX(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range []string{"a", "b"} {
		f, err := w.Create(name + ".ptx")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("of " + name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	find := support.PTX(b.String())
	x, y, none := find("a"), find("b"), find("c")
	for want, p := range map[string]func() ([]byte, error){"of a": x.Unpack, "of b": y.Unpack, "": none.Unpack} {
		if got, err := p(); string(got) != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if x.Hash() == y.Hash() || x.Hash() != find("a").Hash() || x.Hash() == "" || none.Hash() != "" {
		t.Errorf("hashes %q, %q and %q", x.Hash(), y.Hash(), none.Hash())
	}
	bad := support.PTX(b.String()[:b.Len()/2])("a")
	if got, err := bad.Unpack(); got != nil || err == nil || bad.Hash() != "" {
		t.Errorf("a damaged file gives %q, %v", got, err)
	}
}
