package outofcore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	_ "github.com/tandem-gpu/tandem/backend/cpu"
	_ "github.com/tandem-gpu/tandem/backend/cudasim"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/npy"
	"github.com/tandem-gpu/tandem/internal/outofcore"
	"github.com/tandem-gpu/tandem/internal/tiles"
)

func TestLimit(t *testing.T) {
	const name, memory = outofcore.EnvMemory, 1 << 30
	for text, want := range map[string]int64{
		"": memory / 4 * 3, "1000": 1000, " 512MiB": 512 << 20, "1.5 gib": 3 << 29, "20KiB ": 20 << 10,
		"50%": memory / 2, "100 %": memory, "1e30": 1 << 62,
	} {
		t.Setenv(name, text)
		if got, err := outofcore.Limit(name, memory); got != want || err != nil {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "many", "1TB", "101%", "0%", "NaN", "inf", "MiB"} {
		t.Setenv(name, text)
		_, err := outofcore.Limit(name, memory)
		if !errors.Is(err, backend.ErrArgument) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v; want an ErrArgument", text, err)
		}
	}
}

// copying is the plainest operation: its result is its input.
type copying struct {
	from, to []int32 // 33 by 47
	tiles    atomic.Int64
	fail     int // the device that does nothing
}

const rows, cols = 33, 47

var errFail = errors.New("no")

func same(_ int, c tiles.Tile, _, _ int) tiles.Tile { return c }

// each calls f for the rows of a tile: the elements from i on, and as many bytes from at on.
func each(t tiles.Tile, f func(i, at int)) {
	for r := range t.Rows {
		f((t.Row+r)*cols+t.Col, 4*r*t.Cols)
	}
}

func (c *copying) Tile(_ context.Context, device int, t tiles.Tile) error {
	if device == c.fail {
		return errFail
	}
	each(t, func(i, _ int) { copy(c.to[i:i+t.Cols], c.from[i:]) })
	c.tiles.Add(1)
	return nil
}

func (c *copying) Load(mem []byte, i int, r tiles.Tile) {
	each(r, func(i, at int) { copy(mem[at:], backend.Bytes(c.from[i:i+r.Cols])) })
}

func (c *copying) Step(device int, q *backend.Queue, _ int, p [3]outofcore.Panel) error {
	if device == c.fail {
		return errFail
	}
	for r := range int64(p[0].Rows) {
		to, from := 4*r*int64(p[0].Stride), 4*(int64(p[1].Offset)+r*int64(p[1].Stride))
		if err := q.Copy(p[0].Buffer, to, p[1].Buffer, from, int64(4*p[0].Cols)); err != nil {
			return err
		}
	}
	return nil
}

func (c *copying) Store(t tiles.Tile, mem []byte) {
	each(t, func(i, at int) { copy(backend.Bytes(c.to[i:i+t.Cols]), mem[at:]) })
	c.tiles.Add(1)
}

// open opens devices that use very little memory.
func open(t *testing.T, specs ...string) (devices []*outofcore.Device) {
	t.Setenv(outofcore.EnvMemory, "3000")
	for _, spec := range specs {
		d, err := backend.Open(spec)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		o, err := outofcore.NewDevice(d)
		if err != nil {
			t.Fatal(err)
		}
		devices = append(devices, o)
	}
	return devices
}

// newCopying is a job that copies numbers from 0 on.
func newCopying() (*outofcore.Job, *copying) {
	c := &copying{from: make([]int32, rows*cols), to: make([]int32, rows*cols), fail: -1}
	for i := range c.from {
		c.from[i] = int32(i)
	}
	return &outofcore.Job{
		Shape: outofcore.Shape{Rows: rows, Cols: cols, Steps: 1, Inputs: 1, Region: same},
		Work:  c, ElementSize: 4, Key: "copying",
	}, c
}

// Jobs at once on the same devices with memory of their own do not wait for each other for ever.
func TestJobsAtOnce(t *testing.T) {
	defer outofcore.Shrink(4, 5, 64)()
	devices := open(t, "cudasim", "cudasim")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := 0; i < 50 && ctx.Err() == nil; i++ {
				j, c := newCopying()
				if err := j.Run(ctx, nil, devices); err != nil || !slices.Equal(c.to, c.from) {
					t.Errorf("job %d: %v, or a wrong result", i, err)
				}
			}
		})
	}
	wait.Wait()
}

// An operation that only its regions are known of is done by devices in place and in copies, also
// where one of them fails; without any left the error is told.
func TestJob(t *testing.T) {
	defer outofcore.Shrink(4, 5, 64)()
	devices := open(t, "cpu", "cudasim")
	for _, x := range []struct {
		devices []*outofcore.Device
		fail    int
	}{
		{devices[:1], -1},
		{devices[1:], -1},
		{devices, -1},
		{devices, 0},
		{devices, 1},
		{devices[:1], 0},
		{devices[1:], 0},
	} {
		what := fmt.Sprintf("%d devices, %d fails", len(x.devices), x.fail)
		j, c := newCopying()
		c.fail = x.fail
		last := 0.0
		err := j.Run(t.Context(), func(f float64) { last = f }, x.devices)
		if len(x.devices) == 1 && x.fail == 0 {
			if !errors.Is(err, errFail) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil || last != 1 {
			t.Errorf("%s: %v, the last progress is %v", what, err, last)
		}
		if !bytes.Equal(backend.Bytes(c.to), backend.Bytes(c.from)) || c.tiles.Load() < 4 {
			t.Errorf("%s: the result of %d tiles is wrong", what, c.tiles.Load())
		}
		if n, err := x.devices[0].Use(); len(x.devices) == 1 && (n < rows*cols || err != nil) {
			t.Errorf("%s: %d elements, %v", what, n, err)
		}
	}
}

// A file is what NewOffsetWriter and NewSectionReader take.
type file struct{ data []byte }

func (f *file) WriteAt(b []byte, at int64) (int, error) {
	if grow := int(at) + len(b) - len(f.data); grow > 0 {
		f.data = append(f.data, make([]byte, grow)...)
	}
	return copy(f.data[at:], b), nil
}

// Files are computed in as little memory as a few elements, or all at once, and no more blocks are
// in memory than fit.
func TestFiles(t *testing.T) {
	data := make([]int32, rows*cols)
	for i := range data {
		data[i] = int32(i)
	}
	var in bytes.Buffer
	h := &npy.Header{Type: element.Int32, Shape: []int{rows, cols}}
	if err := npy.Write(&in, h, data); err != nil {
		t.Fatal(err)
	}
	for _, memory := range []int64{20, 32, 300, 3000, 1 << 20} {
		from, err := npy.OpenBlocks[int32](bytes.NewReader(in.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		to := new(file)
		out, err := npy.CreateBlocks[int32](to, h)
		if err != nil {
			t.Fatal(err)
		}
		f := outofcore.Files[int32]{
			Shape: outofcore.Shape{Rows: rows, Cols: cols, Steps: 1, Inputs: 1, Region: same},
			In:    []*npy.Blocks[int32]{from}, Out: out, Memory: memory, MaxDim: 1 << 30,
		}
		f.Compute = func(_ context.Context, report func(float64), k int, b [3]outofcore.Block[int32]) error {
			if k != 0 || len(b[0].Data) != len(b[1].Data) || int64(3*4*len(b[0].Data)) > memory {
				t.Errorf("%d bytes: step %d of blocks of %d and %d elements", memory, k, len(b[0].Data), len(b[1].Data))
			}
			report(0.5)
			copy(b[0].Data, b[1].Data)
			return nil
		}
		last := 0.0
		err = f.Run(t.Context(), func(f float64) {
			if f <= last {
				t.Errorf("progress goes back from %v to %v", last, f)
			}
			last = f
		})
		if memory == 20 {
			if !errors.Is(err, backend.ErrOutOfMemory) || !strings.Contains(err.Error(), outofcore.EnvHostMemory) {
				t.Errorf("%d bytes: %v", memory, err)
			}
			continue
		}
		if err != nil || last != 1 || !bytes.Equal(to.data, in.Bytes()) {
			t.Errorf("%d bytes: %v, the last progress is %v", memory, err, last)
		}
	}
}
