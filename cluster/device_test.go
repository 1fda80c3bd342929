package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/model"
)

// twins is a driver of two equal GPUs; the second has no memory left.
type twins struct{}

type twin struct {
	*model.Device
	index int
}

func init() { backend.Register(twins{}) }

func (twins) Name() string { return "twins" }

func (twins) Devices() ([]backend.Info, error) {
	return []backend.Info{*newTwin(0).Info(), *newTwin(1).Info()}, nil
}

func (twins) Open(i int) (*backend.Device, error) { return backend.NewDevice(newTwin(i)), nil }

func newTwin(i int) *twin {
	return &twin{&model.Device{In: 1e12, Out: 1e12, Rate: 1e12, Memory: 1 << 30}, i}
}

func (d *twin) Info() *backend.Info {
	info := d.Device.Info()
	info.Driver, info.Index = "twins", d.index
	return info
}

func (d *twin) Alloc(n int64) (backend.Memory, error) {
	if d.index == 1 {
		return backend.Memory{}, &backend.Error{Op: "Device.Alloc", Err: backend.ErrOutOfMemory, Detail: "planted"}
	}
	return d.Device.Alloc(n)
}

// The ranks of a machine take its equal GPUs in turn, unless they name one. One rank's device that
// runs out of memory is an error of all.
func TestDevices(t *testing.T) {
	multiply := func(spec string, index func(rank int) int) func(context.Context, *Comm) error {
		return func(ctx context.Context, c *Comm) error {
			s, err := c.Open(spec)
			if err != nil {
				return err
			}
			defer s.Close()
			if got, want := s.Info().Index, index(c.Rank()); got != want {
				return fmt.Errorf("%s is device %d, want %d", spec, got, want)
			}
			g, err := c.Grid(ctx, 0, 4)
			if err != nil {
				return err
			}
			m, err := New[float32](g, 9, 9)
			if err == nil {
				_, err = MatMul(ctx, s, m, m)
			}
			return err
		}
	}
	onRanks(t, 3, multiply("twins:0", func(int) int { return 0 }))
	for rank, err := range newFake(3).job(t.Context(), nil, multiply("twins", func(rank int) int { return rank % 2 })) {
		var e *Error
		if !errors.As(err, &e) || e.Rank != 1 || rank == 1 && !errors.Is(err, backend.ErrOutOfMemory) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}
