// Package mpi is the part of MPI that package cluster uses as a table of Go functions, loaded from
// the machine's MPI library. It adds nothing: sizes, handles and codes are C's own.
//
// MPI standardized its source first, and its binary interface in version 5 alone. There are three:
// that of Open MPI, that of MPICH, which Intel MPI, MVAPICH and Cray's library share, and the
// standard's. They differ in what a handle is and in the values of constants, which [ABI] holds;
// the functions have the same parameters in all.
package mpi

import "unsafe"

// A Handle is a communicator, a type or another object of MPI's: an address, or in MPICH's binary
// interface an int, of which the upper half is zero.
type Handle uintptr

// A Request is an operation that was started.
type Request Handle

// Table holds the C functions. Results are status codes, of which 0 is success. Communicators are
// those that an [ABI] has, or that the functions give.
type Table struct {
	InitThread  func(argc, argv unsafe.Pointer, required int32, provided *int32) int32 `sym:"MPI_Init_thread"`
	Initialized func(flag *int32) int32                                                `sym:"MPI_Initialized"`
	Finalize    func() int32                                                           `sym:"MPI_Finalize"`

	GetLibraryVersion func(text *byte, n *int32) int32             `sym:"MPI_Get_library_version"`
	ErrorString       func(code int32, text *byte, n *int32) int32 `sym:"MPI_Error_string"`

	CommSetErrhandler func(c, handler Handle) int32                                    `sym:"MPI_Comm_set_errhandler"`
	CommRank          func(c Handle, rank *int32) int32                                `sym:"MPI_Comm_rank"`
	CommSize          func(c Handle, size *int32) int32                                `sym:"MPI_Comm_size"`
	CommDup           func(c Handle, made *Handle) int32                               `sym:"MPI_Comm_dup"`
	CommSplit         func(c Handle, color, key int32, made *Handle) int32             `sym:"MPI_Comm_split"`
	CommSplitType     func(c Handle, kind, key int32, info Handle, made *Handle) int32 `sym:"MPI_Comm_split_type"`
	CommFree          func(c *Handle) int32                                            `sym:"MPI_Comm_free"`

	AllocMem func(size uintptr, info Handle, p *unsafe.Pointer) int32 `sym:"MPI_Alloc_mem"`
	FreeMem  func(p unsafe.Pointer) int32                             `sym:"MPI_Free_mem"`

	Ibcast     func(p unsafe.Pointer, n int32, kind Handle, root int32, c Handle, r *Request) int32 `sym:"MPI_Ibcast"`
	Iallgather func(send unsafe.Pointer, n int32, kind Handle, recv unsafe.Pointer, recvN int32, recvKind Handle,
		c Handle, r *Request) int32 `sym:"MPI_Iallgather"`
	Isend  func(p unsafe.Pointer, n int32, kind Handle, to, tag int32, c Handle, r *Request) int32   `sym:"MPI_Isend"`
	Irecv  func(p unsafe.Pointer, n int32, kind Handle, from, tag int32, c Handle, r *Request) int32 `sym:"MPI_Irecv"`
	Test   func(r *Request, done *int32, status uintptr) int32                                       `sym:"MPI_Test"`
	Cancel func(r *Request) int32                                                                    `sym:"MPI_Cancel"`
	Wait   func(r *Request, status uintptr) int32                                                    `sym:"MPI_Wait"`
}

// An ABI holds the values that differ between MPI's binary interfaces.
type ABI struct {
	World, Byte, InfoNull, ErrorsReturn Handle

	Shared       int32 // MPI_COMM_TYPE_SHARED
	AnySource    int32
	Funneled     int32 // MPI_THREAD_FUNNELED
	StatusIgnore uintptr
}

// mpich is the binary interface of MPICH since 3.1.
var mpich = ABI{
	World: 0x44000000, Byte: 0x4c00010d, InfoNull: 0x1c000000, ErrorsReturn: 0x54000001,
	Shared: 1, AnySource: -2, Funneled: 1, StatusIgnore: 1,
}

// standard is the binary interface of MPI 5.
var standard = ABI{
	World: 0x101, Byte: 0x247, InfoNull: 0x130, ErrorsReturn: 0x143,
	Shared: 221, AnySource: -1, Funneled: 1024, StatusIgnore: 0,
}

// openMPI is that of Open MPI, but for the handles, which are the addresses of symbols.
var openMPI = ABI{Shared: 0, AnySource: -1, Funneled: 1, StatusIgnore: 0}

// openMPISymbols are the handles of Open MPI, in the order of ABI's.
var openMPISymbols = [...]string{
	"ompi_mpi_comm_world", "ompi_mpi_byte", "ompi_mpi_info_null", "ompi_mpi_errors_return",
}
