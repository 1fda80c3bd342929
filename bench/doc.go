// Package bench measures Tandem's products, transposes and other functions on a device, beside
// other libraries where they are installed.
//
// [Run] is the whole benchmark: what `tandem bench` runs. It is a list of rows, each a problem in
// one type and size, and what computes it: a function that makes ready Tandem's contenders, and
// what other libraries need to compute the same. How it measures:
//
//   - The contenders of a row run in one process, one after the other, several rounds of them, and
//     each round begins with another one. So what slows the machine down for a while slows all of
//     them down.
//   - Every contender first runs once, and its result is checked; what gives a wrong result is not
//     measured. Tandem's own results must be the bits of the numerics contract. Other libraries sum
//     in another order: theirs must lie within the rounding error that any order can have.
//   - A sample is the time of as many runs as last 20 ms, divided by their number, after a run that
//     is not counted. Before each sample the process rests, because threads of some libraries spin
//     for a while after a call.
//   - A contender that runs on the device is enqueued as often as a sample needs, and waited for
//     once; what the single calls cost is measured apart.
//   - A time is the median of the samples.
//   - Peaks are measured, too: by a kernel that does nothing but fused multiply-adds, and by
//     copies. Nothing is taken from data sheets.
//
// Every row is written as soon as it is measured: its samples in Go's benchmark format, which
// benchstat compares, and [Read] reads again; and a line of a table.
package bench
