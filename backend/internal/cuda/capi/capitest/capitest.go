// Package capitest watches the calls of CUDA's function tables in tests.
package capitest

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl/dltest"
	"github.com/tandem-gpu/tandem/backend/internal/cuda/capi"
)

// created are the functions that create something, with the argument that holds the handle
// afterwards, or its address.
var created = map[string]int{
	"cuDevicePrimaryCtxRetain": 1, "cuMemAlloc": 0, "cuMemAllocAsync": 0,
	"cuMemHostAlloc": 0, "cuMemHostRegister": 0, "cuStreamCreate": 0,
	"cuEventCreate":      0,
	"cuModuleLoadDataEx": 0,
}

// released are the functions that release it again, with what had created it.
var released = map[string]string{
	"cuDevicePrimaryCtxRelease": "cuDevicePrimaryCtxRetain", "cuMemFree": "cuMemAlloc",
	"cuMemFreeAsync":      "cuMemAllocAsync",
	"cuMemFreeHost":       "cuMemHostAlloc",
	"cuMemHostUnregister": "cuMemHostRegister", "cuStreamDestroy": "cuStreamCreate", "cuEventDestroy": "cuEventCreate",
	"cuModuleUnload": "cuModuleLoadDataEx",
}

// Watch is [dltest.Watch] of the handles of CUDA's driver API.
func Watch(t testing.TB, api *capi.API) *dltest.Live {
	t.Helper()
	return dltest.Watch(t, api, handle)
}

func handle(c *dltest.Call, results []reflect.Value) (string, int) {
	key := func(creator string, handle reflect.Value) string {
		return fmt.Sprintf("%#x of %s", handle.Interface(), creator)
	}
	if creator, ok := released[c.Name]; ok && results == nil {
		return key(creator, c.Args[0]), -1
	}
	if i, ok := created[c.Name]; ok && results != nil {
		return key(c.Name, reflect.Indirect(c.Args[i])), 1
	}
	return "", 0
}
