// Package driverkit is what drivers are made of, beside package backend: the parts that have
// nothing to do with the library that a driver calls. The drivers cuda and opencl are made of it,
// file by file alike, and are the examples to read. A driver for another interface (Metal, Level
// Zero, HIP) uses it in this order:
//
//  1. Package dl loads the library when devices are first asked for, and fills a table of functions
//     from its symbols. It is a package of its own: driverkit links nothing but Go.
//  2. [List] is Name, Devices and Open of the driver, over a function that finds the devices.
//  3. [Programs] makes kernels: each source is built once for all who compile it. [Text] puts the
//     driver's prelude before it; [ParseParams] reads the head of the kernel where the compiler
//     does not tell it. Package diskcache keeps what was compiled between the runs of a program.
//  4. [Examine32] and [Examine64] run a kernel that finds out whether the device keeps the numerics
//     contract, an [Arithmetic] notes it, and a [Memo] keeps it.
package driverkit
