//go:build purego || !amd64

package host

// There are no products with vectors in assembly.
var hasVectors = false

func nativeColumns[T Float](int, *T, int, *T, *T)                             { panic(noVectors) }
func nativeCross[T Float](int, *T, int, *T, *T, *T, *T)                       { panic(noVectors) }
func nativeChains[T Float](int, int, *T, int, int, *T, int, *T, int)          { panic(noVectors) }
func nativeRows[T Float](int, *T, int, *T, *T)                                { panic(noVectors) }
func nativePanel[T Float](int, int, *T, int, *T, *T)                          { panic(noVectors) }
func nativeOuter[T Float](int, int, int, T, *T, *T, int, *T, int)             { panic(noVectors) }
func nativeSubstitute[T Float](int, *T, int, int, *T, int, bool)              { panic(noVectors) }
func nativeMultiply[T Float](bool, bool, int, *T, int, int, *T, int, *T)      { panic(noVectors) }
func nativeSymmetric[T Float](bool, int, *T, int, *T, *T)                     { panic(noVectors) }
func nativeComplexRow[T Float](int, int, *T, int, *T, *T, int, int, *T, bool) { panic(noVectors) }
func nativeComplexDivide[T Float](int, *T, *T, bool)                          { panic(noVectors) }
func nativeDot[T Float](int, *T, *T) float64                                  { panic(noVectors) }
func nativeAsum[T Float](int, *T) float64                                     { panic(noVectors) }

const noVectors = "host: no vector instructions"

// addOuter2 is addOuter, and then that for u and v.
func addOuter2[T Float](m, n, dn int, alpha T, x, y *T, dy int, a *T, da int, u, v *T) {
	addOuter(m, n, dn, alpha, x, y, dy, a, da)
	addOuter(m, n, dn, alpha, u, v, dy, a, da)
}
