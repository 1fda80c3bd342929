package linalg

import (
	"context"
	"math/bits"
)

// An Option says where a call runs, until when, or how many products it makes: [On], [WithContext]
// and [Batch] make options. One that does not belong to a call is backend.ErrArgument.
type Option struct {
	kind  optionKind
	s     *Session
	ctx   context.Context
	count int
}

// On makes a call run on session s. Without it, or where s is nil, it runs on the default device.
func On(s *Session) Option { return Option{kind: onSession, s: s} }

// WithContext makes a call end with ctx's error soon after ctx is done. A function given by
// [WithProgress] learns how far the call is. What was to be written is undefined after an error.
// Methods of arrays, which return before the work is done elsewhere, wait for it then. What takes
// no longer than some copies of its matrices, as Transpose and Add on the cpu device, ends first.
//
// A kernel of the caller's own cannot be stopped, and may run for ever. So where ctx ends a
// [Session.Launch], [Session.Wait] or [Session.CompileSource] the session is given up: its calls
// are backend.ErrDeviceLost from then on, Close returns at once, and what the session had on the
// device stays there until the process ends. Other sessions go on.
func WithContext(ctx context.Context) Option { return Option{kind: withContext, ctx: ctx} }

// Batch makes a call that multiplies make count products of one shape. Each has the bits that it
// has alone, and on a device all of them cost about one launch.
//
// The matrices of an operand lie below each other, at any stride: the C, of m by n, are a matrix of
// count*m by n, the A, of m by k, one of count*m by k or, where they are transposed, of count*k by
// m, and so on for B. A or B may also be a single matrix, which all products share. Where A is
// transposed and B is not, two matrices of the same number of rows are taken for two that hold
// count matrices. MatMul's B alone may be shared. With count == 0 C has no rows, and nothing is
// done.
func Batch(count int) Option { return Option{kind: batched, count: count} }

// An optionKind is a set of kinds of options.
type optionKind uint8

const (
	onSession optionKind = 1 << iota
	withContext
	batched
)

var optionNames = [...]string{"On", "WithContext", "Batch"}

// settings is what the options of a call say.
type settings struct {
	ctx   context.Context
	s     *Session // nil for the default one
	count int
	waits bool // WithContext is among them
}

// settingsOf is what opts say for op, which takes the kinds of may.
func settingsOf(op string, may optionKind, opts []Option) (x settings, err error) {
	x = settings{ctx: context.Background(), count: 1}
	for i := range opts {
		o := &opts[i]
		switch {
		case o.kind&^may != 0:
			return x, errArgument(op + " does not take " + optionNames[bits.TrailingZeros8(uint8(o.kind))])
		case o.kind == onSession:
			x.s = o.s
		case o.kind == withContext && o.ctx != nil:
			x.ctx, x.waits = o.ctx, true
		case o.kind == batched:
			x.count = o.count
		}
	}
	return x, nil
}

// onHost is the options of operations on matrices in host memory; products take Batch, too.
const onHost = onSession | withContext

type progressKey struct{}

// WithProgress makes calls that get ctx by [WithContext] call f with the finished fraction of a
// product, from 0 to 1, as the work goes on. f is called from the goroutine that called them.
func WithProgress(ctx context.Context, f func(fraction float64)) context.Context {
	return context.WithValue(ctx, progressKey{}, f)
}

// progress is the function that WithProgress gave, or nil.
func progress(ctx context.Context) func(float64) {
	f, _ := ctx.Value(progressKey{}).(func(float64))
	return f
}

// stage is ctx for a part of a call's work, which goes from one finished fraction to another.
func stage(ctx context.Context, from, to float64) context.Context {
	report := progress(ctx)
	if report == nil {
		return ctx
	}
	return WithProgress(ctx, func(fraction float64) { report(from + fraction*(to-from)) })
}
