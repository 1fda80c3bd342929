// Package driverkit is what drivers are made of: the parts of a backend.Driver that have nothing to
// do with the library that it calls. The drivers cuda and opencl are made of it, file by file
// alike, and are the examples to read. A driver for another interface (Metal, Level Zero, HIP) uses
// it in this order:
//
//  1. Package dl loads the library when devices are first asked for, and fills a table of functions
//     from its symbols. It is a package of its own: driverkit links nothing but Go.
//  2. [List] is Devices and Open of the driver, over a function that finds the devices. [Failure]
//     is the error of every check.
//  3. [Device], embedded in the driver's device, keeps account of what it makes. Each buffer,
//     kernel and event embeds an [Object], each queue a [Queue]: made by the library, then adopted
//     by [Device.Adopt] with the function that releases it. Enter and Drop around every method make
//     Close safe at any time, and give ErrClosed and ErrDeviceLost.
//  4. [Device.CheckSize], [Memory], [CheckRange], [CheckOverlap] and [Signature.Check] are the
//     checks of arguments that stand before the library's calls. They allocate nothing where all is
//     well. [Allocate] goes around the calls that make buffers, and [Device.AdoptMemory] adopts
//     them: so forgotten buffers make room for others.
//  5. [Programs] builds each source once for all who compile it at the same time. [Text] puts the
//     driver's prelude before it; [ParseParams] reads the head of the kernel where the compiler
//     does not tell it. Package diskcache keeps what was compiled between the runs of a program.
//  6. [Examine32] and [Examine64] run a kernel that finds out whether the device keeps the numerics
//     contract, an [Arithmetic] notes it, and a [Memo] keeps it.
//
// What a handle in the caller's hands holds must be apart from the handle itself, so that the
// garbage collector can tell when the caller has forgotten it: see the types device and deviceState
// of the existing drivers.
package driverkit
