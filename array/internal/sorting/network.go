package sorting

import "github.com/tandem-gpu/tandem/gpu"

// networkLength is the longest row that Network sorts, and networkRows how many rows a group sorts
// side by side.
const (
	networkLength = 256
	networkRows   = 16
)

// Network sorts rows of n keys, or pairs of which no two are the same, a work-item a row, by
// Batcher's merge exchange (Knuth, "The Art of Computer Programming", volume 3, 5.2.2, algorithm
// M): which of them are compared is the same for all rows.
//
//tandem:kernel uint32 uint64
//tandem:group 16
func Network[P Pair](it gpu.Item, pairs []P, n int) {
	t := gpu.Local[[networkLength * networkRows]P](it)
	l, rows := it.Local(0), len(pairs)/n
	for first := it.Group(0) * networkRows; first < rows; first += it.Groups(0) * networkRows {
		row := first + l
		if row < rows {
			for k := range n {
				t[k*networkRows+l] = pairs[row*n+k]
			}
		}
		for merged := 1; merged < n; merged *= 2 { // sorted sequences of so many become twice as long
			for begin := 0; begin < n; begin += 2 * merged {
				end := min(begin+2*merged, n)
				for apart := merged; apart > 0; apart /= 2 {
					for j := begin + apart%merged; j+apart < end; j += 2 * apart {
						for i := j; i < min(j+apart, end-apart); i++ {
							x, y := t[i*networkRows+l], t[(i+apart)*networkRows+l]
							t[i*networkRows+l], t[(i+apart)*networkRows+l] = min(x, y), max(x, y)
						}
					}
				}
			}
		}
		if row < rows {
			for k := range n {
				pairs[row*n+k] = t[k*networkRows+l]
			}
		}
	}
}
