package host

import "github.com/tandem-gpu/tandem/element"

// A half is a number of 16 bits.
type half interface {
	element.Float16 | element.BFloat16
}

// Widen makes dst the numbers of src, of rows by cols.
func Widen[H half](rows, cols int, src []H, lds int, dst []float32, ldd int) {
	if cols == 0 { // src and dst may have nothing between their rows, either
		return
	}
	bands[float32](rows, cols, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			widenRow(src[i*lds:][:cols], dst[i*ldd:][:cols])
		}
	})
}

// widenRow is Widen of a row. Loops of their own keep the conversions inlined.
func widenRow[H half](src []H, dst []float32) {
	switch src := any(src).(type) {
	case []element.Float16:
		for j, x := range src {
			dst[j] = x.Float32()
		}
	case []element.BFloat16:
		for j, x := range src {
			dst[j] = x.Float32()
		}
	}
}

// Narrow makes dst the numbers of src, of rows by cols, rounded to 16 bits.
func Narrow[H half](rows, cols int, src []float32, lds int, dst []H, ldd int) {
	if cols == 0 { // src and dst may have nothing between their rows, either
		return
	}
	bands[float32](rows, cols, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			narrowRow(src[i*lds:][:cols], dst[i*ldd:][:cols])
		}
	})
}

func narrowRow[H half](src []float32, dst []H) {
	switch dst := any(dst).(type) {
	case []element.Float16:
		for j, x := range src {
			dst[j] = element.ToFloat16(x)
		}
	case []element.BFloat16:
		for j, x := range src {
			dst[j] = element.ToBFloat16(x)
		}
	}
}
