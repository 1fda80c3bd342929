package gonumblas

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// ours is every routine that does not go to gonum at once.
const ours = `Ddot Dasum Dnrm2 Idamax Daxpy Dscal Dgemv Dsymv Dger Dsyr Dsyr2 Dtrmv Dtrsv
	Sdot Sasum Snrm2 Isamax Saxpy Sscal Sgemv Ssymv Sger Ssyr Ssyr2 Strmv Strsv Dsdot Sdsdot
	Dgemm Dsymm Dsyrk Dsyr2k Dtrmm Dtrsm Sgemm Ssymm Ssyrk Ssyr2k Strmm Strsm
	Zgemm Zsymm Zhemm Zsyrk Zherk Zsyr2k Zher2k Ztrmm Ztrsm
	Cgemm Csymm Chemm Csyrk Cherk Csyr2k Cher2k Ctrmm Ctrsm`

// No increment or leading dimension reaches outside a slice, though (n-1)*inc overflows to a small
// number, or to one below zero: in gonum, which is given wrong arguments, too.
func TestNothingOutside(t *testing.T) {
	s, _ := open(t, "cpu")
	use(t, s)
	const big = math.MaxInt/4 + 1 // 1<<61
	for _, name := range strings.Fields(ours) {
		method := reflect.ValueOf(blas64.Implementation()).MethodByName(name)
		if _, failed := callWith(method, -1, 0); failed != nil {
			t.Fatalf("%s of valid arguments: %v", name, failed)
		}
		for k := range slicesOf(method.Type()) {
			for _, step := range []int{big - 1000, big, big + 1, big/2 - 3, 2*big - 1, math.MaxInt} {
				changed, failed := callWith(method, k, step)
				if changed || failed == nil {
					t.Errorf("%s, slice %d with step %d: panic %v, changed outside: %t", name, k, step, failed, changed)
				}
			}
		}
	}
}

// slicesOf is how many parameters are slices.
func slicesOf(f reflect.Type) (n int) {
	for i := range f.NumIn() {
		if f.In(i).Kind() == reflect.Slice {
			n++
		}
	}
	return n
}

// callWith calls a routine of BLAS with matrices and vectors of 9, which lie in the middle of more
// memory, all 9 apart but for the wrong one, whose step is given. It tells whether that memory has
// changed, and the panic.
func callWith(method reflect.Value, wrong, step int) (changed bool, failed any) {
	const n, length, around = 9, 100, 2000
	var args, memories []reflect.Value
	afterSlice := false
	for i := range method.Type().NumIn() {
		p := method.Type().In(i)
		v := reflect.New(p).Elem()
		switch v.Interface().(type) {
		case blas.Transpose:
			v.SetUint(uint64(blas.NoTrans))
		case blas.Uplo:
			v.SetUint(uint64(blas.Upper))
		case blas.Side:
			v.SetUint(uint64(blas.Left))
		case blas.Diag:
			v.SetUint(uint64(blas.Unit))
		case int:
			v.SetInt(n)
			if afterSlice && len(memories)-1 == wrong {
				v.SetInt(int64(step))
			}
		case float32, float64, complex64, complex128:
			set(v, 2)
		default:
			memory := reflect.MakeSlice(p, 2*around+length, 2*around+length)
			memories = append(memories, memory)
			v.Set(memory.Slice3(around, around+length, around+length))
			for j := range length {
				set(v.Index(j), 1)
			}
			for j := range around {
				set(memory.Index(j), 7)
				set(memory.Index(around+length+j), 7)
			}
		}
		afterSlice = p.Kind() == reflect.Slice
		args = append(args, v)
	}
	defer func() {
		failed = recover()
		for _, m := range memories {
			for j := range around {
				changed = changed || !is(m.Index(j), 7) || !is(m.Index(around+length+j), 7)
			}
		}
	}()
	method.Call(args)
	return
}

func set(v reflect.Value, x float64) {
	if v.CanComplex() {
		v.SetComplex(complex(x, 0))
	} else {
		v.SetFloat(x)
	}
}

func is(v reflect.Value, x float64) bool {
	if v.CanComplex() {
		return v.Complex() == complex(x, 0)
	}
	return v.Float() == x
}
