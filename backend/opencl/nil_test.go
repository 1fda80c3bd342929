package opencl

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend"
)

// Nil pointers of this driver's own types, and of another's, are errors like every other wrong object.
func TestNilObjects(t *testing.T) {
	d := open(t)
	q, b := newQueue(t, d), alloc(t, d, 64)
	k := must[backend.Kernel](t)(d.Compile(fillSource))
	ev := must[backend.Event](t)(q.Record())
	g := backend.Grid1(1, 1)
	for _, null := range []backend.Buffer{nil, (*buffer)(nil), (*hostBuffer)(nil), (*foreign)(nil)} {
		wantError(t, q.Write(null, 0, []byte{1}), backend.ErrArgument, "nil")
		wantError(t, q.Read([]byte{1}, null, 0), backend.ErrArgument, "nil")
		wantError(t, q.Copy(b, 0, null, 0, 1), backend.ErrArgument, "nil")
		wantError(t, q.Launch(k, g, backend.Buf(null), backend.Int32(1), backend.Int32(1)), backend.ErrLaunch, "argument 0", "nil")
	}
	wantError(t, q.Launch((*kernel)(nil), g), backend.ErrLaunch)
	wantError(t, q.WaitEvent((*event)(nil)), backend.ErrArgument)
	_, err := ev.Since((*event)(nil))
	wantError(t, err, backend.ErrArgument)
}

// foreign is the buffer of another driver.
type foreign struct{ size int64 }

func (f *foreign) Len() int64  { return f.size }
func (f *foreign) Free() error { return nil }
