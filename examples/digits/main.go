// Command digits recognises handwritten digits by their nearest neighbours, with one matrix
// product.
//
//	go run ./examples/digits
//	go run ./examples/digits -backend opencl
//
// README.md says where the images come from.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/tandem-gpu/tandem/examples/handwriting"
	"github.com/tandem-gpu/tandem/examples/program"
	"github.com/tandem-gpu/tandem/linalg"
)

func main() { program.Main(run) }

// trained is how many images are known. The others are recognised.
const trained = 1000

func run(w io.Writer, spec string) error {
	images, labels, err := handwriting.Load()
	if err != nil {
		return err
	}
	s, err := linalg.Open(spec)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintln(w, "device:", s.Info().Name)

	train, test := images.Slice(0, trained, 0, images.Cols), images.Slice(trained, images.Rows, 0, images.Cols)
	distances, err := squaredDistances(s, test, train)
	if err != nil {
		return err
	}
	known, truth := labels[:trained], labels[trained:]
	for _, k := range []int{1, 3} {
		right := 0
		for i, digit := range truth {
			if vote(distances.Row(i), known, k) == digit {
				right++
			}
		}
		fmt.Fprintf(w, "neighbours %d: %d of %d right, accuracy %.5f\n",
			k, right, len(truth), float64(right)/float64(len(truth)))
	}

	h := sha256.New()
	if err := binary.Write(h, binary.LittleEndian, distances.Data); err != nil {
		return err
	}
	fmt.Fprintf(w, "digest of the distances: %x\n", h.Sum(nil))
	return nil
}

// squaredDistances is |x|^2 + |y|^2 - 2*x.y for every row x of a and every row y of b.
func squaredDistances(s *linalg.Session, a, b linalg.Matrix[float32]) (linalg.Matrix[float32], error) {
	ctx := context.Background()
	bT, err := linalg.Transpose(b, linalg.On(s), linalg.WithContext(ctx))
	if err != nil {
		return bT, err
	}
	d, err := linalg.MatMul(a, bT, linalg.On(s), linalg.WithContext(ctx))
	if err != nil {
		return d, err
	}
	aa, bb := squares(a), squares(b)
	for i := range d.Rows {
		row := d.Row(i)
		for j, xy := range row {
			row[j] = aa[i] + bb[j] - 2*xy // whole numbers below 2^24: nothing is rounded
		}
	}
	return d, nil
}

// squares is |x|^2 for every row x of m.
func squares(m linalg.Matrix[float32]) []float32 {
	sums := make([]float32, m.Rows)
	for i := range sums {
		for _, v := range m.Row(i) {
			sums[i] += v * v
		}
	}
	return sums
}

// vote is the digit that most of the k nearest images show. Of images at one distance the first is
// nearer; of digits with as many votes the lowest wins.
func vote(distances []float32, digits []int32, k int) int32 {
	order := make([]int, len(distances))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(distances[i], distances[j]) })
	var votes [10]int
	for _, i := range order[:k] {
		votes[digits[i]]++
	}
	return int32(slices.Index(votes[:], slices.Max(votes[:])))
}
