package main

// The bugs: each breaks a promise of the contract, or of what may run.
var mutations = []mutation{
	{
		name: "dropped barrier between loading and using a tile", file: "kernels/transpose_tiled.cl",
		old: "tile[r + y][x] = part[r / STEP];\n      barrier(CLK_LOCAL_MEM_FENCE);\n",
		new: "tile[r + y][x] = part[r / STEP];\n",
		pkg: "./kernels", test: "TestTransposes/opencl:0", needs: "OpenCL",
	},
	{
		name: "K tail of A padded with +0", file: "kernels/matmul.cl",
		old: "ap[i * AROWS * lda + e] : NEG0)", new: "ap[i * AROWS * lda + e] : (T)0)",
		pkg: "./kernels", test: "TestProducts/opencl:0", needs: "OpenCL",
	},
	{
		name: "mad() for fma()", file: "kernels/element.h",
		old: "#define MAC(a, b, c) fma((a), (b), (c))\n#define NEG0 (-0.0f)",
		new: "#define MAC(a, b, c) mad((a), (b), (c))\n#define NEG0 (-0.0f)",
		pkg: "./kernels", test: "TestProducts/opencl:0", needs: "OpenCL",
	},
	{
		name: "alpha*acc rounded before the sum", file: "kernels/matmul.cl",
		old: "cp[COL(j)] = MAC(alpha, acc[i][j], old);", new: "cp[COL(j)] = alpha * acc[i][j] + old;",
		pkg: "./kernels", test: "TestProducts/opencl:0", needs: "OpenCL",
	},
	{
		name: "C is read though beta is 0", file: "kernels/matmul.cl",
		old: "if (beta != 0) {\n            v = GLOBAL_VECTOR(cp + COL(j));",
		new: "{\n            v = GLOBAL_VECTOR(cp + COL(j));",
		pkg: "./kernels", test: "TestMatMulDoesNotReadC/opencl:0", needs: "OpenCL",
	},
	{
		name: "FP_CONTRACT left on", file: "backend/opencl/prelude.h",
		old: "#pragma OPENCL FP_CONTRACT OFF", new: "#pragma OPENCL FP_CONTRACT ON",
		pkg: "./linalg", test: "TestGemm/opencl", needs: "OpenCL", // the probe sees it, and the device refuses float32
	},
	{
		name: "contraction in the PTX made ahead of time", file: "internal/ptxgen/ptxgen.go",
		old: `"-ffp-contract=off"`, new: `"-ffp-contract=fast"`,
		pkg: "./backend/backendtest/internal/ptxgen", test: "TestGenerated", needs: "clang",
	},
	{
		name: "NVRTC flushes subnormals", file: "backend/cuda/nvrtc.go",
		old: `"--ftz=false"`, new: `"--ftz=true"`,
		pkg: "./backend/cuda", test: "TestSuiteNVRTC/cudasim/.*/Float32/Multiply", needs: "NVRTC",
	},
	{
		name: "float32 fma that rounds twice", file: "internal/host/host.go",
		old: "	return roundToOdd32(a, b, c)\n}", new: "	return float32(math.FMA(float64(a), float64(b), " +
			"float64(c)))\n}",
		pkg: "./internal/host", test: "TestFMA32RoundsOnce",
	},
	{
		name: "a block of K forgets the chain of the block before", file: "internal/host/gemm.go",
		old: "zero, finish := p.p0 == 0 && !p.accumulate,", new: "zero, finish := true,",
		pkg: "./internal/host", test: "TestGemmBlocks",
	},
	{
		name: "a solution by an upper triangle by ascending columns", file: "internal/solve/triangle.go",
		old: "			slices.Reverse(row)\n", new: "			_ = slices.Reverse[[]T]\n",
		pkg: "./internal/solve", test: "TestTriangles",
	},
	{
		name: "QR adds all rows in one chain", file: "internal/solve/qr.go",
		old: "	if len(x) <= PieceRows {\n", new: "	if len(x) >= 0 {\n",
		pkg: "./internal/solve", test: "TestQR",
	},
	{
		name: "the end of k of -A is padded as that of A", file: "kernels/matmul.cl",
		old: "const T zero = flags & NEGATE ? NEG0 : (T)0;", new: "const T zero = (T)0;",
		pkg: "./kernels", test: "TestProducts/opencl:0", needs: "OpenCL",
	},
	{
		name: "the chains of AddMul start from zero", file: "internal/host/gemm.go",
		old: "zero, finish := p.p0 == 0 && !p.accumulate,", new: "zero, finish := p.p0 == 0,",
		pkg: "./internal/host", test: "TestAddMul",
	},
	{
		name: "an explicit choice falls back to another driver", file: "backend/select.go",
		old: "if err != nil && s.Driver == \"auto\" {", new: "if err != nil {",
		pkg: "./backend", test: "TestExplicit",
	},
	{
		name: "machine code of another text runs", file: "gpu/support/native.go",
		old: "err != nil || key != k.key", new: "err != nil",
		pkg: "./gpu/compiler", test: "TestNativeFolder", needs: "clang",
	},
	{
		name: "machine code contracted", file: "internal/nativegen/nativegen.go",
		old: "\"-ffp-contract=off\"", new: "\"-ffp-contract=fast\"",
		pkg: "./internal/nativegen", test: "TestRuns", needs: "clang",
	},
	{
		name: "each panel of a tile begins the chain anew", file: "linalg/shareproduct.go",
		old: "case x.chain || k > 0:", new: "case x.chain:",
		pkg: "./linalg", test: "TestMemoryLimit",
	},
	{
		name: "NaN is not made canonical in digests", file: "conformance/types.go",
		old: "			u = 0x7fc00000\n", new: "",
		pkg: "./conformance", test: "TestGolden",
	},
	{
		name: "a guess beside the middle of two numbers is sure", file: "array/internal/sums/guess.go",
		old: "ok && a == b && (", new: "ok && b == b && (",
		pkg: "./array/internal/sums", test: "TestGuess",
	},
}
