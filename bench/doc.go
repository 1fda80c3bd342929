// Package bench measures Tandem's products and transposes on a device, beside other libraries where
// they are installed.
//
// [Run] is the whole benchmark: what `tandem bench` runs. Its [Report] holds every sample. How it
// measures:
//
//   - The contenders of a row run in one process, one after the other, several rounds of them, and
//     each round begins with another one. So what slows the machine down for a while slows all of
//     them down.
//   - Every contender first runs once, and its result is checked; what gives a wrong result is not
//     measured. Tandem's own results must be the bits of the numerics contract. Other libraries sum
//     in another order: theirs must lie within the rounding error that any order can have, and it
//     is counted in how many elements their bits differ.
//   - A sample is the time of as many runs as last 20 ms, divided by their number, after a run that
//     is not counted. Before each sample the process rests, because threads of some libraries spin
//     for a while after a call.
//   - A figure is the median of the samples. The fastest and the slowest stand beside it. With
//     Options.Steady there are up to four times as many samples, until their quartiles lie within
//     5 % of the median, or the report says that they do not.
//   - Peaks are measured, too: by a kernel that does nothing but fused multiply-adds, and by
//     copies. Nothing is taken from data sheets.
//
// [Tune] searches the fastest parameters of the kernels: what `tandem tune` runs.
//
// A contender that runs on the device is enqueued as often as a sample needs, and waited for once;
// what the single calls cost is measured apart.
package bench
