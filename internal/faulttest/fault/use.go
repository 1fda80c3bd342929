package fault

import (
	"errors"
	"slices"
)

// A Use is something that a test does with a library, and what it has made there.
type Use struct{ release []func() error }

// failed is the panic that ends a Use.
type failed struct{ error }

// Try runs f to its end or to the first error that Check or Must sees, and then releases what f
// made, the last first. It returns all errors.
func Try(f func(u *Use)) (err error) {
	u := &Use{}
	defer func() {
		switch v := recover().(type) {
		case nil:
		case failed:
			err = v.error
		default:
			panic(v)
		}
		for _, release := range slices.Backward(u.release) {
			err = errors.Join(err, release())
		}
	}()
	f(u)
	return nil
}

// Check ends the Use after an error.
func Check(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		panic(failed{err})
	}
}

// Must is v. It ends the Use after an error.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Later has the end of the Use call release.
func (u *Use) Later(release func() error) { u.release = append(u.release, release) }

// Keep is v, which the end of the Use frees.
func Keep[T interface{ Free() error }](u *Use, v T) T {
	u.Later(v.Free)
	return v
}
