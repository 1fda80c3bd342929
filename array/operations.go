package array

import (
	"strings"
	"sync"

	"github.com/tandem-gpu/tandem/gpu/support"
	"github.com/tandem-gpu/tandem/kernels"
)

var (
	operationsOnce sync.Once
	operationRows  []*kernels.Elementwise
)

// operations are the functions of one or two matrices of one type, as rows: what takes a row of
// package kernels' table takes them. The table is made when it is first asked for: a program that
// does not ask does not link all of the package's kernels.
func operations() []*kernels.Elementwise {
	operationsOnce.Do(func() { operationRows = makeOperations() })
	return operationRows
}

func makeOperations() []*kernels.Elementwise {
	return []*kernels.Elementwise{
		operation("mul", "A*B", 2, mulKernels),
		operation("div", "A/B", 2, divKernels),
		operation("minimum", "min(A, B)", 2, minimumKernels),
		operation("maximum", "max(A, B)", 2, maximumKernels),
		operation("pow", "A^B", 2, powKernels),
		operation("atan2", "atan2(A, B)", 2, atan2Kernels),
		operation("hypot", "sqrt(A*A + B*B)", 2, hypotKernels),
		operation("mod", "A mod B, with A's sign", 2, modKernels),
		operation("neg", "-A", 1, negKernels),
		operation("abs", "abs(A)", 1, absKernels),
		operation("sign", "sign(A)", 1, signKernels),
		operation("sqrt", "sqrt(A)", 1, sqrtKernels),
		operation("exp", "exp(A)", 1, expKernels),
		operation("exp2", "exp2(A)", 1, exp2Kernels),
		operation("expm1", "expm1(A)", 1, expm1Kernels),
		operation("log", "log(A)", 1, logKernels),
		operation("log2", "log2(A)", 1, log2Kernels),
		operation("log10", "log10(A)", 1, log10Kernels),
		operation("log1p", "log1p(A)", 1, log1pKernels),
		operation("sin", "sin(A)", 1, sinKernels),
		operation("cos", "cos(A)", 1, cosKernels),
		operation("tan", "tan(A)", 1, tanKernels),
		operation("sinpi", "sinpi(A)", 1, sinPiKernels),
		operation("cospi", "cospi(A)", 1, cosPiKernels),
		operation("asin", "asin(A)", 1, asinKernels),
		operation("acos", "acos(A)", 1, acosKernels),
		operation("atan", "atan(A)", 1, atanKernels),
		operation("sinh", "sinh(A)", 1, sinhKernels),
		operation("cosh", "cosh(A)", 1, coshKernels),
		operation("tanh", "tanh(A)", 1, tanhKernels),
		operation("asinh", "asinh(A)", 1, asinhKernels),
		operation("acosh", "acosh(A)", 1, acoshKernels),
		operation("atanh", "atanh(A)", 1, atanhKernels),
		operation("cbrt", "cbrt(A)", 1, cbrtKernels),
		operation("rsqrt", "rsqrt(A)", 1, rsqrtKernels),
		operation("erf", "erf(A)", 1, erfKernels),
		operation("erfc", "erfc(A)", 1, erfcKernels),
		operation("sigmoid", "sigmoid(A)", 1, sigmoidKernels),
		operation("floor", "floor(A)", 1, floorKernels),
		operation("ceil", "ceil(A)", 1, ceilKernels),
		operation("trunc", "trunc(A)", 1, truncKernels),
		operation("round", "round(A)", 1, roundKernels),
		operation("roundtoeven", "roundtoeven(A)", 1, roundToEvenKernels),
		operation("relu", "relu(A)", 1, reluKernels),
		operation("softplus", "softplus(A)", 1, softplusKernels),
		operation("silu", "silu(A)", 1, siluKernels),
		operation("gelu", "gelu(A)", 1, geluKernels),
	}
}

func operation(name, formula string, inputs int, k support.Kernels) *kernels.Elementwise {
	return kernels.NewElementwise(name, formula, inputs, false, k.Of(float32(0)), k.Of(float64(0)), k.Of(int32(0)))
}

// Operations are the elementwise operations by name: those of package kernels, and the functions of
// this package that have one or two operands of the result's type. linalg.Elementwise computes them
// of matrices in host memory, on several devices too, and files.Elementwise of files.
func Operations() []*kernels.Elementwise { return append(kernels.Elementwises(), operations()...) }

// Elementary is the operation of package gpu's function of a name, "Exp", nil where there is none:
// what conformance.Options.Elementary takes.
func Elementary(name string) *kernels.Elementwise {
	for _, o := range operations() {
		if o.Name == strings.ToLower(name) {
			return o
		}
	}
	return nil
}
