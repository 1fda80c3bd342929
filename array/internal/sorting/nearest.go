package sorting

import (
	"math"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
)

// A Metric is how Nearest makes a distance of a product.
type Metric int

// What array has by the same names.
const (
	SquaredEuclidean Metric = iota
	InnerProduct
	Cosine
)

// nearestItems is the work-items of a group that looks for the nearest, and nearestColumns how many
// columns are looked at together.
const (
	nearestItems   = 32
	nearestColumns = 512
)

// Nearest keeps in pairs, k for each row of products, those that are nearest: of what was there,
// and of the columns of products, whose numbers begin at first. A row of pairs is a heap with its
// last pair at the top; pairs of all ones stand for none. A group takes a row at a time. q and p
// have what distance takes for each row and each column.
//
//tandem:kernel float32 int32
//tandem:group 32
func Nearest[D float32 | int32](it gpu.Item, pairs []uint64, products gpu.Matrix[D], q, p []D, m Metric, first, k int) {
	block := gpu.Local[[nearestColumns]D](it)
	hits := gpu.Local[[nearestItems]bool](it)
	l := it.Local(0)
	for i := it.Group(0); i < products.Rows; i += it.Groups(0) {
		heap := pairs[i*k : (i+1)*k]
		worst := distanceOf[D](heap[0])
		for j := 0; j < products.Cols; j += nearestColumns {
			end := min(j+nearestColumns, products.Cols)
			hit := false
			for c := j + l; c < end; c += nearestItems {
				d := distance(m, products.At(i, c), q[i], p[c])
				block[c-j] = d
				hit = hit || !(d >= worst) // a NaN may be nearer than none
			}
			hits[l] = hit
			if !it.Any(hit) {
				continue
			}
			if l == 0 {
				for from := range nearestItems {
					for c := j + from; hits[from] && c < end; c += nearestItems {
						if pair := pairOf(block[c-j], first+c); pair < heap[0] {
							replaceTop(heap, pair)
						}
					}
				}
			}
			it.Barrier()
			worst = distanceOf[D](heap[0])
		}
	}
}

// distance is that of two vectors with the product xy, and with x and y their products with
// themselves or, for Cosine, what Inverse makes of these. It is never -0.
func distance[D float32 | int32](m Metric, xy, x, y D) D {
	sum := x + y
	switch {
	case m == InnerProduct:
		return 0 - xy
	case sum*0 != 0: // beyond the type, or NaN
		return sum
	case m == Cosine:
		return 1 - min(max(D(xy*x)*y, -1), 1)
	}
	return max(gpu.FMA(-2, xy, sum), 0)
}

// Inverse makes a square the inverse of its root: of 0 it is 0, and of an infinity that.
//
//tandem:map
func Inverse(x float32) float32 {
	if x == 0 || x-x != 0 {
		return x
	}
	return 1 / float32(math.Sqrt(float64(x)))
}

// pairOf is a key of a distance, in the order of Sort, above a number.
func pairOf[D float32 | int32](d D, number int) uint64 {
	key := uint32(int32(d)) ^ 1<<31
	if D(1)/D(2) != 0 { // a float
		const nan32 = 0x7f800000 // what is above this without its sign is NaN
		key = math.Float32bits(float32(d))
		switch {
		case key&^(1<<31) > nan32:
			key = math.MaxUint32
		case key>>31 != 0:
			key = ^key
		default:
			key |= 1 << 31
		}
	}
	return uint64(key)<<32 | uint64(number)
}

// distanceOf is the distance in a pair.
func distanceOf[D float32 | int32](pair uint64) D {
	key := uint32(pair >> 32)
	if D(1)/D(2) == 0 {
		return D(int32(key ^ 1<<31))
	}
	if key>>31 != 0 {
		key ^= 1 << 31
	} else {
		key = ^key
	}
	return D(math.Float32frombits(key))
}

// replaceTop puts a pair into a heap, in place of its top.
func replaceTop(heap []uint64, pair uint64) {
	at := 0
	for child := 1; child < len(heap); child = 2*at + 1 {
		if child+1 < len(heap) && heap[child+1] > heap[child] {
			child++
		}
		if heap[child] <= pair {
			break
		}
		heap[at] = heap[child]
		at = child
	}
	heap[at] = pair
}

// Apart makes index and distances of rows of pairs.
//
//tandem:kernel float32 int32
func Apart[D float32 | int32](it gpu.Item, index gpu.Matrix[int32], distances gpu.Matrix[D], pairs []uint64) {
	for i := it.Global(1); i < index.Rows; i += it.GlobalSize(1) {
		for j := it.Global(0); j < index.Cols; j += it.GlobalSize(0) {
			pair := pairs[i*index.Cols+j]
			index.Set(i, j, int32(pair))
			distances.Set(i, j, distanceOf[D](pair))
		}
	}
}

// NearestGrid is a grid for Nearest of so many rows.
func NearestGrid(rows int) backend.Grid { return backend.Grid1(min(rows, 1<<15), nearestItems) }
