package main

// The bugs, each of a kind that has been made, or nearly made, in code like this.
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
		name: "groups leave the tiles beyond the first", file: "kernels/matmul.cl",
		old: "ty += (uint)get_num_groups(1);\n    }", new: "ty = down;\n    }",
		pkg: "./kernels", test: "TestProducts/opencl:0", needs: "OpenCL",
	},
	{
		name: "two work-items compute one block, another is left out", file: "kernels/matmul.cl",
		old: "id / 16 % 2 * 2 + id % 2", new: "id / 8 % 2 * 2 + id % 2",
		pkg: "./kernels", test: "TestProducts/opencl:0", needs: "OpenCL",
	},
	{
		name: "a column of A too many at the end of k", file: "kernels/matmul.cl",
		old: "i * AROWS < rows && e < cols ?", new: "i * AROWS < rows && e <= cols ?",
		pkg: "./kernels", test: "TestProducts/opencl:0", needs: "OpenCL",
	},
	{
		name: "a row too many at the edge of a transpose", file: "kernels/transpose_tiled.cl",
		old: "if (i < rows && j < cols) c[", new: "if (i <= rows && j < cols) c[",
		pkg: "./kernels", test: "TestTransposes/opencl:0", needs: "OpenCL",
	},
	{
		name: "the last element of a row left out", file: "internal/host/matrix.go",
		old: "x, z := x[i*ldx:][:cols], z[i*ldz:][:cols]\n\t\t\tfor j := range z {",
		new: "x, z := x[i*ldx:][:cols], z[i*ldz:][:cols]\n\t\t\tfor j := range z[1:] {",
		pkg: "./internal/host", test: "TestAddAndScale",
	},
	{
		name: "a strip at the edge of a row has all lanes", file: "gpu/compiler/internal/lanes/printer.go",
		old: "const mask %s = below(%s0 - %s);", new: "const mask %s = below(%s0 - %s + W);",
		pkg: "./gpu/compiler", test: "TestLaneValues", needs: "clang",
	},
	{
		name: "lanes that wait lose their variables", file: "gpu/compiler/internal/lanes/shape.go",
		old: "a.keeps[s] = true", new: "a.keeps[s] = false",
		pkg: "./gpu/compiler", test: "TestLaneValues", needs: "clang",
	},
	{
		name: "groups do not stride over the rows of tiles", file: "kernels/transpose_tiled.cl",
		old: "ty < down; ty += (uint)get_num_groups(1)", new: "ty < down; ty += down",
		pkg: "./kernels", test: "TestTransposes/opencl:0", needs: "OpenCL",
	},
	{
		name: "more groups in y than a grid may have", file: "kernels/grid.go",
		old: "const maxGroups = 65535", new: "const maxGroups = 65536",
		pkg: "./kernels", test: "TestGridsCoverEverythingOnce",
	},
	{
		name: "offset and stride of an operand swapped", file: "kernels/args.go",
		old: "backend.Int64(o.Offset), backend.Int64(o.Stride))", new: "backend.Int64(o.Stride), " +
			"backend.Int64(o.Offset))",
		pkg: "./kernels", test: "TestProducts/cpu:0",
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
		name: "NVRTC contracts", file: "backend/cuda/nvrtc.go",
		old: `"--fmad=false"`, new: `"--fmad=true"`,
		pkg: "./backend/cuda", test: "TestOptions",
	},
	{
		name: "float32 fma that rounds twice", file: "internal/host/host.go",
		old: "	return roundToOdd32(a, b, c)\n}", new: "	return float32(math.FMA(float64(a), float64(b), " +
			"float64(c)))\n}",
		pkg: "./internal/host", test: "TestFMA32RoundsOnce",
	},
	{
		name: "a slim product begins its chains anew in every block", file: "internal/host/slim.go",
		old: "k == 0 && !p.fromC, at)", new: "!p.fromC, at)",
		pkg: "./internal/host", test: "TestGemmSlim",
	},
	{
		name: "half of a complex product does not know that a factor is conjugated", file: "internal/host/complex.go",
		old: "-s * a * b, s * a}", new: "-s * b, s * a}",
		pkg: "./linalg/gonumblas", test: "TestComplex",
	},
	{
		name: "C read by the host though beta is 0", file: "internal/host/reference.go",
		old: "			if beta != 0 {\n				old = Mul(beta, c[i*ldc+j])\n			}",
		new: "			old = Mul(beta, c[i*ldc+j])",
		pkg: "./internal/host", test: "TestGemmReference",
	},
	{
		name: "a block of K forgets the chain of the block before", file: "internal/host/gemm.go",
		old: "zero, finish := p.p0 == 0 && !p.fromC,", new: "zero, finish := true,",
		pkg: "./internal/host", test: "TestGemmBlocks",
	},
	{
		name: "a core does not wait for the chains that it goes on with", file: "internal/host/spread.go",
		old: "	if s.p0 > 0 { //", new: "	if false { //",
		pkg: "./internal/host", test: "TestSpreadWaits",
	},
	{
		name: "a tile at the edge leaves out its last column", file: "internal/host/portable.go",
		old: "copyRows(rows, cols, tile, tileCols, cs, ldc)", new: "copyRows(rows, cols-1, tile, tileCols, cs, ldc)",
		pkg: "./internal/host", test: "TestGemmEdges",
	},
	{
		name: "LU swaps rows of a part of a panel alone", file: "internal/solve/lu.go",
		old: "		for r := range p.w {", new: "		for r := c; r < p.w; r++ {",
		pkg: "./internal/solve", test: "TestLU",
	},
	{
		name: "a solution by an upper triangle by ascending columns", file: "internal/solve/triangle.go",
		old: "			slices.Reverse(row)\n", new: "			_ = slices.Reverse[[]T]\n",
		pkg: "./internal/solve", test: "TestTriangles",
	},
	{
		name: "Cholesky goes on below a chain of 0", file: "internal/host/cholesky.go",
		old: "if !(acc > 0) {", new: "if acc < 0 {",
		pkg: "./internal/host", test: "TestCholesky",
	},
	{
		name: "a square is written below its diagonal", file: "internal/host/gemm.go",
		old: "copyAbove(d, h, w, side, cols, acc[at:], ldacc)", new: "copyRows(h, w, side, cols, acc[at:], ldacc)",
		pkg: "./internal/host", test: "TestSquares",
	},
	{
		name: "a batch does not tell of a first pivot of 0", file: "linalg/batched/batched.go",
		old: "if step >= 0 {", new: "if step > 0 {",
		pkg: "./linalg/batched", test: "TestBatches/cpu",
	},
	{
		name: "QR adds all rows in one chain", file: "internal/solve/qr.go",
		old: "	n := min(len(x), pieceRows)\n", new: "	n := len(x)\n",
		pkg: "./internal/solve", test: "TestQR",
	},
	{
		name: "QR takes the norm of a column that nearly vanished", file: "internal/solve/qr.go",
		old: "alpha, norm = float64(x[0]), host.Nrm2(x)", new: "alpha, norm = float64(x[0]), math.Ldexp(norm, -exp)",
		pkg: "./internal/solve", test: "TestQRScale",
	},
	{
		name: "eigenvectors of the vector that was, not anew", file: "internal/solve/eigen.go",
		old: "zh[i] = anew(i, dk, zk, delta)", new: "_, zh[i] = anew(i, dk, zk, delta), zk[i]",
		pkg: "./linalg", test: "TestEigSymResiduals",
	},
	{
		name: "a negative singular value without its vector", file: "internal/solve/svd.go",
		old: "if signed && o.negative {", new: "if signed && o.negative && c < 0 {",
		pkg: "./internal/solve", test: "TestSVD",
	},
	{
		name: "singular values are always sought downwards", file: "internal/solve/svd.go",
		old: "b.up = math.Abs(q.d[b.k]) < math.Abs(q.d[m])", new: "b.up = false",
		pkg: "./linalg/gonumblas", test: "TestSigns",
	},
	{
		name: "the log of a compiler on a stack that moves", file: "backend/cuda/kernel.go",
		old: "	pin.Pin(&log[0])\n	defer pin.Unpin()\n", new: "	_ = &pin\n",
		pkg: "./backend/cuda", test: "TestLogStaysInPlace",
	},
	{
		name: "blocks of a transpose stop a line early", file: "kernels/transpose_cpu.cl",
		old: "if (i0 + LINE > iend || j0 + LINE > jend) {", new: "if (i0 + LINE > iend + 1 || j0 + LINE > jend) {",
		pkg: "./kernels", test: "TestTransposes/opencl:0", needs: "OpenCL",
	},
	{
		name: "tiles of a transpose begin at multiples of their columns, not their rows",
		file: "kernels/transpose_cpu.cl",
		old:  "for (int i0 = (int)(ty * ROWS); i0 < iend; i0 += LINE) {",
		new:  "for (int i0 = (int)(ty * TILE); i0 < iend; i0 += LINE) {",
		pkg:  "./kernels", test: "TestTransposes/opencl:0", needs: "OpenCL",
	},
	{
		name: "all workers of a thin product compute its first columns", file: "internal/host/spread.go",
		old: "part.bFrom(0, j), part.c[j:]", new: "part.b, part.c[j:]",
		pkg: "./internal/host", test: "TestGemmThin", long: true,
	},
	{
		name: "a helper takes the work that it has done for new work", file: "internal/parallel/parallel.go",
		old: "	h.next.Store(nil)\n	idle.Lock()", new: "	idle.Lock()",
		pkg: "./internal/parallel", test: "TestHelpers", crashes: true,
	},
	{
		name: "the CPU shape stores a column too many at the edge", file: "kernels/matmul_cpu.cl",
		old: "for (int j = 0; j < min(TN, wide); j++) {", new: "for (int j = 0; j < min(TN, wide + 1); j++) {",
		pkg: "./kernels", test: "TestProducts/opencl:0", needs: "OpenCL",
	},
	{
		name: "the end of k of -A is padded as that of A", file: "kernels/matmul.cl",
		old: "const T zero = flags & NEGATE ? NEG0 : (T)0;", new: "const T zero = (T)0;",
		pkg: "./kernels", test: "TestProducts/opencl:0", needs: "OpenCL",
	},
	{
		name: "both tiles in one local buffer", file: "kernels/matmul.cl",
		old: "buffer = BUFFER - buffer;", new: "buffer = 0;",
		pkg: "./kernels", test: "TestProducts/cudasim:0", needs: "NVRTC",
	},
	{
		name: "the CPU shape starts from zero at the edges of C", file: "kernels/matmul_cpu.cl",
		old: "part[j] = i < high && j < wide ? cp[i * ldc + j] : (T)0;", new: "part[j] = (T)0;",
		pkg: "./kernels", test: "TestProducts/opencl:0", needs: "OpenCL",
	},
	{
		name: "the chains of AddMul start from zero", file: "internal/host/gemm.go",
		old: "zero, finish := p.p0 == 0 && !p.fromC,", new: "zero, finish := p.p0 == 0,",
		pkg: "./internal/host", test: "TestAddMul",
	},
	{
		name: "pieces of a product begin at rows of a transposed A", file: "linalg/gemm.go",
		old: "next.StrideA = 1", new: "next.StrideA = a.Stride",
		pkg: "./linalg", test: "TestPiecesOnProcessor",
	},
	{
		name: "alpha == 0 multiplies all the same", file: "linalg/gemm.go",
		old: "case x.k == 0 || u.alpha == 0:", new: "case x.k == 0:",
		pkg: "./linalg", test: "TestGemmSpecialValues",
	},
	{
		name: "Slice steps over columns instead of the stride", file: "linalg/array.go",
		old: "k-i, l-j, a.off+i*a.stride+j, true", new: "k-i, l-j, a.off+i*a.cols+j, true",
		pkg: "./linalg", test: "FuzzGemm",
	},
	{
		name: "overlap of C and B is not seen", file: "linalg/gemm.go",
		old: "if c.overlaps(a) || c.overlaps(b) {", new: "if c.overlaps(a) {",
		pkg: "./linalg", test: "TestErrors",
	},
	{
		name: "an explicit choice falls back to another driver", file: "backend/select.go",
		old: "if err != nil && s.Driver == \"auto\" {", new: "if err != nil {",
		pkg: "./backend", test: "TestExplicit",
	},
	{
		name: "cache key without macros", file: "backend/source.go",
		old: "ptx}, s.Defines()...)", new: "ptx})",
		pkg: "./backend/opencl", test: "TestSuite/.*/Compile/Macros", needs: "OpenCL",
	},
	{
		name: "machine code of another text runs", file: "gpu/support/native.go",
		old: "err != nil || key != k.key", new: "err != nil",
		pkg: "./gpu/compiler", test: "TestNativeFolder", needs: "clang",
	},
	{
		name: "machine code reads beyond a buffer", file: "backend/cpu/native.go",
		old: "return n >= 0 && n <= mem", new: "return n >= 0",
		pkg: "./backend/cpu", test: "TestFits",
	},
	{
		name: "machine code contracted", file: "internal/nativegen/nativegen.go",
		old: "\"-ffp-contract=off\"", new: "\"-ffp-contract=fast\"",
		pkg: "./internal/nativegen", test: "TestRuns", needs: "clang",
	},
	{
		name: "arguments of a launch are not checked", file: "backend/queue.go",
		old: "if err := k.sig.Check(q.dev.info, g, args); err != nil {",
		new: "if err := error(nil); err != nil {",
		pkg: "./backend/cpu", test: "TestSuite/.*/Launch/Arguments",
	},
	{
		name: "a grid without groups runs", file: "backend/queue.go",
		old: "err != nil || g.Empty() {",
		new: "err != nil {",
		pkg: "./backend", test: "TestNothingToDo",
	},
	{
		name: "overlapping ranges are copied", file: "backend/queue.go",
		old: "if dst.buffer == src.buffer &&",
		new: "if dst == nil &&",
		pkg: "./backend/cpu", test: "TestSuite/.*/Memory/CopyWithin",
	},
	{
		name: "a nil buffer is used", file: "backend/queue.go",
		old: "if b == nil || b.buffer == nil {\n		return d.failure",
		new: "if false {\n		return d.failure",
		pkg: "./backend/cpu", test: "TestSuite/.*/Memory/Nil",
	},
	{
		name: "ranges are not checked", file: "backend/check.go",
		old: "if off < 0 || n < 0 || off > size || n > size-off {",
		new: "if false {",
		pkg: "./backend/cpu", test: "TestSuite/.*/Memory/Ranges",
	},
	{
		name: "an event of another device is taken", file: "backend/event.go",
		old: "if e == nil || e.dev != d {",
		new: "if e == nil {",
		pkg: "./backend/cpu", test: "TestSuite/.*/Event/Foreign",
	},
	{
		name: "what a closed device made can be used", file: "backend/object.go",
		old: "open && (o.free != nil || !o.dev.closed())",
		new: "open",
		pkg: "./backend/cpu", test: "TestSuite/.*/Close/Device",
	},
	{
		name: "what is used is released", file: "backend/object.go",
		old: "o.state.Add(-1) == closedBit {",
		new: "o.state.Add(-1)&closedBit != 0 {",
		pkg: "./backend", test: "TestLifetimes",
	},
	{
		name: "an abandoned device goes on", file: "backend/device.go",
		old: "	d.lose(\"it was abandoned while commands ran\")\n",
		new: "",
		pkg: "./backend/cpu", test: "TestSuite/.*/Close/Abandon",
	},
	{
		name: "a device does not wait for its queues", file: "backend/device.go",
		old: "errs = append(errs, q.Close())",
		new: "_ = q",
		pkg: "./backend", test: "TestQueue",
	},
	{
		name: "a lock is not given back", file: "backend/registry.go",
		old: "	registry.RLock()\n	defer registry.RUnlock()\n", new: "	registry.RLock()\n",
		pkg: "./backend", test: "TestRegisterConcurrently", hangs: true,
	},
	{
		name: "a buffer is not zeroed", file: "backend/opencl/memory.go",
		old: "pattern := size & -size", new: "size = 1\n	pattern := size & -size",
		pkg: "./backend/opencl", test: "TestSuite", needs: "OpenCL",
	},
	{
		name: "host memory is not pinned", file: "backend/opencl/cl/handle.go",
		old: "	n.pinner.Pin(p)\n", new: "",
		pkg: "./backend/opencl/cl", test: "TestNonBlockingTransfersKeepTheirMemory", needs: "OpenCL",
	},
	{
		name: "two launches set one kernel's arguments at once", file: "backend/opencl/queue.go",
		old: "	p.launching.Lock()\n	defer p.launching.Unlock()\n", new: "",
		pkg: "./backend/opencl", test: "TestSuite/.*/Concurrency/Launches", needs: "OpenCL", crashes: true,
	},
	{
		name: "a released event leaks", file: "backend/opencl/queue.go",
		old: "	ev.Release()\n	return nil\n}\n\n// WriteAsync", new: "	return nil\n}\n\n// WriteAsync",
		pkg: "./backend/opencl", test: "TestEveryCallFails", needs: "OpenCL",
	},
	{
		name: "CUDA calls without the thread's context", file: "backend/cuda/errors.go",
		old: "if code := c.CtxSetCurrent(d.ctx); code != capi.Success {",
		new: "if code := capi.Success; code != capi.Success {",
		pkg: "./backend/cuda", test: "TestContextIsCurrent",
	},
	{
		name: "the simulator finds no races in global memory", file: "backend/cudasim/ptxsim/execmem.go",
		old: "if g.now != 0 && !g.useGlobal(t, in, a, off, n, how) {", new: "if false {",
		pkg: "./backend/cudasim/ptxsim", test: "TestGlobalRaces",
	},
	{
		name: "the simulator finds no races", file: "backend/cudasim/ptxsim/shared.go",
		old: "	s.barrier()\n", new: "",
		pkg: "./backend/cudasim/ptxsim", test: "TestPlantedFaults",
	},
	{
		name: "a damaged cache entry is believed", file: "backend/driverkit/diskcache/diskcache.go",
		old: "bytes.Equal(key, k[:]) && bytes.Equal(sum, want[:])", new: "bytes.Equal(key, k[:]) && len(sum) == " +
			"len(want)",
		pkg: "./backend/driverkit/diskcache", test: "TestDamage",
	},
	{
		name: "a cache that others may write is believed", file: "backend/driverkit/diskcache/owner_unix.go",
		old: "&& info.Mode().Perm()&0o022 == 0", new: "",
		pkg: "./backend/driverkit/diskcache", test: "TestModes",
	},
	{
		name: "a library from the working directory", file: "backend/driverkit/dl/dl.go",
		old: "	case strings.ContainsAny(name, `/\\`):\n" +
			"		return errors.New(\"a relative path would depend on the working directory; " +
			"give an absolute path\")\n",
		new: "",
		pkg: "./backend/driverkit/dl", test: "TestOpenRefusesRelativePaths",
	},
	{
		name: "Fortran order is ignored", file: "internal/npy/header.go",
		old: "return h.Fortran && rows > 1 && cols > 1", new: "return rows < 0 && cols < 0",
		pkg: "./internal/npy", test: "TestRead",
	},
	{
		name: "each panel of a file begins the chain anew", file: "linalg/files.go",
		old: "if k > 0 {", new: "if k < 0 {",
		pkg: "./linalg", test: "TestFiles",
	},
	{
		name: "a file is read over the panel in use", file: "internal/outofcore/files.go",
		old: "s.latest = 1 - s.latest", new: "s.latest = 0",
		pkg: "./linalg", test: "TestFiles",
	},
	{
		name: "each panel of a tile begins the chain anew", file: "linalg/operation.go",
		old: "case x.chain || k > 0:", new: "case x.chain:",
		pkg: "./linalg", test: "TestMemoryLimit",
	},
	{
		name: "a tile is computed in C, which it reads, and again where that fails", file: "linalg/share.go",
		old: "apart := j.op.readsC(&j.call) ||", new: "apart :=",
		pkg: "./linalg", test: "TestSharedFaults",
	},
	{
		name: "the tiles of a device that failed are lost", file: "internal/tiles/tiles.go",
		old: "p.free = append(p.free, x.taken...)", new: "_ = x.taken",
		pkg: "./internal/tiles", test: "TestOnce",
	},
	{
		name: "the size of a matrix overflows", file: "linalg/geometry.go",
		old: "	if rows > kernels.MaxDim || cols > kernels.MaxDim {", new: "	if rows < 0 {",
		pkg: "./linalg", test: "TestErrors",
	},
	{
		name: "NaN is not made canonical in digests", file: "conformance/types.go",
		old: "			u = 0x7fc00000\n", new: "",
		pkg: "./conformance", test: "TestGolden",
	},
	{
		name: "a stream of random numbers is taken twice", file: "array/random.go",
		old: "\tr.Next++\n", new: "",
		pkg: "./array", test: "TestRandom/cpu",
	},
	{
		name: "the upper half of a key is not sorted by", file: "array/internal/sorting/rows.go",
		old: "case !is64:", new: "case !is64 || r != nil:",
		pkg: "./array", test: "TestSort/cpu",
	},
	{
		name: "a row that is put twice is not seen", file: "array/move.go",
		old: `byRows("PutRows", c, index, "c", rows, rows,`, new: `byRows("PutRows", c, index, "c", rows, 0,`,
		pkg: "./array", test: "TestBadIndex/cpu",
	},
	{
		name: "a guess beside the middle of two numbers is sure", file: "array/internal/sums/guess.go",
		old: "ok && a == b && (", new: "ok && b == b && (",
		pkg: "./array/internal/sums", test: "TestGuess",
	},
}
