package cuda

import "testing"

// FuzzParseEntry: whatever the text is, its kernel has parameters of positive size and no negative
// group, or there is an error.
func FuzzParseEntry(f *testing.F) {
	f.Add([]byte(".visible .entry k(\n.param .u64 .ptr .global .align 4 a,\n.param .align 16 .b8 v[16]\n)\n.reqntid " +
		"16, 4\n{ ret; }"))
	f.Add([]byte(".entry k() { }"))
	f.Add([]byte(".entry k(.param .b8 v[99999999999999999999]) { }"))
	f.Add([]byte(".entry k(.param .b64 v[2305843009213693952]) { }"))
	f.Add([]byte(".entry k(.param .b8 v[0]) { }"))
	f.Add([]byte(".entry k(.param .u32 n) .reqntid 99999999999999999999 { }"))
	f.Add([]byte("/* .entry k( */ // .entry k("))
	f.Fuzz(func(t *testing.T, ptx []byte) {
		e, err := parseEntry(ptx, "k")
		if err != nil {
			return
		}
		for _, p := range e.params {
			if p.size < 1 || p.size > maxPTXParam {
				t.Errorf("parameter %q has %d bytes", p.name, p.size)
			}
		}
		for _, n := range e.reqntid {
			if n < 0 || n > maxPTXGroup {
				t.Errorf("a group of %v", e.reqntid)
			}
		}
	})
}
