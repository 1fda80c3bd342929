package sums

import (
	"cmp"
	"fmt"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/linalg"
)

// A Kind is a reduction: of so much it is a sum, unless Most is set.
type Kind struct {
	Most    bool // the largest element
	Index   bool // its index
	Order   Order
	Squares bool // the sum of squares, and its root
	Mean    bool // the sum over the number of terms
}

// A Partial is reductions to a number of outputs, whose terms come in parts. Its elements lie on
// one device.
type Partial[T linalg.Element] struct {
	kind    Kind
	outputs int
	state   *linalg.Array[int64] // of each output: words, or a state
}

// NewPartial is reductions of nothing.
func NewPartial[T linalg.Element](s *linalg.Session, kind Kind, outputs int) (*Partial[T], error) {
	p := &Partial[T]{kind: kind, outputs: outputs}
	if !folds[T](kind) {
		var err error
		p.state, err = linalg.NewArray[int64](s, Words, outputs)
		return p, err
	}
	m := linalg.NewMatrix[int64](2, outputs, nil)
	if kind.Most {
		none := first64{}.none() // of both ends, too
		for i := range outputs {
			m.Data[i], m.Data[outputs+i] = none.a, none.b
		}
	}
	var err error
	p.state, err = linalg.Upload(s, m)
	return p, err
}

// Free releases the memory, once the commands that use it are done.
func (p *Partial[T]) Free() error { return p.state.Free() }

// State waits for the parts, and returns what they come to, for ResultOf on any device.
func (p *Partial[T]) State() ([]int64, error) {
	m, err := p.state.Download()
	return m.Data, err
}

// folds tells whether integers are folded: all but sums of floats.
func folds[T linalg.Element](kind Kind) bool {
	_, isInt := any(*new(T)).(int32)
	return kind.Most || isInt
}

// A Part is a part of the terms: those of X, reduced to Rows by Cols of the outputs, from the First
// on. The index of term k of an output, counted by rows, is Base + k/Width*Pitch + k%Width.
type Part[T linalg.Element] struct {
	X                  *linalg.Array[T]
	Rows, Cols         int
	First              int
	Base, Width, Pitch int
}

// Add adds a part.
func (p *Partial[T]) Add(t Part[T]) error {
	if r, c := t.X.Dims(); r == 0 || c == 0 {
		return nil
	}
	switch x := any(t).(type) {
	case Part[float32]:
		switch {
		case p.kind.Index:
			return addFolded[float32, int32, int32](p, x, first32{}, index{})
		case p.kind.Most:
			return addFolded[float32, float32, int32](p, x, ends32{}, value32{})
		case p.kind.Squares:
			return addSums[float32, float64, int64](p.state, p.outputs, x, single{}, double{}, pair{})
		}
		return addSums[float32, float32, int32](p.state, p.outputs, x, single{}, single{}, one{})
	case Part[float64]:
		switch {
		case p.kind.Index:
			return addFolded[float64, int32, int64](p, x, first64{}, index{})
		case p.kind.Most:
			return addFolded[float64, float64, int64](p, x, ends64{}, value64{})
		case p.kind.Squares:
			return addSums[float64, float64, int64](p.state, p.outputs, x, double{}, double{}, two{})
		}
		return addSums[float64, float64, int64](p.state, p.outputs, x, double{}, double{}, one{})
	case Part[int32]:
		switch {
		case p.kind.Index:
			return addFolded[int32, int32, int32](p, x, firstInt{}, index{})
		case p.kind.Most:
			return addFolded[int32, int32, int32](p, x, endsInt{}, valueInt{})
		}
		return addFolded[int32, int32, int32](p, x, add32{}, total{})
	}
	return nil
}

func addSums[S, T float32 | float64, I int32 | int64, R single | double, F accumulator, P one | pair | two](
	state *linalg.Array[int64], all int, t Part[S], r R, f F, p P,
) (err error) {
	s := state.Session()
	outputs := t.Rows * t.Cols
	l := shapeOf(s.Info(), t.X, t.Rows, t.Cols)
	parts, err := linalg.NewArray[int64](s, 1, outputs*l.parts*Words)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, parts.Free()) }()
	j := Sum[S]{X: t.X, Y: t.X, Shift: t.X.Slice(0, 0, 0, 0)}
	if err := enqueueTerms[S, T, I](j, t.Rows, t.Cols, r, f, p, l, false, t.X.Slice(0, 0, 0, 0), parts); err != nil {
		return err
	}
	return LaunchGather(s, backend.GridFor(Words*outputs), state, parts, all, t.First, outputs, l.parts)
}

func addFolded[T, D float32 | float64 | int32, K int32 | int64, F folders, R results, E linalg.Element](
	to *Partial[E], t Part[T], f F, r R,
) (err error) {
	s := to.state.Session()
	outputs := t.Rows * t.Cols
	l := newShape(s.Info(), t.X, t.Rows, t.Cols)
	parts, err := linalg.NewArray[int64](s, 1, 2*outputs*l.parts)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, parts.Free()) }()
	none, err := linalg.NewArray[D](s, 0, 0)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, none.Free()) }()
	if err := enqueueFold[T, D, K](none, parts, t.X, t.Rows, t.Cols, l, f, r, to.kind.Order); err != nil {
		return err
	}
	return LaunchGatherFolded(s, backend.GridFor(outputs), to.state, parts, to.outputs, t.First, outputs, l.parts,
		f.kind(), t.Base, t.Width, t.Pitch)
}

// ResultOf makes c what parts of terms T have come to, [Partial.State], one after the other: over
// is the number of terms of each element, of which c has as many as there are outputs.
func ResultOf[D, T linalg.Element](c *linalg.Array[D], over int, kind Kind, states []int64) (err error) {
	rows, cols := c.Dims()
	outputs, height := rows*cols, Words
	if folds[T](kind) {
		height = 2
	}
	n := len(states) / (height * outputs)
	if n == 0 || len(states)%(height*outputs) != 0 {
		return fmt.Errorf("%w: %d numbers are no states of %d results", linalg.ErrShape, len(states), outputs)
	}
	all, err := linalg.Upload(c.Session(), linalg.NewMatrix(n*height, outputs, states))
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, all.Free()) }()
	return finish(c, over, kind, all, n)
}

// finish makes c of n states, one below the other.
func finish[D linalg.Element](c *linalg.Array[D], over int, kind Kind, all *linalg.Array[int64], n int) error {
	s := all.Session()
	_, outputs := all.Dims()
	grid, order := backend.GridFor(outputs), int64(kind.Order)
	if out, ok := any(c).(*linalg.Array[int32]); ok {
		switch {
		case kind.Index:
			return LaunchFinish[int32](s, grid, index{}, out, all, n, kindFirst, order)
		case kind.Most:
			return LaunchFinish[int32](s, grid, valueInt{}, out, all, n, kindEnds, order)
		}
		return LaunchFinish[int32](s, grid, total{}, out, all, n, kindSum, order)
	}
	divisor := uint64(1)
	if kind.Mean {
		divisor = uint64(over)
	}
	switch out := any(c).(type) {
	case *linalg.Array[float32]:
		switch {
		case kind.Most:
			return LaunchFinish[float32](s, grid, value32{}, out, all, n, kindEnds, order)
		case kind.Squares:
			return round(s, grid, single{}, out, all, n, double{}, divisor, true)
		}
		return round(s, grid, single{}, out, all, n, single{}, divisor, false)
	case *linalg.Array[float64]:
		if kind.Most {
			return LaunchFinish[float64](s, grid, value64{}, out, all, n, kindEnds, order)
		}
		return round(s, grid, double{}, out, all, n, double{}, divisor, kind.Squares)
	}
	return nil
}

// round rounds sums that were added up in format f to numbers in that of r.
func round[T float32 | float64, R single | double, F accumulator](s *linalg.Session, grid backend.Grid, r R,
	c *linalg.Array[T], sums *linalg.Array[int64], n int, f F, over uint64, root bool,
) error {
	return LaunchRound[T](s, grid, r, c, sums, n, f.words(), f.bottom(), over, root)
}
