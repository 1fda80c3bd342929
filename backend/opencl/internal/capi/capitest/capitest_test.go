package capitest

import (
	"testing"

	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// What OpenCL's functions create and release counts, the events of commands too.
func TestWatch(t *testing.T) {
	old := capi.API.Swap(&capi.Table{
		CreateUserEvent: func(c capi.Context, status *int32) capi.Event { return capi.Event(c) + 1 },
		ReleaseEvent:    func(capi.Event) int32 { return 0 },
		EnqueueTask: func(_ capi.Queue, k capi.Kernel, _ uint32, _, ev *capi.Event) int32 {
			*ev = capi.Event(k)
			return 0
		},
	})
	t.Cleanup(func() { capi.API.Swap(old) })
	live := Watch(t)
	alive := func(want int) {
		t.Helper()
		if got := live.Count(); got != want {
			t.Errorf("%d handles are alive, want %d", got, want)
		}
	}
	var status int32
	var ev capi.Event
	l := capi.Current()
	h := l.CreateUserEvent(7, &status)
	l.EnqueueTask(1, 2, 0, nil, &ev)
	alive(2)
	l.ReleaseEvent(h)
	alive(1)
	l.ReleaseEvent(ev)
	alive(0)
}
