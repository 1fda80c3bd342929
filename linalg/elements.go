package linalg

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
)

// storable is an error where elements of type t cannot lie on a device, as they hold a pointer.
func storable(t reflect.Type) error {
	if _, ok := element.OfReflected(t); ok {
		return nil
	}
	what, ok := pointers.Load(t)
	if !ok {
		what, _ = pointers.LoadOrStore(t, pointerIn(t))
	}
	if what == "" {
		return nil
	}
	return backend.Failure("", "linalg", backend.ErrArgument, "%v cannot lie on a device: %s", t, what)
}

// pointers has what pointerIn says of types.
var pointers sync.Map

// pointerIn says why values of t cannot lie on a device, "" where they can.
func pointerIn(t reflect.Type) string {
	switch k := t.Kind(); {
	case t.Size() == 0:
		return "it has no bytes"
	case k >= reflect.Bool && k <= reflect.Complex128:
		return ""
	case k == reflect.Array:
		return pointerIn(t.Elem())
	case k != reflect.Struct:
		return fmt.Sprintf("a %s has pointers into the host's memory", k)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type.Size() == 0 {
			continue
		}
		if what := pointerIn(f.Type); what != "" {
			return f.Name + ": " + what
		}
	}
	return ""
}

// elementName is what kernels call elements of type t, "" where that is not checked.
func elementName(t reflect.Type) string {
	switch t, ok := element.OfReflected(t); {
	case !ok || t >= element.Half: // their kernels have types of their own
		return ""
	case t == element.Bool:
		return element.Uint8.String()
	default:
		return t.String()
	}
}
