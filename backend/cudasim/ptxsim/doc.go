// Package ptxsim is a simulated CUDA device: it executes PTX in Go, so that kernels run, and are
// checked, where there is no GPU. It knows nothing of the CUDA driver's interface, which the
// driver cudasim puts around it.
//
//	d := ptxsim.New(ptxsim.Config{})
//	m, err := d.Load(ptx)                                      // parse and decode once
//	f, err := m.Function("saxpy")
//	x, err := d.Alloc(4 * n)                                   // device memory
//	err = d.Write(x, data)
//	err = d.Launch(f, [3]int{36, 1, 1}, [3]int{64, 1, 1}, 0, params) // a *Fault if the kernel is wrong
//
// # What is simulated
//
// Modules of PTX with addresses of 64 bits: entry points, functions and their calls (also recursive
// ones), variables in .global, .const, .shared (static, and one dynamic part) and .local with
// initialisers, .param memory, generic addresses, scopes, predicates, branches with and without
// tables, barriers (bar.sync, bar.arrive, bar.red, named and counted), atomic operations, vectors
// of up to eight elements, the instructions for integers of 16, 32 and 64 bits and for float32 and
// float64 that compilers write, conversions, the warp-level shfl.sync, vote.sync, match.sync,
// redux.sync, bar.warp.sync and mma.sync of float64 and of bytes (m16n8k32), and cp.async: until
// the thread has waited for its copy, any use of the bytes that it goes to is a fault. Anything
// else is an error of Load, with the line.
//
// Arithmetic is IEEE 754's: add, sub, mul, fma, div, rcp and sqrt are rounded correctly in all four
// modes, subnormal numbers are kept unless the instruction says .ftz, and atom.add.f32 flushes them
// in global memory, as hardware does. A NaN that arithmetic makes always has the same bits. Integer
// division by zero gives all ones, as on hardware.
//
// # What is only approximate
//
// ex2, lg2, sin, cos, tanh, rsqrt and the forms of div, rcp and sqrt with .approx or .full are
// exact to the last bits here, and are not on hardware. So functions like expf, which compilers
// build on them, can differ from a GPU's in their last bits.
//
// # How a kernel runs
//
// Blocks run on all cores; the threads of a block run one after another, each to the next barrier.
// A thread that does not wait for long makes way for the others after a million instructions, so
// that threads of one block may wait for each other in loops; blocks that wait for other blocks end
// in a Timeout. Fences do nothing, as there is nothing to put in order.
//
// Results do not depend on the number of cores or on timing: a kernel runs its blocks in order if
// it uses the results of atomic operations on global memory, or atomic operations there that do not
// commute (floats), or volatile and relaxed loads. What is left are data races between blocks,
// which are undefined on hardware too, and fail the launch.
//
// # What is found
//
// Accesses outside every allocation, shared array or frame, by a single byte; misaligned accesses;
// reads of global and shared memory that nothing has written; data races in shared and in global
// memory, whatever the order of the threads; barriers that not all threads reach; launches beyond
// the device's limits; endless loops. Each is a [Fault] with the PTX line, the source line where
// the PTX has .loc, block and thread. Where several blocks fail, it is that of the first block.
// Integer division by zero is told through Config.Diagnose.
//
// A data race is two accesses of different threads to one byte, at least one of them a write, even
// of the same value, unless a barrier of their block lies between; within a launch, nothing orders
// blocks. In global memory both places are told. A volatile or relaxed access is no part of a race
// with its like, nor an atomic one with atomics; a load is atomic, too, whose value a
// compare-and-swap first compares with. In kernels that synchronise warps by bar.warp.sync or
// shfl.sync, races are found between warps only; in kernels with memory fences for the whole
// device, such as __threadfence, within blocks only. What is known of global memory takes four
// times the memory that kernels touch, more where they access single bytes.
//
// Local memory and registers that nothing has written are not tracked: registers start as zero,
// local memory as garbage.
//
// # Not simulated
//
// float16, bfloat16, packed and other matrix instructions, textures and surfaces, clusters, bulk
// copies, mbarrier, indirect calls, printf and other calls into the CUDA runtime (but a failed
// assert is a Trap), launches from kernels, several modules linked into one, and what only
// assembly by hand has: set, slct, testp, cnot, mul24, dp2a, the modes of prmt, .sat of integers.
// Nor are caches, timing and the hardware's registers: %clock counts instructions.
//
// # The files
//
// lex.go and parse*.go make the tree of ast.go; decode*.go turn it into the instructions of
// inst.go, which exec*.go, alu*.go, convert.go and atomics.go run, with the arithmetic of round.go;
// memory.go, shared.go and global.go are the memories with what is known of them; launch.go spreads
// blocks over cores; barrier.go and warp.go run the threads of a block; device.go, module.go and
// fault.go are the interface.
package ptxsim
