package bench

import (
	"os"
	"strconv"
	"strings"
)

// megahertz is the mean frequency of the processor's cores now, 0 where the system does not say.
func megahertz() float64 {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return 0
	}
	return meanMegahertz(string(text))
}

func meanMegahertz(cpuinfo string) float64 {
	sum, n := 0.0, 0
	for line := range strings.Lines(cpuinfo) {
		name, value, _ := strings.Cut(line, ":")
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if strings.TrimSpace(name) == "cpu MHz" && err == nil {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(max(n, 1))
}

// cpuTime is what the cores have done since the system began, in ticks.
type cpuTime struct{ stolen, all float64 }

// stolenTime is what a virtual machine's host has given to others; nothing where the system does
// not say.
func stolenTime() cpuTime {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuTime{}
	}
	return parseStat(string(text))
}

// parseStat reads the first line of /proc/stat: of "cpu" the eighth number is what was stolen, and
// the two after it, time of guests, are counted in the first ones.
func parseStat(stat string) (t cpuTime) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return t
	}
	for _, f := range fields[1:9] {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return cpuTime{}
		}
		t.all += v
		t.stolen = v
	}
	return t
}

// since is the fraction of the time since before that was stolen.
func (t cpuTime) since(before cpuTime) float64 {
	if t.all <= before.all {
		return 0
	}
	return (t.stolen - before.stolen) / (t.all - before.all)
}
