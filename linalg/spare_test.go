package linalg

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
)

// Spare memory is used again, the smallest that is large enough, and what would be too much is
// freed.
func TestSpares(t *testing.T) {
	d, err := backend.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p := newSpares(&backend.Info{})
	maxSpare := p.most
	take := func(n int64) *backend.Buffer {
		t.Helper()
		if b := p.take(n); b != nil {
			return b
		}
		b, err := d.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	give := func(b *backend.Buffer) {
		t.Helper()
		if err := p.give(b); err != nil {
			t.Fatal(err)
		}
	}
	small, large := take(100), take(1000)
	give(large)
	give(small)
	if b := take(90); b != small {
		t.Errorf("90 bytes are a buffer of %d, want that of 100", b.Len())
	}
	if b := take(90); b != large {
		t.Errorf("90 bytes once more are a buffer of %d, want that of 1000", b.Len())
	}
	if b := take(2000); b == small || b == large {
		t.Error("2000 bytes are a buffer that is too small")
	} else {
		give(b)
	}
	give(small)
	give(large)
	before := d.Used()
	give(take(maxSpare - 1000)) // the oldest, of 2000 and 100 bytes, have no room any more
	if grown := d.Used() - before; grown != maxSpare-1000-2100 {
		t.Errorf("the memory grew by %d bytes, want %d", grown, maxSpare-1000-2100)
	}
	before = d.Used()
	give(take(maxSpare + 1)) // too much alone
	if d.Used() != before {
		t.Errorf("%d bytes are left of %d", d.Used(), before)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if d.Used() != 0 {
		t.Errorf("%d bytes are left", d.Used())
	}
}

// A device keeps a share of its memory.
func TestSparesOfDevice(t *testing.T) {
	for info, most := range map[backend.Info]int64{
		{GPU: true, Memory: 80 << 30}: 10 << 30, {Memory: 32 << 30}: 512 << 20, {Memory: 2 << 30}: 64 << 20,
		{GPU: true, UnifiedMemory: true, Memory: 64 << 30}: 1 << 30,
	} {
		if p := newSpares(&info); p.most != most {
			t.Errorf("a device of %d bytes keeps %d of them, not %d", info.Memory, p.most, most)
		}
	}
}
