// Package cl is a binding to OpenCL 1.2 that needs no cgo, no headers and no OpenCL library to
// build. The library is loaded when it is first used.
//
// # Coming from go-opencl
//
// The package has the API of github.com/jgillich/go-opencl/cl, so that a program written for it
// needs only a new import path:
//
//	import "github.com/tandem-gpu/tandem/backend/opencl/cl"
//
// What such a program may notice:
//
//   - Text ends where C's text ends; go-opencl left a zero byte at the end of names and logs.
//   - Asking a device for something that it does not know gives the zero value instead of a panic.
//   - Using an object that is nil or was released is an error, such as ErrInvalidKernel, or gives
//     a zero value, and is never a crash, but for a nil MappedMemObject. A slice that is too short
//     for an image region is an error, too.
//   - Without an OpenCL library GetPlatforms fails and says what was tried; the program still
//     starts.
//   - BuildProgram builds for the devices that it is given. Its error is a BuildError where the
//     compiler rejected the program, and OpenCL's own error where something else went wrong, such
//     as ErrInvalidBuildOptions.
//   - ErrOther also names the code, and ErrUnsupportedArgumentType says the argument's Go type.
//   - A Kernel, without the pointer, cannot be compared any more.
//   - Flush is clFlush and does not wait.
//   - A failed enqueue gives a nil event.
//
// # Beyond go-opencl
//
//   - Load, Code, CodeName, ErrNoPlatform.
//   - Context.CreateProgramWithBinary, Program.Binaries, Program.BuildLog.
//   - MemObject.CreateSubBuffer, MemObject.Size.
//   - Kernel: CompileWorkGroupSize, LocalMemSize, ArgTypeName, ArgIsGlobalPointer; SetArgMem and
//     SetArgScalar, which allocate nothing; SetArg of float64.
//   - CommandQueue: LaunchNDRange, which allocates nothing; EnqueueReadBufferPinned and
//     EnqueueWriteBufferPinned.
//   - Device: SingleFPConfig, HasExtension, BoardName, ComputeCapability.
//   - Event.Status, CommandExecStatus, and String methods of more of the types.
//   - MappedMemObject.Size and ByteSlice of a mapped image.
//
// # Lifetime
//
// Contexts, queues, programs, kernels, memory objects and events own something of the driver's.
// Release gives it back. It may be called more than once, and while other goroutines use the
// object: the driver's object then goes at the end of the last of those calls. An object that is
// forgotten is released by the garbage collector, eventually.
//
// # Host memory
//
// Memory that OpenCL goes on using after a call has returned must stay where it is. For Go memory
// the package sees to that: in non-blocking reads and writes until the command is done, with
// MemUseHostPtr until the memory object is released and the queued commands are done. Release of a
// queue of a context that has MemUseHostPtr memory happens in the background, after its commands.
// Memory that is not Go's, and everything given to the ...Pinned methods, is the caller's to keep.
package cl
