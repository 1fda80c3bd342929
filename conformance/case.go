package conformance

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/conformance/internal/functions"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/host"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
)

// A Case is one operation on one set of inputs.
type Case struct {
	// "matmul", "addmul", "matmul_naive", "matmul_tiled", "matmul_int8", "matmul_uint8",
	// "transpose", "transpose_naive", "transpose_tiled", an elementwise operation, such as "add",
	// an elementary function, such as "gpu.Exp", a function of package array, such as "array.Sum",
	// or a factorization: "lu", "cholesky", "qr", "eigh", "svd", "solve"
	Kernel string
	Type   element.Type // of the elements
	// M, N and K are the shape: A is M by K and B is K by N in products; elsewhere A is M by N, and
	// K is 0.
	M, N, K int
	Quick   bool // part of the quick run, and of runs on simulated devices

	sets        sets // of parameters, in the full run
	values      values
	gap, offset int // elements after each row, and before the first
	alpha, beta float64
}

// sets says with which parameters a case is run beside those that are chosen for it.
type sets int

const (
	offered sets = iota // those that the device may be given
	every               // on GPUs, all of the tuning data
	none
)

// Name identifies the case: "matmul/float32/uniform/130x70x17/packed/1,0".
func (c *Case) Name() string {
	shape := fmt.Sprintf("%dx%d", c.M, c.N)
	if c.product() {
		shape += fmt.Sprintf("x%d", c.K)
	}
	layout := "packed"
	if c.gap > 0 || c.offset > 0 {
		layout = fmt.Sprintf("gap%d,offset%d", c.gap, c.offset)
	}
	return fmt.Sprintf("%s/%s/%s/%s/%s/%v,%v", c.Kernel, c.Type, c.values, shape, layout, c.alpha, c.beta)
}

func (c *Case) product() bool {
	return strings.HasPrefix(c.Kernel, "matmul") || c.Kernel == "addmul"
}

// bytes tells whether the elements of A and B are words of four bytes.
func (c *Case) bytes() bool { return c.Kernel == "matmul_int8" || c.Kernel == "matmul_uint8" }

// functionPrefix begins the names of cases of elementary functions.
const functionPrefix = "gpu."

// function is the elementary function's number, -1 where it is none.
func (c *Case) function() int {
	name, ok := strings.CutPrefix(c.Kernel, functionPrefix)
	if !ok {
		return -1
	}
	return number(name)
}

// supported tells whether the device of info can run the case: functions for float32 need float64,
// and some of package array's.
func (c *Case) supported(info *backend.Info) bool {
	return kernels.Supports(info, c.Type) && (c.function() < 0 && c.array() == "" || info.Float64)
}

func (c *Case) transpose() bool { return strings.HasPrefix(c.Kernel, "transpose") }

// Cases lists every case, in the order of the bytes of their names.
func Cases() []*Case { return slices.Clone(allCases()) }

var allCases = sync.OnceValue(func() []*Case {
	cases := makeCases()
	slices.SortFunc(cases, func(a, b *Case) int { return strings.Compare(a.Name(), b.Name()) })
	return cases
})

// products are the shapes m, n, k of matmul: on and off every tile, without elements, tall, wide
// and deep.
var products = [][3]int{
	{1, 1, 1},
	{5, 7, 23},
	{16, 16, 16},
	{33, 31, 65},
	{64, 64, 64},
	{130, 70, 17},
	{127, 129, 257},
	{3, 300, 0},
	{0, 4, 5},
	{4, 0, 5},
	{1, 300, 70},
	{300, 1, 70},
	{2, 3, 1000},
	{17, 40, 513},
	{256, 192, 128},
}

// quickProducts is how many of them, from the first on, the quick run takes.
const quickProducts = 6

// depths are the shapes m, n, k of further products: at and around every unrolled loop and tile of
// K, and one of several tiles of C.
var depths = [][3]int{
	{18, 21, 2},
	{18, 21, 3},
	{18, 21, 4},
	{18, 21, 5},
	{18, 21, 7},
	{18, 21, 8},
	{18, 21, 9},
	{18, 21, 15},
	{18, 21, 16},
	{18, 21, 17},
	{18, 21, 24},
	{18, 21, 31},
	{18, 21, 32},
	{18, 21, 33},
	{130, 131, 33},
}

// thin are the shapes of products that get other parameters, as C has few rows or columns.
var thin = [][3]int{{1030, 1, 64}, {1030, 7, 64}, {1, 1030, 64}, {2, 1030, 64}, {3, 1030, 64}, {8, 1030, 64}}

// matrices are the shapes m, n of the other kernels.
var matrices = [][2]int{
	{1, 1}, {5, 23}, {32, 32}, {33, 31}, {64, 48}, {0, 5}, {5, 0}, {1, 1000}, {1000, 1}, {130, 257}, {256, 256},
}

const quickMatrices = 5

// scalars are alpha and beta of C = alpha*A*B + beta*C, rounded to the type; int32 has its own.
var (
	scalars    = [][2]float64{{1, 0}, {-0.3, 0}, {1, 1}, {0.7, -1.3}, {-3, 0.1}}
	intScalars = [][2]float64{{1, 0}, {-3, 0}, {1, 1}, {2, -1}, {-7, 5}}
)

func makeCases() (cases []*Case) {
	for _, t := range element.Types() {
		m := caseMaker{typ: t, kinds: []values{uniform, subnormal, underflow, wide, special}, scalars: scalars}
		if t.Integer() {
			m.kinds, m.scalars = m.kinds[:1], intScalars
			m.bytes()
		} else {
			m.functions()
			m.factors()
		}
		m.products()
		m.depths()
		m.matrices()
		m.arrays()
		cases = append(cases, m.cases...)
	}
	return cases
}

// A caseMaker makes the cases of an element type.
type caseMaker struct {
	typ     element.Type
	kinds   []values
	scalars [][2]float64
	cases   []*Case
}

func (m *caseMaker) add(c Case) { m.cases = append(m.cases, &c) }

func (m *caseMaker) products() {
	for i, s := range products {
		for j, kind := range m.kinds {
			c := Case{
				Kernel: "matmul", Type: m.typ, M: s[0], N: s[1], K: s[2], Quick: i < quickProducts,
				values: kind, alpha: 1,
			}
			m.add(c)
			quick := c.Quick
			c.gap, c.offset = 1+(i+j)%4, (3*i+j)%7
			if sc := m.scalars[(i+j)%len(m.scalars)]; c.K > 0 {
				c.alpha, c.beta = sc[0], sc[1]
			}
			m.add(c)
			c.Kernel, c.alpha, c.beta = "addmul", 1-2*float64((i+j)%2), 1
			if c.Quick = quick && (kind == uniform || kind == special); kind != uniform {
				c.sets = none
			}
			m.add(c)
			if i >= quickProducts+5 || i%2 == 1 && j > 0 {
				continue // the simple kernels differ from matmul in little
			}
			c.Quick, c.sets, c.alpha, c.beta = quick, offered, 1, 0
			m.simple(c)
		}
	}
}

// simple adds c for the simple kernels of products.
func (m *caseMaker) simple(c Case) {
	for _, name := range []string{"matmul_naive", "matmul_tiled"} {
		c.Kernel = name
		m.add(c)
	}
}

func (m *caseMaker) depths() {
	for i, s := range slices.Concat(depths, thin) {
		c := Case{
			Kernel: "matmul", Type: m.typ, M: s[0], N: s[1], K: s[2], sets: every, values: uniform,
			gap: 1 + i%4, offset: i % 7,
		}
		if i < len(depths) {
			c.alpha = 1
			m.simple(c)
		} else {
			c.sets = none
		}
		c.alpha, c.beta = m.scalars[i%len(m.scalars)][0], m.scalars[i%len(m.scalars)][1]
		m.add(c)
	}
}

// bytes are products of words of four bytes.
func (m *caseMaker) bytes() {
	for i, s := range slices.Concat(products, depths, thin) {
		for j, name := range []string{"matmul_int8", "matmul_uint8"} {
			c := Case{
				Kernel: name, Type: m.typ, M: s[0], N: s[1], K: s[2], Quick: i < quickProducts, values: uniform,
				gap: (i + j) % 4, offset: (3*i + j) % 7, alpha: 1, beta: float64((i + j) % 2),
			}
			if c.K == 0 {
				c.beta = 0
			}
			switch at := i - len(products); {
			case at >= len(depths):
				c.sets = none
			case at >= 0:
				c.sets = every
			}
			m.add(c)
		}
	}
}

func (m *caseMaker) functions() {
	for i, name := range functions.Names {
		for j, kind := range m.kinds {
			m.add(Case{
				Kernel: functionPrefix + name, Type: m.typ, M: 9, N: 31, Quick: kind == uniform || kind == special,
				values: kind, gap: 1 + (i+j)%4, offset: i % 7, alpha: 1,
			})
		}
	}
}

func (m *caseMaker) matrices() {
	names := []string{"transpose", "transpose_naive", "transpose_tiled"}
	for _, o := range kernels.Elementwises() {
		names = append(names, o.Name)
	}
	for i, s := range matrices {
		for j, kind := range m.kinds {
			for _, name := range names {
				c := Case{Kernel: name, Type: m.typ, M: s[0], N: s[1], Quick: i < quickMatrices, values: kind, alpha: 1}
				if c.transpose() && j > 0 {
					continue // moves bits, whatever they are
				}
				if o := c.elementwise(); o != nil && o.Alpha {
					c.alpha = m.scalars[1+i%4][0]
				}
				m.add(c)
				c.gap, c.offset = 1+(i+j)%4, (3*i+j)%7
				m.add(c)
			}
		}
	}
}

// operands makes a, b and c of the case, packed: c is what the output holds before where beta reads
// it.
func operands[T element.Element](c *Case) (a, b, out matrix[T]) {
	switch {
	case c.product():
		a, b = generate[T](c, c.M, c.K, "a"), generate[T](c, c.K, c.N, "b")
		out = generate[T](c, c.M, c.N, "c")
	case c.transpose():
		a, out = generate[T](c, c.M, c.N, "a"), matrix[T]{c.N, c.M, make([]T, c.M*c.N)}
	default:
		a, b = generate[T](c, c.M, c.N, "a"), generate[T](c, c.M, c.N, "b")
		out = matrix[T]{c.M, c.N, make([]T, c.M*c.N)}
	}
	return a, b, out
}

// Operands are what a case computes with, packed. For kernel "matmul" c, which holds what was there
// before, is to be alpha*a*b + beta*c; "addmul" continues its chains with alpha*a*b; elementwise
// operations make it what they give of alpha, a and b, and the transposes a's transpose. They are
// not those of factorizations.
func Operands[T element.Element](x *Case) (alpha T, a, b []T, beta T, c []T) {
	ma, mb, mc := operands[T](x)
	return T(x.alpha), ma.data, mb.data, T(x.beta), mc.data
}

// matrix is a packed matrix.
type matrix[T element.Element] struct {
	rows, cols int
	data       []T
}

func generate[T element.Element](c *Case, rows, cols int, operand string) matrix[T] {
	g := newGenerator(c.operandName(rows, cols, operand))
	m := matrix[T]{rows, cols, make([]T, rows*cols)}
	for i := range m.data {
		m.data[i] = elementFrom[T](c.values, operand, g.next())
	}
	return m
}

// operandName is what an operand's generator starts with.
func (c *Case) operandName(rows, cols int, operand string) string {
	return fmt.Sprintf("%s/%s/%dx%d/%s", c.Type, c.values, rows, cols, operand)
}

// reference computes the result by the definition.
func reference[T element.Element](c *Case) matrix[T] {
	a, b, out := operands[T](c)
	switch {
	case c.Kernel == "addmul":
		host.AddMulReference(c.alpha < 0, c.M, c.N, c.K, a.data, max(c.K, 1), b.data, max(c.N, 1),
			out.data, max(c.N, 1))
	case c.bytes():
		multiplyBytes(c, a.data, b.data, out.data)
	case c.product():
		host.GemmReference(c.M, c.N, c.K, T(c.alpha), a.data, max(c.K, 1), b.data, max(c.N, 1),
			T(c.beta), out.data, max(c.N, 1))
	case c.transpose():
		for i := range c.M {
			for j := range c.N {
				out.data[j*c.M+i] = a.data[i*c.N+j]
			}
		}
	case c.function() >= 0:
		f, n := in(c.Type).function, c.function()
		for i := range out.data {
			out.data[i] = f(n, a.data[i], b.data[i]).(T)
		}
	default:
		define := definitions[T]()[c.Kernel]
		for i := range out.data {
			out.data[i] = define(T(c.alpha), a.data[i], b.data[i])
		}
	}
	return out
}

// multiplyBytes is the product of words of four bytes, which are int8 in B, and added to C where
// beta is 1.
func multiplyBytes[T element.Element](c *Case, a, b, out []T) {
	for i := range c.M {
		for j := range c.N {
			acc := int32(0)
			if c.beta != 0 {
				acc = int32(out[i*c.N+j])
			}
			for p := range c.K {
				for s := 0; s < 32; s += 8 {
					x := int32(a[i*c.K+p]) >> s & 0xff
					if c.Kernel == "matmul_int8" {
						x = int32(int8(x))
					}
					acc += x * int32(int8(int32(b[p*c.N+j])>>s))
				}
			}
			out[i*c.N+j] = T(acc)
		}
	}
}

// definitions are the elementwise operations, of alpha and the elements of A and B.
func definitions[T element.Element]() map[string]func(alpha, a, b T) T {
	return map[string]func(alpha, a, b T) T{
		"add":   func(_, a, b T) T { return host.Add(a, b) },
		"sub":   func(_, a, b T) T { return host.Add(a, -b) },
		"scale": func(alpha, a, _ T) T { return host.Mul(alpha, a) },
	}
}

// elementwise is the row of the operation, nil where it is none of these.
func (c *Case) elementwise() *kernels.Elementwise {
	for _, o := range kernels.Elementwises() {
		if o.Name == c.Kernel {
			return o
		}
	}
	return nil
}

// Reference is the digest of the result by the definition: what golden.json holds.
func (c *Case) Reference() string {
	return in(c.Type).reference(c)
}

func referenceDigest[T element.Element](c *Case) string {
	if c.array() != "" {
		return Digest(arrayReference[T](c))
	}
	return Digest(reference[T](c).data)
}

// variants is the ways in which the device is to run the case: the parameters that are chosen for
// it, and others as o has it.
func (c *Case) variants(info *backend.Info, o Options) []variant {
	t := c.Type
	if c.bytes() {
		t = element.Int8 // in the tuning data
	}
	matmuls, transposes := tuning.OfferedMatMul(info, t), tuning.OfferedTranspose(info, t)
	switch {
	case o.Quick || c.sets == none:
		matmuls, transposes = nil, nil
	case o.Every || c.sets == every && info.GPU:
		matmuls, transposes = tuning.TunedMatMul(info, t), tuning.TunedTranspose(info, t)
	}
	switch c.Kernel {
	case "lu", "cholesky", "qr", "eigh", "svd", "solve":
		return []variant{c.factorVariant(info)}
	case "matmul", "addmul", "matmul_int8", "matmul_uint8":
		source := func(p kernels.MatMulParams) *backend.Source {
			if c.bytes() {
				return kernels.MatMulBytes(info, p, c.Kernel == "matmul_uint8")
			}
			return kernels.MatMul(t, p)
		}
		return variantsOf(tuning.ChooseMatMul(info, t, c.M, c.N, c.K), matmuls, source,
			func(p kernels.MatMulParams) backend.Grid { return kernels.MatMulGrid(p, c.M, c.N) })
	case "matmul_naive":
		return []variant{{source: kernels.MatMulNaive(t), grid: kernels.NaiveGrid(c.M, c.N)}}
	case "matmul_tiled":
		return []variant{{source: kernels.MatMulTiled(t), grid: kernels.TiledGrid(c.M, c.N)}}
	case "transpose":
		return variantsOf(tuning.ChooseTranspose(info, t, c.M, c.N), transposes,
			func(p kernels.TransposeParams) *backend.Source { return kernels.Transpose(t, p) },
			func(p kernels.TransposeParams) backend.Grid { return kernels.TransposeGrid(p, c.M, c.N) })
	case "transpose_naive":
		return []variant{{source: kernels.TransposeNaive(t), grid: kernels.NaiveGrid(c.M, c.N)}}
	case "transpose_tiled":
		g := kernels.TransposeGrid(kernels.TextbookTranspose, c.M, c.N)
		return []variant{{source: kernels.TransposeTiled(t), grid: g}}
	}
	if c.array() != "" {
		return []variant{{}}
	}
	row := c.elementwise()
	if name, ok := strings.CutPrefix(c.Kernel, functionPrefix); ok {
		row = o.Elementary(name)
	}
	src := row.Source(t)
	return []variant{{source: src, grid: kernels.MapGrid(info, src.Params, int64(c.M), int64(c.N)), row: row}}
}

// variantsOf are those of a kernel with the parameters that are chosen, and with others.
func variantsOf[P comparable](chosen P, others []P, source func(P) *backend.Source, grid func(P) backend.Grid,
) []variant {
	list := []variant{{source: source(chosen), grid: grid(chosen)}}
	for _, p := range others {
		if p != chosen {
			list = append(list, variant{params: fmt.Sprintf("%+v", p), source: source(p), grid: grid(p)})
		}
	}
	return list
}

// A variant is a kernel and the grid that covers the case.
type variant struct {
	params string          // "" for those that the device gets by itself
	source *backend.Source // nil for cases of package array
	grid   backend.Grid
	row    *kernels.Elementwise // of elementwise operations
	// the product's parameters, of factorizations, whose products have many shapes
	product kernels.MatMulParams
}
