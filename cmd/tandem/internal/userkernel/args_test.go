package userkernel

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
	"github.com/tandem-gpu/tandem/element"
)

func TestParseArg(t *testing.T) {
	for _, test := range []struct {
		text string
		want arg
	}{
		{"in.npy", arg{path: "in.npy"}},
		{"dir/IN.NPY", arg{path: "dir/IN.NPY"}},
		{`C:\data\in.npy`, arg{path: `C:\data\in.npy`}},
		{"odd:name.npy", arg{path: "odd:name.npy"}},
		{"in:/dev/fd/63", arg{path: "/dev/fd/63"}},
		{"in:i32:7.npy", arg{path: "i32:7.npy"}},
		{"inout:x.npy", arg{path: "x.npy", result: true}},
		{"out:f4:64x32", arg{typ: element.Float32, shape: []int{64, 32}, result: true}},
		{"out:f8:7", arg{typ: element.Float64, shape: []int{7}, result: true}},
		{"out:i4:0x5", arg{typ: element.Int32, shape: []int{0, 5}, result: true}},
		{"out:i4:2147483647", arg{typ: element.Int32, shape: []int{math.MaxInt32}, result: true}},
		{"i32:-2147483648", arg{scalar: backend.Int32(math.MinInt32)}},
		{"i32:0x7fffffff", arg{scalar: backend.Int32(math.MaxInt32)}},
		{"u32:4294967295", arg{scalar: backend.Uint32(math.MaxUint32)}},
		{"i64:-9223372036854775808", arg{scalar: backend.Int64(math.MinInt64)}},
		{"u64:18446744073709551615", arg{scalar: backend.Uint64(math.MaxUint64)}},
		{"f32:1.5", arg{scalar: backend.Float32(1.5)}},
		{"f32:-inf", arg{scalar: backend.Float32(float32(math.Inf(-1)))}},
		{"f32:1e-45", arg{scalar: backend.Float32(math.SmallestNonzeroFloat32)}},
		{"f64:-0", arg{scalar: backend.Float64(math.Copysign(0, -1))}},
		{"f64:0x1p-1074", arg{scalar: backend.Float64(math.SmallestNonzeroFloat64)}},
	} {
		test.want.text = test.text
		if test.want.scalar.Size > 0 {
			test.want.kind, _, _ = strings.Cut(test.text, ":")
		}
		got, err := parseArg(test.text)
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, %v; want %+v", test.text, got, err, test.want)
		}
	}
}

func TestParseArgBad(t *testing.T) {
	for _, test := range []struct{ text, says string }{
		{"", "none of FILE.npy"},
		{":", "none of FILE.npy"},
		{"in.txt", "none of FILE.npy"},
		{"i16:5", "none of FILE.npy"},
		{"I32:5", "none of FILE.npy"},
		{"in:", "no file name"},
		{"inout:", "no file name"},
		{"out:", "out:TYPE:SHAPE"},
		{"out:f4", "out:TYPE:SHAPE"},
		{"out:x.npy", "out:TYPE:SHAPE"},
		{"out:f2:3", `unknown element type "f2"`},
		{"out::3", `unknown element type ""`},
		{"out:f4:", "not a whole number from 0"},
		{"out:f4:3x", "not a whole number"},
		{"out:f4:-3", "not a whole number"},
		{"out:f4:3*4", "not a whole number"},
		{"out:f4:1x2x3", "3 dimensions"},
		{"out:f4:2147483648", "not a whole number"},
		{"out:f4:2147483647x2147483647", "more than any memory holds"},
		{"i32:", "not an int32"},
		{"i32:1.0", "not an int32"},
		{"i32:2147483648", "not an int32"},
		{"u32:-1", "not a uint32"},
		{"i64:9223372036854775808", "not an int64"},
		{"u64:18446744073709551616", "not a uint64"},
		{"f32:1e39", "not a float32"},
		{"f32:one", "not a float32"},
		{"f64:1e309", "not a float64"},
	} {
		_, err := parseArg(test.text)
		var wrong usage.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.says) ||
			!strings.HasPrefix(err.Error(), "--arg "+test.text) {
			t.Errorf("%s: %v, want %q", test.text, err, test.says)
		}
	}
}

func TestParseGrid(t *testing.T) {
	for _, test := range []struct {
		grid, block string
		want        backend.Grid
		says        string
	}{
		{"6x6", "6x6", backend.Grid2(6, 6, 6, 6), ""},
		{"36", "8x8", backend.Grid2(36, 1, 8, 8), ""},
		{"1x2x3", "4", backend.Grid3(1, 2, 3, 4, 1, 1), ""},
		{"0", "1", backend.Grid1(0, 1), ""},
		{"", "1", backend.Grid{}, "no --grid: give --grid N"},
		{"1", "", backend.Grid{}, "no --block"},
		{"1", "0", backend.Grid{}, "--block 0: \"0\" is not a whole number from 1"},
		{"1x2x3x4", "1", backend.Grid{}, "4 dimensions"},
		{"six", "1", backend.Grid{}, "--grid six"},
		{"6,6", "1", backend.Grid{}, "--grid 6,6"},
		{"-1", "1", backend.Grid{}, "--grid -1"},
		{"99999999999", "1", backend.Grid{}, "not a whole number"},
	} {
		g, err := parseGrid(test.grid, test.block)
		if test.says == "" && (err != nil || g != test.want) || test.says != "" &&
			(err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%q, %q: %v, %v; want %v, %q", test.grid, test.block, g, err, test.want, test.says)
		}
	}
}

func TestParseMacros(t *testing.T) {
	got, err := parseMacros([]string{"N=4", "T=unsigned int", "_x9", "EMPTY=", "E=a=b"})
	want := map[string]string{"N": "4", "T": "unsigned int", "_x9": "1", "EMPTY": "", "E": "a=b"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, bad := range [][]string{{""}, {"=1"}, {"9N=1"}, {"f(x)=x"}, {"a b=1"}, {"é=1"}, {"N=1", "N=1"}, {"N=1\n2"}} {
		if m, err := parseMacros(bad); err == nil {
			t.Errorf("%q: %v", bad, m)
		}
	}
}

// FuzzParseArg: any text is an argument or an error that says what, and means one thing.
func FuzzParseArg(f *testing.F) {
	for _, text := range []string{
		"", ":", "a.npy", "in:a", "inout:a", "out:f4:1x2", "i32:1", "u64:0x1", "f32:nan", "f64:1e400",
		"out:i4:99999999999x9",
		"out:f4:" + strings.Repeat("1x", 99),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseArg(text)
		if err != nil {
			var wrong usage.Error
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), text) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		scalar, zeros, file := a.scalar.Size != 0, a.shape != nil, a.path != ""
		if a.text != text || scalar && (zeros || file || a.result) || zeros && (file || !a.result) || !scalar &&
			!zeros && !file {
			t.Errorf("%q: %+v", text, a)
		}
		if zeros && (len(a.shape) < 1 || len(a.shape) > 2) {
			t.Errorf("%q: shape %v", text, a.shape)
		}
	})
}
