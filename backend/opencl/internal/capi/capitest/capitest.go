// Package capitest watches and disturbs the calls of the OpenCL function table in tests.
package capitest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
	"github.com/tandem-gpu/tandem/backend/opencl/internal/capi"
)

// A Call is one call of a C function.
type Call = dltest.Call

// Wrap is [dltest.Wrap] of OpenCL's functions.
func Wrap(hook func(c *Call) []reflect.Value) (restore func()) { return dltest.Wrap(&capi.API, hook) }

// Watch is [dltest.Watch] of OpenCL's handles.
func Watch(t testing.TB) *dltest.Live {
	t.Helper()
	return dltest.Watch(t, &capi.API, handle)
}

func handle(c *Call, results []reflect.Value) (string, int) {
	key := func(handle reflect.Value) string { return fmt.Sprintf("%s %#x", handle.Type(), handle.Uint()) }
	switch {
	case results == nil:
		if strings.HasPrefix(c.Name, "clRelease") {
			return key(c.Args[0]), -1
		}
	case strings.HasPrefix(c.Name, "clCreate"):
		return key(results[0]), 1
	case strings.HasPrefix(c.Name, "clEnqueue"):
		if ev := event(c); ev != nil && *ev != 0 {
			return key(reflect.ValueOf(*ev)), 1
		}
	}
	return "", 0
}

// event is where an enqueue function puts its event: in its last argument, or the last but one
// before a status.
func event(c *Call) *capi.Event {
	last := len(c.Args) - 1
	if c.Args[last].Type() == reflect.TypeFor[*int32]() {
		last--
	}
	return c.Args[last].Interface().(*capi.Event)
}
