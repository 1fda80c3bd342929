package array

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/tandem-gpu/tandem/array/internal/random"
	"github.com/tandem-gpu/tandem/array/internal/sums"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/inside"
)

// A Stream gives random numbers: every array that is filled takes the next of 2^64 - 1 streams that
// a seed has. Element k of an array, counted by rows, depends on the seed, the stream and k alone,
// whatever the device, the array's shape and its stride: word k%4 of block k/4 of Philox4x32-10,
// whose key is Seed, and whose counter is the block, and Next in the upper half; of float64 both
// words of pair k%2 of block k/2. So a program can go on from where another stopped, or fill parts
// at once, each with a Stream of its own. The zero value is a stream of its own, too. It is not
// safe for concurrent use.
type Stream struct{ Seed, Next uint64 }

// Uniform fills c with numbers in [0, 1): the upper 24 bits of a word, or 53 of two. They are all
// multiples of 2^-24, or 2^-53, and each is as likely as the others.
func Uniform[T Float](r *Stream, c *Array[T]) error {
	if c, ok := any(c).(*Array[float32]); ok {
		return fill("Uniform", r, c, random.Uniform32{}, random.Range{})
	}
	return fill("Uniform", r, any(c).(*Array[float64]), random.Uniform64{}, random.Range{})
}

// Normal fills c with numbers of the normal distribution with mean 0 and variance 1, as Box and
// Muller have it: elements 2p and 2p+1 are the cosine and the sine of one angle, times one radius.
// No float32 is beyond 6.7, no float64 beyond 8.7. The device needs float64.
func Normal[T Float](r *Stream, c *Array[T]) error {
	if c, ok := any(c).(*Array[float32]); ok {
		return fill("Normal", r, c, random.Normal32{}, random.Range{})
	}
	return fill("Normal", r, any(c).(*Array[float64]), random.Normal64{}, random.Range{})
}

// Integers fills c with integers from lo to hi-1, each as likely as the others: a word that would
// make some likelier is replaced by that of the next attempt, which counts from bit 48 of the
// counter on. Where hi is not above lo it is backend.ErrArgument.
func Integers(r *Stream, c *Array[int32], lo, hi int32) error {
	if hi <= lo {
		return argument("Integers", fmt.Sprintf("there are none from %d to %d-1", lo, hi))
	}
	return fill("Integers", r, c, random.Integers{}, random.NewRange(lo, hi))
}

// Permutation makes each row of index a permutation of its columns: those of numbers that [Uniform]
// makes, of 53 bits, in the order of [Sort].
func Permutation(r *Stream, index *Array[int32]) error {
	s, rows, cols, err := dims("Permutation", "index", index)
	if err != nil {
		return err
	}
	return inside.WithScratch(s, rows, cols, func(x *Array[float64]) error {
		if err := fill("Permutation", r, x, random.Uniform64{}, random.Range{}); err != nil {
			return err
		}
		return ArgSort(index, x)
	})
}

// Shuffle makes c the rows of a, in the order of a [Permutation]. It waits. c shares no elements
// with a.
func Shuffle[T Stored](r *Stream, c, a *Array[T]) error {
	rows, _, err := samePair("Shuffle", c, a)
	if err != nil {
		return err
	}
	return inside.WithScratch(c.Session(), 1, rows, func(index *Array[int32]) error {
		if err := Permutation(r, index); err != nil {
			return err
		}
		return TakeRows(c, a, index)
	})
}

// Choice fills index with numbers of elements of weights, a row or a column, each as likely as its
// weight is of their sum: with s = CumSum of the weights, how many elements of s are at or below
// u*s[n-1], rounded, where u is what [Uniform] makes. Numbers come again: [Permutation] has each
// once, and [Integers] are all as likely. Choice waits; where a weight is negative or not finite,
// or where their sum is, or is below 2^-100, it is backend.ErrArgument.
func Choice[T Float](r *Stream, index *Array[int32], weights *Array[T]) error {
	s, rows, cols, err := dims("Choice", "index", index)
	n := 0
	if err == nil {
		n, err = checkVector("Choice", "weights", weights, s, 1)
	}
	if err != nil {
		return err
	}
	return inside.WithScratch(s, 1, n, func(sums *Array[T]) error {
		if err := cumulate(sums, weights); err != nil {
			return err
		}
		return inside.WithScratch(s, rows, cols, func(x *Array[T]) error {
			return inOrder(
				func() error { return Uniform(r, x) },
				func() error { return Mul(x, x, sums.Slice(0, 1, n-1, n)) },
				func() error { return SearchSortedRight(index, sums, x) },
			)
		})
	})
}

// cumulate makes sums, a row, the CumSum of weights, and waits until it has seen that they are
// some.
func cumulate[T Float](sums, weights *Array[T]) error {
	_, n := sums.Dims()
	if rows, _ := weights.Dims(); rows > 1 {
		if err := sums.Transpose(weights); err != nil {
			return err
		}
		weights = sums
	}
	least, err := number(sums.Session(), func(c *Array[T]) error { return Min(c, weights) })
	if err != nil {
		return err
	}
	if err := CumSum(sums, weights); err != nil {
		return err
	}
	sum, err := sums.At(0, n-1)
	const smallest = 0x1p-100 // from there on what is below 1 times a sum is below the sum
	switch {
	case err != nil:
		return err
	case !(least >= 0 && sum >= smallest) || math.IsInf(float64(sum), 1):
		return argument("Choice", fmt.Sprintf("the least weight is %v, and their sum %v; no weight may be below 0, "+
			"and the sum must be finite and at least 2^-100", least, sum))
	}
	return nil
}

func fill[T Element, M random.Maker](op string, r *Stream, c *Array[T], m M, span random.Range) error {
	if err := check(op, "the destination", c, nil); err != nil {
		return err
	}
	switch {
	case r == nil:
		return argument(op, "the stream is nil")
	case r.Next == math.MaxUint64:
		return argument(op, fmt.Sprintf("the stream of seed %d is at its end; take another seed", r.Seed))
	}
	if sums.IsNarrow(c) {
		return toPacked(c, func(c *Array[T]) error { return fill(op, r, c, m, span) })
	}
	c = flat(c)
	rows, cols := c.Dims()
	if rows > 0 && cols > 0 {
		const group, most = 256, 1 << 16
		blocks := cols*int(unsafe.Sizeof(*new(T)))/16 + 2 // of 16 bytes; a row may begin and end within one
		grid := backend.Grid2(min(blocks/group+1, most), min(rows, most-1), group, 1)
		from := random.Source{Key: r.Seed, Stream: r.Next}
		if err := random.LaunchFill[T](c.Session(), grid, m, c, from, span); err != nil {
			return err
		}
	}
	r.Next++
	return nil
}
