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
		p.state, err = linalg.NewArray[int64](s, outputs, heightOf[T]())
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

// StateBytes is the memory that an output takes in a Partial.
func StateBytes[T linalg.Element](kind Kind) int64 {
	if folds[T](kind) {
		return 2 * 8
	}
	return int64(heightOf[T]()) * 8
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

// heightOf is the numbers of the state of a sum: its words, and the set of what is no number.
func heightOf[T linalg.Element]() int {
	if _, ok := any(*new(T)).(float32); ok {
		return single{}.words() + 1
	}
	return double{}.words() + 1
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
			return addSums(p.state, x, single{}, product{}, shapeOfPart(x), enqueueParts)
		}
		if info := p.state.Session().Info(); !info.Float64 {
			return addSums(p.state, x, single{}, bare{}, lineShape(info, x.X, x.Rows, x.Cols), enqueueEach)
		}
		return addSums(p.state, x, single{}, plain{}, shapeOfPart(x), enqueueParts)
	case Part[float64]:
		switch {
		case p.kind.Index:
			return addFolded[float64, int32, int64](p, x, first64{}, index{})
		case p.kind.Most:
			return addFolded[float64, float64, int64](p, x, ends64{}, value64{})
		case p.kind.Squares:
			return addSums(p.state, x, double{}, product{}, shapeOfPart(x), enqueueParts)
		}
		return addSums(p.state, x, double{}, plain{}, shapeOfPart(x), enqueueParts)
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

func shapeOfPart[T linalg.Element](t Part[T]) shape {
	return shapeOf(t.X.Session().Info(), t.X, t.Rows, t.Cols)
}

// addSums adds what a function leaves of parts of lines of t, as in enqueueAndRound.
func addSums[S float32 | float64, F formats, P any](state *linalg.Array[int64], t Part[S], f F, p P, l shape,
	add func(j Sum[S], f F, p P, l shape, words *linalg.Array[int64]) error,
) error {
	j := Sum[S]{C: t.X.Slice(0, 0, 0, 0), X: t.X, Y: t.X}
	return addParts(j, state, t.First, t.Rows*t.Cols, f, p, l, add)
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
	outputs, height := rows*cols, heightOf[T]()
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

// finish makes c of n states, one after the other.
func finish[D linalg.Element](c *linalg.Array[D], over int, kind Kind, all *linalg.Array[int64], n int) error {
	q := quotient{1, kind.Squares}
	if kind.Mean {
		q.over = uint64(over)
	}
	switch out := any(c).(type) {
	case *linalg.Array[int32]:
		switch {
		case kind.Index:
			return finishFold(out, all, n, kindFirst, index{}, kind.Order)
		case kind.Most:
			return finishFold(out, all, n, kindEnds, valueInt{}, kind.Order)
		}
		return finishFold(out, all, n, kindSum, total{}, kind.Order)
	case *linalg.Array[float32]:
		if kind.Most {
			return finishFold(out, all, n, kindEnds, value32{}, kind.Order)
		}
		return round(out, all, single{}, n, q)
	case *linalg.Array[float64]:
		if kind.Most {
			return finishFold(out, all, n, kindEnds, value64{}, kind.Order)
		}
		return round(out, all, double{}, n, q)
	}
	return nil
}
