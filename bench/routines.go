package bench

import (
	"errors"
	"reflect"
	"strings"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/blas/cblas64"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/tandem-gpu/tandem/backend/driverkit/dl"
)

// routines is what is measured of a BLAS, in gonum's form; of complex numbers Gemm alone.
type routines[T number] struct {
	Dot  func(n int, x []T, incX int, y []T, incY int) T
	Nrm2 func(n int, x []T, incX int) T
	Asum func(n int, x []T, incX int) T
	Axpy func(n int, alpha T, x []T, incX int, y []T, incY int)
	Scal func(n int, alpha T, x []T, incX int)
	Gemv func(t blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	Symv func(ul blas.Uplo, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	Ger  func(m, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int)
	Trsv func(ul blas.Uplo, t blas.Transpose, d blas.Diag, n int, a []T, lda int, x []T, incX int)
	Gemm func(tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int)
	Syrk func(ul blas.Uplo, t blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int)
	Trsm func(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha T, a []T, lda int, b []T,
		ldb int)
}

// number is what a BLAS computes with.
type number interface {
	float32 | float64 | complex64 | complex128
}

// letterOf is how the names of routines of a type begin.
func letterOf[T any]() string {
	var v T
	switch any(v).(type) {
	case float32:
		return "s"
	case float64:
		return "d"
	case complex64:
		return "c"
	}
	return "z"
}

// blasOf are Tandem's routines, gonum's own, and OpenBLAS's, nil without it.
type blasOf[T number] struct{ tandem, gonum, openBLAS *routines[T] }

// newBLAS is of T, without any of integers. Tandem's routines are those that gonum uses now, and
// gonum's own whatever is in its place.
func newBLAS[T any](r *runner) (b T) {
	var own gonum.Implementation
	t := r.blas
	switch b := any(&b).(type) {
	case *blasOf[float32]:
		b.tandem, b.gonum = singleRoutines(blas32.Implementation()), singleRoutines(own)
		if t != nil {
			b.openBLAS = t.single.routines()
		}
	case *blasOf[float64]:
		b.tandem, b.gonum = doubleRoutines(blas64.Implementation()), doubleRoutines(own)
		if t != nil {
			b.openBLAS = t.double.routines()
		}
	case *blasOf[complex64]:
		b.tandem = &routines[complex64]{Gemm: cblas64.Implementation().Cgemm}
		b.gonum = &routines[complex64]{Gemm: own.Cgemm}
		if t != nil {
			b.openBLAS = t.singleComplex.routines()
		}
	case *blasOf[complex128]:
		b.tandem = &routines[complex128]{Gemm: cblas128.Implementation().Zgemm}
		b.gonum = &routines[complex128]{Gemm: own.Zgemm}
		if t != nil {
			b.openBLAS = t.doubleComplex.routines()
		}
	}
	return b
}

// singleRoutines and doubleRoutines are those of gonum's BLAS or of one in its place.
func singleRoutines(b blas.Float32) *routines[float32] {
	return &routines[float32]{
		Dot: b.Sdot, Nrm2: b.Snrm2, Asum: b.Sasum, Axpy: b.Saxpy,
		Scal: b.Sscal, Gemv: b.Sgemv, Symv: b.Ssymv, Ger: b.Sger,
		Trsv: b.Strsv, Gemm: b.Sgemm, Syrk: b.Ssyrk, Trsm: b.Strsm,
	}
}

func doubleRoutines(b blas.Float64) *routines[float64] {
	return &routines[float64]{
		Dot: b.Ddot, Nrm2: b.Dnrm2, Asum: b.Dasum, Axpy: b.Daxpy,
		Scal: b.Dscal, Gemv: b.Dgemv, Symv: b.Dsymv, Ger: b.Dger,
		Trsv: b.Dtrsv, Gemm: b.Dgemm, Syrk: b.Dsyrk, Trsm: b.Dtrsm,
	}
}

// realCBLAS is C's form of the routines of real numbers; "?" stands for the type's letter. LAPACK's
// are Fortran's: matrices by columns, and pointers to everything. C's int is 32 bits, of which the
// registers of level 1's arguments have 64.
type realCBLAS[T float32 | float64] struct {
	Dot  func(n int, x []T, incX int, y []T, incY int) T        `sym:"cblas_?dot"`
	Nrm2 func(n int, x []T, incX int) T                         `sym:"cblas_?nrm2"`
	Asum func(n int, x []T, incX int) T                         `sym:"cblas_?asum"`
	Axpy func(n int, alpha T, x []T, incX int, y []T, incY int) `sym:"cblas_?axpy"`
	Scal func(n int, alpha T, x []T, incX int)                  `sym:"cblas_?scal"`
	Gemv func(order, t, m, n int32, alpha T, a []T, lda int32, x []T, incX int32, beta T, y []T,
		incY int32) `sym:"cblas_?gemv"`
	Symv func(order, ul, n int32, alpha T, a []T, lda int32, x []T, incX int32, beta T, y []T,
		incY int32) `sym:"cblas_?symv"`
	Ger  func(order, m, n int32, alpha T, x []T, incX int32, y []T, incY int32, a []T, lda int32) `sym:"cblas_?ger"`
	Trsv func(order, ul, t, d, n int32, a []T, lda int32, x []T, incX int32)                      `sym:"cblas_?trsv"`
	Gemm func(order, tA, tB, m, n, k int32, alpha T, a []T, lda int32, b []T, ldb int32, beta T, c []T,
		ldc int32) `sym:"cblas_?gemm"`
	Syrk func(order, ul, t, n, k int32, alpha T, a []T, lda int32, beta T, c []T,
		ldc int32) `sym:"cblas_?syrk"`
	Trsm func(order, s, ul, t, d, m, n int32, alpha T, a []T, lda int32, b []T,
		ldb int32) `sym:"cblas_?trsm"`
	Getrf func(m, n *int32, a []T, lda *int32, pivots []int32, info *int32)          `sym:"?getrf_"`
	Potrf func(ul *byte, n *int32, a []T, lda, info *int32)                          `sym:"?potrf_"`
	Geqrf func(m, n *int32, a []T, lda *int32, tau, work []T, lwork, info *int32)    `sym:"?geqrf_"`
	Orgqr func(m, n, k *int32, a []T, lda *int32, tau, work []T, lwork, info *int32) `sym:"?orgqr_"`
	Syevd func(job, ul *byte, n *int32, a []T, lda *int32, w, work []T, lwork *int32, iwork []int32, liwork,
		info *int32) `sym:"?syevd_"`
	Gesdd func(job *byte, m, n *int32, a []T, lda *int32, s, u []T, ldu *int32, vt []T, ldvt *int32, work []T,
		lwork *int32, iwork []int32, info *int32) `sym:"?gesdd_"`
}

// complexCBLAS is the same of complex numbers, which C passes by pointers.
type complexCBLAS[T complex64 | complex128] struct {
	Gemm func(order, tA, tB, m, n, k int32, alpha *T, a []T, lda int32, b []T, ldb int32, beta *T, c []T,
		ldc int32) `sym:"cblas_?gemm"`
}

// openBLASTable is what is used of OpenBLAS. Its integers are C's int, as in Debian's
// libopenblas.so.0.
type openBLASTable struct {
	SetThreads func(n int32) `sym:"openblas_set_num_threads"`
	Threads    func() int32  `sym:"openblas_get_num_threads"`
	CoreName   func() string `sym:"openblas_get_corename"`
	Config     func() string `sym:"openblas_get_config"`

	single        realCBLAS[float32]
	double        realCBLAS[float64]
	singleComplex complexCBLAS[complex64]
	doubleComplex complexCBLAS[complex128]
}

func bindOpenBLAS(lib *dl.Library) (*openBLASTable, error) {
	var t openBLASTable
	err := dl.Bind(lib, &t)
	return &t, errors.Join(err,
		bindLetter[float32](lib, &t.single), bindLetter[float64](lib, &t.double),
		bindLetter[complex64](lib, &t.singleComplex), bindLetter[complex128](lib, &t.doubleComplex))
}

// bindLetter binds the functions of a table whose names have a "?" for the letter of T.
func bindLetter[T, Table any](lib *dl.Library, table *Table) error {
	fields := reflect.VisibleFields(reflect.TypeFor[Table]())
	for i, f := range fields {
		fields[i].Tag = reflect.StructTag(strings.Replace(string(f.Tag), "?", letterOf[T](), 1))
	}
	named := reflect.New(reflect.StructOf(fields))
	if err := dl.Bind(lib, named.Interface()); err != nil {
		return err
	}
	*table = named.Elem().Convert(reflect.TypeFor[Table]()).Interface().(Table)
	return nil
}

// The constants of CBLAS.
const (
	cblasRowMajor = 101
	cblasNoTrans  = 111
	cblasTrans    = 112
	cblasUpper    = 121
	cblasLower    = 122
	cblasNonUnit  = 131
	cblasLeft     = 141
)

func cTranspose(t blas.Transpose) int32 {
	if t == blas.NoTrans {
		return cblasNoTrans
	}
	return cblasTrans
}

func cUplo(ul blas.Uplo) int32 {
	if ul == blas.Upper {
		return cblasUpper
	}
	return cblasLower
}

// routines gives C's functions gonum's form. Triangles are those of no transpose and no unit
// diagonal, on the left.
func (c *realCBLAS[T]) routines() *routines[T] {
	const order = cblasRowMajor
	type i = int32
	return &routines[T]{
		Dot: c.Dot, Nrm2: c.Nrm2, Asum: c.Asum, Axpy: c.Axpy, Scal: c.Scal,
		Gemv: func(t blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int) {
			c.Gemv(order, cTranspose(t), i(m), i(n), alpha, a, i(lda), x, i(incX), beta, y, i(incY))
		},
		Symv: func(ul blas.Uplo, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int) {
			c.Symv(order, cUplo(ul), i(n), alpha, a, i(lda), x, i(incX), beta, y, i(incY))
		},
		Ger: func(m, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int) {
			c.Ger(order, i(m), i(n), alpha, x, i(incX), y, i(incY), a, i(lda))
		},
		Trsv: func(ul blas.Uplo, _ blas.Transpose, _ blas.Diag, n int, a []T, lda int, x []T, incX int) {
			c.Trsv(order, cUplo(ul), cblasNoTrans, cblasNonUnit, i(n), a, i(lda), x, i(incX))
		},
		Gemm: func(tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, x []T, ldc int,
		) {
			c.Gemm(order, cTranspose(tA), cTranspose(tB), i(m), i(n), i(k), alpha, a, i(lda), b, i(ldb),
				beta, x, i(ldc))
		},
		Syrk: func(ul blas.Uplo, t blas.Transpose, n, k int, alpha T, a []T, lda int, beta T, x []T, ldc int) {
			c.Syrk(order, cUplo(ul), cTranspose(t), i(n), i(k), alpha, a, i(lda), beta, x, i(ldc))
		},
		Trsm: func(_ blas.Side, ul blas.Uplo, _ blas.Transpose, _ blas.Diag, m, n int, alpha T, a []T, lda int, b []T,
			ldb int,
		) {
			c.Trsm(order, cblasLeft, cUplo(ul), cblasNoTrans, cblasNonUnit, i(m), i(n), alpha, a, i(lda), b, i(ldb))
		},
	}
}

// routines is the same of complex numbers.
func (c *complexCBLAS[T]) routines() *routines[T] {
	type i = int32
	return &routines[T]{
		Gemm: func(tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, x []T, ldc int,
		) {
			c.Gemm(cblasRowMajor, cTranspose(tA), cTranspose(tB), i(m), i(n), i(k), &alpha, a, i(lda), b, i(ldb),
				&beta, x, i(ldc))
		},
	}
}
