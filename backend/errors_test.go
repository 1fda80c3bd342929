package backend

import (
	"errors"
	"fmt"
	"testing"
)

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		e    Error
		want string
	}{
		{
			Error{
				Driver: "opencl", Op: "clBuildProgram", Code: -11, Name: "CL_BUILD_PROGRAM_FAILURE",
				Detail: "k.cl:3:1: error", Err: ErrBuild,
			},
			"opencl: clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11): kernel does not build: k.cl:3:1: error",
		},
		{Error{Driver: "cuda", Op: "cuInit", Code: 999}, "cuda: cuInit: code 999"},
		{Error{Driver: "cuda", Op: "cuInit", Name: "CUDA_ERROR_UNKNOWN"}, "cuda: cuInit: CUDA_ERROR_UNKNOWN"},
		{
			Error{Driver: "cpu", Op: "Queue.Write", Detail: "too long", Err: ErrArgument},
			"cpu: Queue.Write: invalid argument: too long",
		},
		{Error{Op: "backend.Open", Err: ErrNoDevice}, "backend.Open: no device"},
		{Error{Op: "backend.Open"}, "backend.Open"},
	} {
		if got := c.e.Error(); got != c.want {
			t.Errorf("%+v is %q, want %q", c.e, got, c.want)
		}
	}
}

func TestErrorIs(t *testing.T) {
	sentinels := []error{
		ErrNoDevice, ErrOutOfMemory, ErrBuild, ErrLaunch, ErrDeviceLost, ErrUnsupported, ErrClosed, ErrArgument,
	}
	for _, s := range sentinels {
		err := fmt.Errorf("matmul: %w", &Error{Driver: "cuda", Op: "cuLaunchKernel", Err: s})
		for _, other := range sentinels {
			if errors.Is(err, other) != (s == other) {
				t.Errorf("an error of %q matches %q: %t", s, other, s != other)
			}
		}
		var e *Error
		if !errors.As(err, &e) || e.Op != "cuLaunchKernel" {
			t.Errorf("no *Error in %v", err)
		}
	}
	if err := error(&Error{Op: "x"}); errors.Is(err, ErrLaunch) || errors.Unwrap(err) != nil {
		t.Error("an error without a sentinel matches one")
	}
}
