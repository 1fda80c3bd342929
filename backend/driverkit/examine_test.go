package driverkit_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/backend/backendtest"
	_ "github.com/tandem-gpu/tandem/backend/cpu"
	"github.com/tandem-gpu/tandem/backend/driverkit"
	"github.com/tandem-gpu/tandem/backend/driverkit/diskcache"
	"github.com/tandem-gpu/tandem/internal/host"
)

// probe32 is a probe's kernel in Go, with the first m results; change spoils what it writes.
func probe32(m int, change func(i int, bits uint32) uint32) *backend.Source {
	return &backend.Source{
		Name: "probe", Params: []backend.Param{{Buffer: true}, {Buffer: true}, {Size: 4}},
		Go: func(g backend.Grid, lo, hi int, args []backend.Arg) error {
			in, out := backend.Mem[uint32](args[0]), backend.Mem[uint32](args[1])
			g.Each(lo, hi, func(i, _, _ int) {
				v := in[3*i : 3*i+3]
				a, b, c := math.Float32frombits(v[0]), math.Float32frombits(v[1]), math.Float32frombits(v[2])
				fma, ab := math.Float32bits(host.FMA32(a, b, c)), a*b
				for r, bits := range []uint32{
					fma, math.Float32bits(float32(ab) + c), math.Float32bits(ab),
					math.Float32bits(a + c), v[0]*v[1] + v[2], fma,
				}[:m] {
					out[m*i+r] = change(r, bits)
				}
			})
			return nil
		},
	}
}

func TestExamine(t *testing.T) {
	d, err := backend.Open("cpu")
	check(t, err)
	defer d.Close()
	q, err := d.NewQueue()
	check(t, err)
	for name, c := range map[string]struct {
		results int
		change  func(i int, bits uint32) uint32
		want    []string
	}{
		"sound": {6, func(_ int, bits uint32) uint32 { return bits }, nil},
		"five":  {5, func(_ int, bits uint32) uint32 { return bits }, nil},
		"a wrong sum": {6, func(i int, bits uint32) uint32 {
			if i == 3 {
				bits ^= 1
			}
			return bits
		}, []string{"float32 is not supported: a + c of a = 0x3f800800"}},
		"flushed": {6, func(i int, bits uint32) uint32 {
			if i < 4 && bits&0x7f800000 == 0 {
				bits &= 0x80000000
			}
			return bits
		}, []string{"float32 flushes subnormals: float32 is not supported"}},
	} {
		k, err := d.Compile(probe32(c.results, c.change))
		check(t, err)
		in, out, note, err := driverkit.Examine32(d, q, k, c.results)
		if err != nil || len(out) != c.results*len(in)/3 || len(in) == 0 {
			t.Errorf("%s: %d numbers give %d, %v", name, len(in), len(out), err)
		}
		var a driverkit.Arithmetic
		a.Float32 = a.Note(note)
		info := backend.Info{Note: "slow"}
		a.Apply(&info)
		if info.Float32 != (c.want == nil) || info.Float64 || !strings.HasPrefix(info.Note, "slow") {
			t.Errorf("%s: %+v", name, info)
		}
		for _, w := range c.want {
			if !strings.Contains(info.Note, "slow; "+w) {
				t.Errorf("%s: %s, want %s", name, info.Note, w)
			}
		}
	}
}

// A probe runs once, and in the next process not at all; one that fails is tried again.
func TestMemo(t *testing.T) {
	backendtest.EmptyCache(t)
	cache, key := diskcache.Open("fake"), diskcache.KeyOf("probe")
	type found struct{ N int }
	runs := 0
	probe := func() (*found, error) {
		if runs++; runs == 1 {
			return nil, errors.New("busy")
		}
		return &found{runs}, nil
	}
	var first, second driverkit.Memo[found]
	if first.Recall(cache, key) != nil {
		t.Error("recalls what nobody found")
	}
	if _, err := first.Find(cache, key, probe); err == nil {
		t.Error("no error")
	}
	for _, m := range []*driverkit.Memo[found]{&first, &first, &second} {
		f, err := m.Find(cache, key, probe)
		if err != nil || f.N != 2 {
			t.Errorf("%+v, %v", f, err)
		}
	}
	cache.Put(key, []byte("no JSON"))
	if f := new(driverkit.Memo[found]).Recall(cache, key); f != nil {
		t.Errorf("recalls %+v out of nonsense", f)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
