package userkernel

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/files"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
	"github.com/tandem-gpu/tandem/element"
)

// An arg is one parsed --arg: a scalar, a file, or an array of zeros.
type arg struct {
	text   string        // as the user gave it, "" for what is not of --arg
	kind   string        // of a scalar: "i32", ...
	scalar backend.Arg   // Size is 0 for what is not a scalar
	path   string        // the .npy file; "" for an array of zeros
	typ    element.Type  // of an array of zeros
	shape  []int         // of an array of zeros
	result bool          // written to a file of -o after the run
	data   files.Operand // the array, once it is loaded
}

// failed adds to an error which argument it is about.
func (a *arg) failed(err error) error {
	if err == nil || a.text == "" {
		return err
	}
	return fmt.Errorf("--arg %s: %w", a.text, err)
}

func (a *arg) isArray() bool { return a.scalar.Size == 0 }

// maxDim is the largest dimension of a matrix.
const maxDim = math.MaxInt32

// parseArg reads one --arg:
//
//	FILE.npy, in:FILE     an array, copied to the device
//	inout:FILE            the same, and a result
//	out:TYPE:SHAPE        an array of zeros and a result; TYPE is f4, f8 or i4, SHAPE is RxC or N
//	i32:N u32:N i64:N u64:N f32:X f64:X   a number
//
// What precedes the first colon decides. Without one of these words it is a file name, which must
// end in .npy then.
func parseArg(text string) (arg, error) {
	a := arg{text: text}
	kind, rest, named := strings.Cut(text, ":")
	var err error
	switch {
	case named && (kind == "in" || kind == "inout"):
		a.path, a.result = rest, kind == "inout"
		if rest == "" {
			err = errors.New("no file name after the colon")
		}
	case named && kind == "out":
		a.result = true
		a.typ, a.shape, err = parseZeros(rest)
	case named && numbers[kind] != "":
		a.kind = kind
		a.scalar, err = parseScalar(kind, rest)
	case strings.HasSuffix(strings.ToLower(text), ".npy"):
		a.path = text
	default:
		err = errors.New("it is none of FILE.npy, in:FILE, inout:FILE, out:TYPE:SHAPE, and i32:, u32:, i64:, u64:, " +
			"f32: or f64: with a number")
	}
	if err != nil {
		return arg{}, usage.Errorf("--arg %s: %w", text, err)
	}
	return a, nil
}

// parseZeros reads TYPE:SHAPE.
func parseZeros(text string) (typ element.Type, shape []int, err error) {
	name, dims, ok := strings.Cut(text, ":")
	if !ok {
		return 0, nil, errors.New("an array of zeros is out:TYPE:SHAPE, as in out:f4:64x64")
	}
	if typ, err = element.ParseType(name); err != nil {
		return 0, nil, err
	}
	shape, err = ParseDims(dims, 2, 0)
	if err != nil {
		return 0, nil, err
	}
	elements := 1.0
	for _, d := range shape {
		elements *= float64(d)
	}
	if elements*8 > math.MaxInt64/2 {
		return 0, nil, fmt.Errorf("%s elements are more than any memory holds", dims)
	}
	return typ, shape, nil
}

// ParseDims reads "6", "6x6" or "6x6x6": up to most whole numbers of at least least.
func ParseDims(text string, most, least int) ([]int, error) {
	parts := strings.Split(text, "x")
	if len(parts) > most {
		return nil, fmt.Errorf("%q has %d dimensions; at most %d are possible", text, len(parts), most)
	}
	dims := make([]int, len(parts))
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil || int(n) < least {
			return nil, fmt.Errorf("%q is not a whole number from %d to %d; dimensions are written as in 64 or 64x32",
				part, least, maxDim)
		}
		dims[i] = int(n)
	}
	return dims, nil
}

// numbers are the kinds of scalars, and what each is.
var numbers = map[string]string{
	"i32": "an int32, from -2^31 to 2^31-1", "u32": "a uint32, from 0 to 2^32-1",
	"i64": "an int64, from -2^63 to 2^63-1", "u64": "a uint64, from 0 to 2^64-1",
	"f32": "a float32", "f64": "a float64",
}

// parseScalar reads a number. Integers may be in any base that Go knows (0x1f, 0b11).
func parseScalar(kind, text string) (a backend.Arg, err error) {
	var i int64
	var u uint64
	var f float64
	bits, _ := strconv.Atoi(kind[1:])
	switch kind[0] {
	case 'i':
		i, err = strconv.ParseInt(text, 0, bits)
	case 'u':
		u, err = strconv.ParseUint(text, 0, bits)
	case 'f':
		f, err = strconv.ParseFloat(text, bits)
	}
	if err != nil {
		return a, errors.New("it is not " + numbers[kind])
	}
	return map[string]backend.Arg{
		"i32": backend.Int32(int32(i)), "u32": backend.Uint32(uint32(u)), "i64": backend.Int64(i),
		"u64": backend.Uint64(u), "f32": backend.Float32(float32(f)), "f64": backend.Float64(f),
	}[kind], nil
}

// parseGrid reads --grid and --block.
func parseGrid(groups, local string) (g backend.Grid, err error) {
	for _, f := range []struct {
		flag, text string
		least      int
		dims       *[3]int
	}{{"--grid", groups, 0, &g.Groups}, {"--block", local, 1, &g.Local}} {
		if f.text == "" {
			return g, usage.Errorf("no %s: give %[1]s N, NxN or NxNxN", f.flag)
		}
		dims, err := ParseDims(f.text, 3, f.least)
		if err != nil {
			return g, usage.Errorf("%s %s: %w", f.flag, f.text, err)
		}
		*f.dims = [3]int{1, 1, 1}
		copy(f.dims[:], dims)
	}
	return g, nil
}

// parseMacros reads NAME=VALUE, or NAME for NAME=1.
func parseMacros(defines []string) (map[string]string, error) {
	macros := map[string]string{}
	for _, d := range defines {
		name, value, given := strings.Cut(d, "=")
		if !given {
			value = "1"
		}
		if !identifier.MatchString(name) {
			return nil, usage.Errorf("-D %s: %q is not the name of a macro; write NAME=VALUE or NAME", d, name)
		}
		if _, twice := macros[name]; twice {
			return nil, usage.Errorf("-D %s: %s is defined twice", d, name)
		}
		if strings.ContainsAny(value, "\n\r\x00") {
			return nil, usage.Errorf("-D %q: a value is a single line", d)
		}
		macros[name] = value
	}
	return macros, nil
}

// identifier is a name in C.
var identifier = regexp.MustCompile(`^[A-Za-z_][0-9A-Za-z_]*$`)
