package array

import "github.com/tandem-gpu/tandem/gpu"

// CumProd makes each element of c the product of the elements of a in its row from the first up to
// there: each is the one before times a's, rounded, so that a row is one chain. int32 wraps around.
// With axis 0 columns are chains, from the first row down. c has the shape of a, which it may be;
// it shares elements with no other a. A row is one work-item's: a few long rows take a GPU long.
func CumProd[T Element](c, a *Array[T], axis ...int) error {
	return along("CumProd", axis, c, a, cumProdEach[T])
}

func cumProdEach[T Element](c, a *Array[T]) error {
	s, rows, _, err := sameDims("CumProd", "c", c, "a", a)
	if err != nil {
		return err
	}
	if err := sameOrApart("CumProd", c, a); err != nil {
		return err
	}
	return launchCumProd[T](s, chains(s, rows), c, a)
}

//tandem:kernel float32 float64 int32
func cumProd[T Element](it gpu.Item, z, x gpu.Matrix[T]) {
	for i := it.Global(0); i < z.Rows; i += it.GlobalSize(0) {
		product := T(1)
		for j := range z.Cols {
			product *= x.At(i, j)
			z.Set(i, j, product)
		}
	}
}
