package np_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/array/np"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/internal/inside"
	"github.com/tandem-gpu/tandem/internal/racetest"
	"github.com/tandem-gpu/tandem/linalg"
)

func open(t *testing.T, spec string) *linalg.Session {
	t.Helper()
	s, err := linalg.Open(spec)
	if err != nil {
		backendtest.Require(t, spec, err)
		t.SkipNow()
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// check compares an array, its shape included, with rows.
func check[T comparable](t *testing.T, what string, got *np.Array[T], want ...[]T) {
	t.Helper()
	m, err := got.Download()
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	rows := make([][]T, m.Rows)
	for i := range rows {
		rows[i] = m.Row(i)
	}
	if !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("%s: %v, want %v", what, rows, want)
	}
}

type (
	f = []float32
	i = []int32
	b = []bool
)

// Every form of function gives the shape and the elements that NumPy gives, on every device.
func TestForms(t *testing.T) {
	for _, spec := range []string{"cpu", "opencl", "cuda", "cudasim"} {
		t.Run(spec, func(t *testing.T) {
			if spec == "cudasim" && racetest.Enabled {
				t.Skip("minutes of simulation under the race detector")
			}
			testForms(t, open(t, spec))
		})
	}
}

func testForms(t *testing.T, s *linalg.Session) {
	x := np.FromRows(s, [][]float32{{3, 1, 2}, {4, 6, 5}})
	row, column := np.FromSlice(s, f{10, 20, 30}), np.FromColumn(s, f{1, 2})

	check(t, "of each", np.Neg(x), f{-3, -1, -2}, f{-4, -6, -5})
	check(t, "and a row", np.Add(x, row), f{13, 21, 32}, f{14, 26, 35})
	check(t, "a column and a row", np.Mul(column, row), f{10, 20, 30}, f{20, 40, 60})
	check(t, "and an integer", np.Sub(x, 1), f{2, 0, 1}, f{3, 5, 4})
	check(t, "and a number", np.Mul(x, 0.5), f{1.5, .5, 1}, f{2, 3, 2.5})
	check(t, "compared", np.Greater(x, row), b{false, false, false}, b{false, false, false})
	check(t, "compared with a number", np.Less(x, 4), b{true, true, true}, b{false, false, false})
	check(t, "masks", np.Or(np.Less(x, 2), np.Greater(x, 5)), b{false, true, false}, b{false, true, false})
	check(t, "int32", np.BitAnd(np.Convert[int32](x), 3), i{3, 1, 2}, i{0, 2, 1})

	check(t, "over all", np.Sum(x), f{21})
	check(t, "over rows", np.Sum(x, 0), f{7, 7, 7})
	check(t, "over columns", np.Sum(x, 1), f{6}, f{15})
	check(t, "with an argument", np.Var(x, 0, 0), f{.25, 6.25, 2.25})
	check(t, "ArgMax", np.ArgMax(x, 1), i{0}, i{1})
	check(t, "Count", np.Count(np.Greater(x, 2)), i{4})
	check(t, "Any", np.Any(np.Greater(x, 5), 0), b{false, true, false})

	check(t, "Sort", np.Sort(x), f{1, 2, 3}, f{4, 5, 6})
	check(t, "Sort of columns", np.Sort(np.Flip(x, true, false), 0), f{3, 1, 2}, f{4, 6, 5})
	check(t, "ArgSort of columns", np.ArgSort(x, 0), i{0, 0, 0}, i{1, 1, 1})
	check(t, "CumSum", np.CumSum(x, 1), f{3, 4, 6}, f{4, 10, 15})
	check(t, "CumSum of columns", np.CumSum(x, 0), f{3, 1, 2}, f{7, 7, 7})
	check(t, "CumProd of columns", np.CumProd(x, 0), f{3, 1, 2}, f{12, 6, 10})
	check(t, "NanSum", np.NanSum(np.Sqrt(np.Sub(x, 4)), 1), f{0}, f{float32(math.Sqrt2) + 1})
	check(t, "FMax", np.FMax(x, 3), f{3, 3, 3}, f{4, 6, 5})
	check(t, "IsClose", np.IsClose(x, row, 0, 9), b{true, false, false}, b{true, false, false})
	check(t, "Solve", np.Solve(np.Diag(column), column), f{1}, f{1})
	check(t, "Inv", np.Inv(np.Diag(column)), f{1, 0}, f{0, .5})
	check(t, "Pinv", np.Pinv(np.FromSlice(s, f{2, 0}), 0), f{.5}, f{0})
	check(t, "EigenvaluesSym", np.EigenvaluesSym(np.Diag(column)), f{1, 2})
	check(t, "SingularValues", np.SingularValues(np.Diag(column)), f{2, 1})
	check(t, "TakeAlong", np.TakeAlong(x, np.ArgSort(x)), f{1, 2, 3}, f{4, 5, 6})
	check(t, "Softmax of columns", np.Softmax(np.Zeros[float32](s, 2, 3), 0), f{.5, .5, .5}, f{.5, .5, .5})
	check(t, "Diff", np.Diff(x), f{-2, 1}, f{2, -1})
	check(t, "Diff of columns", np.Diff(x, 0), f{1, 5, 3})
	check(t, "Diff of nothing", np.Diff(np.Zeros[float32](s, 2, 0)), f{}, f{})
	wide := int64(1<<60 + 1<<36 + 1)
	check(t, "Add of an int", np.Add(np.Zeros[float32](s, 1, 1), int(wide)), f{float32(int(wide))})
	check(t, "Quantile", np.Quantile(x, 1, 0.5, 1), f{2, 3}, f{5, 6})
	check(t, "Quantile of columns", np.Quantile(x, 0, 0.5, 0), f{3.5, 3.5, 3.5}, f{3, 1, 2})
	largest, at := np.TopK(x, 2)
	check(t, "TopK", largest, f{3, 2}, f{6, 5})
	check(t, "its columns", at, i{0, 2}, i{1, 2})
	largest, at = np.TopK(x, 1, 0)
	check(t, "TopK of columns", largest, f{4, 6, 5})
	check(t, "its rows", at, i{1, 1, 1})

	check(t, "T", np.T(x), f{3, 4}, f{1, 6}, f{2, 5})
	check(t, "MatMul", np.MatMul(x, np.FromColumn(s, f{1, 1, 1})), f{6}, f{15})
	check(t, "TMatMul", np.TMatMul(x, column), f{11}, f{13}, f{12})
	check(t, "MatMulT", np.MatMulT(row, x), f{110, 310})
	check(t, "FMA", np.FMA(x, row, 1), f{31, 21, 61}, f{41, 121, 151})
	check(t, "FMA of numbers", np.FMA(x, 2, 0.5), f{6.5, 2.5, 4.5}, f{8.5, 12.5, 10.5})
	check(t, "FMA of arrays", np.FMA(column, 2, row), f{12, 22, 32}, f{14, 24, 34})
	check(t, "FMA of three arrays", np.FMA(x, x, column), f{10, 2, 5}, f{18, 38, 27})
	check(t, "Where", np.Where(np.Less(x, 3), x, 0), f{0, 1, 2}, f{0, 0, 0})
	check(t, "Where of arrays", np.Where(np.Less(x, 3), x, row), f{10, 1, 2}, f{10, 20, 30})
	check(t, "Clip", np.Clip(x, 2, 5), f{3, 2, 2}, f{4, 5, 5})
	check(t, "Outer", np.Outer(column, row), f{10, 20, 30}, f{20, 40, 60})
	check(t, "Kron", np.Kron(column, row), f{10, 20, 30}, f{20, 40, 60})
	check(t, "Cov", np.Cov(x, 1), f{1, -1}, f{-1, 1})
	check(t, "Corr", np.Corr(np.Concat(0, row, row)), f{1, 1}, f{1, 1})
	check(t, "RMSNorm", np.RMSNorm(np.Ones[float32](s, 1, 2), column.Slice(0, 1, 0, 1), 0), f{1, 1})
	check(t, "LayerNorm", np.LayerNorm(
		np.FromSlice(s, f{-1, 1}), np.Ones[float32](s, 1, 2), column.Slice(1, 2, 0, 1), 0),
		f{1, 3})

	check(t, "Reshape", np.Reshape(x, 1, 6), f{3, 1, 2, 4, 6, 5})
	check(t, "Rows and Cols", np.Cols(np.Rows(x, 1, 2), 1, 3), f{6, 5})
	check(t, "above each other", np.Concat(0, x, row), f{3, 1, 2}, f{4, 6, 5}, f{10, 20, 30})
	check(t, "beside each other", np.Concat(1, column, column), f{1, 1}, f{2, 2})
	check(t, "Pad", np.Pad(column, 1, 0, 1, 0, 7), f{7, 7}, f{7, 1}, f{7, 2})
	check(t, "Roll", np.Roll(row, 0, 1), f{30, 10, 20})
	check(t, "Diag", np.Diag(x), f{3, 6})
	check(t, "Diag of a row", np.Diag(column), f{1, 0}, f{0, 2})
	check(t, "Tril", np.Tril(x, 0), f{3, 0, 0}, f{4, 6, 0})
	check(t, "Triu", np.Triu(x, 0), f{3, 1, 2}, f{0, 6, 5})
	check(t, "TakeRows", np.TakeRows(x, np.FromSlice(s, i{1, 1})), f{4, 6, 5}, f{4, 6, 5})
	check(t, "TakeCols", np.TakeCols(x, np.FromSlice(s, i{2})), f{2}, f{5})
	check(t, "Compress", np.Compress(x, np.Greater(x, 3)), f{4, 6, 5})
	check(t, "Nonzero", np.Nonzero(np.Greater(x, 3)), i{3, 4, 5})
	elements, counts := np.Unique(np.FromSlice(s, f{2, 1, 2}))
	check(t, "Unique", elements, f{1, 2})
	check(t, "its counts", counts, i{1, 2})
	elements, inverse := np.UniqueInverse(np.FromRows(s, [][]float32{{2, 1}, {2, 2}}))
	check(t, "UniqueInverse", elements, f{1, 2})
	check(t, "its numbers", inverse, i{1, 0}, i{1, 1})
	check(t, "IsIn", np.IsIn(row, np.FromSlice(s, f{20})), b{false, true, false})
	check(t, "SearchSorted", np.SearchSorted(row, column), i{0}, i{0})
	check(t, "SearchSortedRight", np.SearchSortedRight(row, np.FromSlice(s, f{10})), i{1})
	check(t, "Histogram", np.Histogram(row, np.FromSlice(s, f{10, 20, 25, 30})), i{1, 3})

	check(t, "Eye", np.Eye[float32](s, 2), f{1, 0}, f{0, 1})
	check(t, "Full", np.Full(s, 1, 2, int32(7)), i{7, 7})
	check(t, "Range", np.Range[int32](s, 3, 1, 2), i{1, 3, 5})
	check(t, "Linspace", np.Linspace[float32](s, 3, 0, 1), f{0, .5, 1})
	check(t, "Upload and Copy", np.Copy(np.Upload(s, linalg.NewMatrix(1, 2, f{1, 2}))), f{1, 2})
	check(t, "Permutation", np.Sort(np.Permutation(s, &array.Stream{}, 3)), i{0, 1, 2})
	check(t, "Integers", np.Integers(s, &array.Stream{}, 1, 2, 5, 6), i{5, 5})
	check(t, "Choice", np.Choice(&array.Stream{}, np.FromSlice(s, f{0, 1}), 3), i{1, 1, 1})
	check(t, "Shuffle", np.Sort(np.Shuffle(&array.Stream{}, np.FromColumn(s, f{2, 1})), 0), f{1}, f{2})
	for _, random := range []*np.Array[float32]{
		np.Uniform[float32](s, &array.Stream{}, 2, 3), np.Normal[float32](s, &array.Stream{}, 2, 3),
	} {
		check(t, "random numbers", np.Sum(np.Convert[int32](np.IsFinite(random))), i{6})
	}
}

// What fails carries the error, with its place, to the end, and what is made of it is that error.
func TestErrors(t *testing.T) {
	s := open(t, "cpu")
	x, y := np.Zeros[float32](s, 2, 3), np.Zeros[float32](s, 3, 2)
	bad := np.Add(x, y) // this line
	if err := bad.Err(); !errors.Is(err, linalg.ErrShape) || !strings.HasPrefix(err.Error(), "np_test.go:") ||
		!strings.Contains(err.Error(), "array.add") {
		t.Fatalf("an addition of other shapes: %v", err)
	}
	want := bad.Err()
	mask := np.Less(bad, 1)
	_, counts := np.Unique(bad)
	largest, columns := np.TopK(bad, 1)
	_, download := bad.Download()
	_, at := bad.At(0, 0)
	_, reshape := bad.Reshape(1, 1)
	_, view := bad.View()
	_, total := array.Total(bad)
	c := np.Zeros[float32](s, 2, 3)
	for what, err := range map[string]error{
		"of each":  np.Exp(bad).Err(),
		"first":    np.Mul(bad, x).Err(),
		"second":   np.Mul(x, bad).Err(),
		"sum":      np.Sum(bad, 0).Err(),
		"mask":     np.Where(mask, x, 0).Err(),
		"other":    np.Where(np.Less(x, 1), x, bad).Err(),
		"FMA":      np.FMA(x, 1, bad).Err(),
		"MatMul":   np.MatMul(y, bad).Err(),
		"TMatMul":  np.TMatMul(bad, y).Err(),
		"T":        np.T(bad).Err(),
		"Slice":    bad.Slice(1, 2, 0, 1).Err(),
		"Rows":     np.Rows(bad, 5, 9).Err(),
		"Reshape":  np.Reshape(bad, 1, 6).Err(),
		"Concat":   np.Concat(0, x, bad).Err(),
		"TakeRows": np.TakeRows(x, np.Convert[int32](bad)).Err(), "Unique": counts.Err(), "TopK": largest.Err(),
		"columns":   columns.Err(),
		"Compress":  np.Compress(x, mask).Err(),
		"Sort":      np.Sort(bad, 0).Err(),
		"IsIn":      np.IsIn(x, bad).Err(),
		"LayerNorm": np.LayerNorm(x, x, bad, 0).Err(), "Histogram": np.Histogram(bad, x).Err(), "Err": np.Err(x, bad),
		"Download":      download,
		"At":            at,
		"array.Reshape": reshape,
		"View":          view,
		"Total":         total,
		"Set":           bad.Set(0, 0, 1),
		"WriteNPY":      bad.WriteNPY(io.Discard),
		"WriteRaw":      bad.WriteRaw(io.Discard),
		"ReadRaw":       bad.ReadRaw(strings.NewReader("")),
		"array.Add":     array.Add(c, x, bad),
		"into it":       array.Add(bad, x, x),
		"array.Sum":     array.Sum(c, bad),
		"array.Sort":    array.Sort(c, bad),
		"Array.Add":     c.Add(x, bad),
		"Array.Mul":     c.Mul(bad, x),
		"its Mul":       bad.Mul(x, y),
		"Transpose":     c.Transpose(bad),
		"Scale":         c.Scale(2, bad),
		"CopyFrom":      bad.CopyFrom(linalg.NewMatrix[float32](2, 3, nil)),
		"Normal":        array.Normal(&array.Stream{}, bad),
	} {
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	if printed := fmt.Sprintf("%.3f", bad); printed != "%!f("+want.Error()+")" {
		t.Errorf("printed: %s", printed)
	}
	if err := bad.Free(); err != nil {
		t.Error(err)
	}
}

// What cannot be is an error that says why.
func TestBadInput(t *testing.T) {
	s, other := open(t, "cpu"), open(t, "cpu")
	x := np.Ones[float32](s, 2, 3)
	for want, err := range map[string]error{
		"an array is nil":                       np.Exp[float32](nil).Err(),
		"np: invalid argument: an array is nil": np.Add(x, (*np.Array[float32])(nil)).Err(),
		"1.5 is no int32":                       np.Mul(np.Zeros[int32](s, 1, 1), 1.5).Err(),
		"3e+09 is no int32":                     np.FMA(np.Zeros[int32](s, 1, 1), 1, 3e9).Err(),
		"axis is [2]: it is 0, over":            np.Sum(x, 2).Err(),
		"axis is [0 1]: it is 0, over":          np.Max(x, 0, 1).Err(),
		"axis is [-1]: it is 0, down":           np.Sort(x, -1).Err(),
		"axis is 2, and":                        np.Concat(2, x).Err(),
		"Concat of nothing":                     np.Concat[float32](0).Err(),
		"belongs to another session":            np.Add(x, np.Ones[float32](other, 2, 3)).Err(),
		"row 1 has 1 elements, and row 0 has 2": np.FromRows(s, [][]float32{{1, 2}, {3}}).Err(),
		"there is no session":                   np.Zeros[float32](nil, 1, 1).Err(),
		"of rows or columns is below 0":         np.Pad(x, -1, 0, 0, 0, 0).Err(),
		"row or a column of 2 elements or more": np.Histogram(np.Zeros[float32](s, 0, 1), x).Err(),
		"an Array that nothing has made":        np.Exp(new(np.Array[float32])).Err(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "np_test.go:") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	largest, columns := np.TopK(x, 9)
	_, rows := np.TopK(x, 1, 5)
	for _, err := range []error{
		largest.Err(), columns.Err(), rows.Err(), np.Diff(x, 2).Err(), np.Quantile(x, 2, 0.5).Err(),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "np_test.go:") {
			t.Errorf("%v, want an error", err)
		}
	}
	negative, _ := np.TopK(x, -1)
	for _, a := range []*np.Array[float32]{
		negative, np.Sum(x, 2), np.Sort(x, 2), np.Diff(x, 2), np.Quantile(x, 2, 0.5), np.Quantile(x, 1),
		np.Concat(2, x), np.Pad(x, 0, 0, 0, -1, 0), np.Convert[float32](np.Add(np.Zeros[int32](s, 1, 1), 2.5)),
	} {
		if err := a.Err(); !errors.Is(err, backend.ErrArgument) {
			t.Errorf("%v, want backend.ErrArgument", err)
		}
	}
	if err := largest.Session().Close(); err != largest.Err() {
		t.Errorf("closing what a failed array has: %v", err)
	}
	if err := inside.Failed[float32](nil).Err(); err == nil {
		t.Error("Failed without an error has none")
	}
}

// Failed arrays of several goroutines know their own errors.
func TestConcurrently(t *testing.T) {
	s := open(t, "cpu")
	x := np.Ones[float32](s, 1, 100)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for range 50 {
				good, bad := np.Sum(np.Mul(x, n)), np.Add(x, np.Ones[float32](s, 1, 2+n))
				check(t, "a sum", good, f{float32(100 * n)})
				if err := np.Exp(bad).Err(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("1x%d", 2+n)) {
					t.Errorf("%d: %v", n, err)
				}
			}
		})
	}
	wg.Wait()
}

// functions.go is what generate.go writes.
func TestGenerated(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"array", "array/np"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"../*.go": "array", "generate.go": "array/np"} {
		files, err := filepath.Glob(from)
		if err != nil || len(files) == 0 {
			t.Fatal(from, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, to, filepath.Base(file)), text, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.Command("go", "run", "generate.go")
	cmd.Dir = filepath.Join(dir, "array/np")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(cmd.Dir, "functions.go"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("functions.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("functions.go is out of date: go generate ./array/np")
	}
}

// Package np has what package array has, but for what is named here.
func TestComplete(t *testing.T) {
	exported := func(dir string) map[string]bool {
		names := map[string]bool{}
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range tree.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.IsExported() {
					names[d.Name.Name] = true
				}
			}
		}
		return names
	}
	left := exported("..")
	for name := range exported(".") {
		delete(left, name)
	}
	for _, name := range strings.Fields(`
		AllClose Dot Total Trace Value
		AddRows Fill PutAlong PutRows
		GemmMixed MatMulMixed
		Elementary NewPoints Operations Reductions ReductionOf MergeShares ReduceContext ReduceNPY
		ReduceShare`) {
		// numbers; what changes an array in place; of 16 bits; beyond arrays
		if !left[name] {
			t.Errorf("%s is no function of array alone", name)
		}
		delete(left, name)
	}
	for name := range left {
		t.Errorf("package np has no %s", name)
	}
}
