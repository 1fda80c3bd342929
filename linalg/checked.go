package linalg

import (
	"fmt"
	"maps"

	"github.com/tandem-gpu/tandem/backend"
)

// EnvCheck is the environment variable that switches the checked mode of sessions on, if it is 1.
const EnvCheck = "TANDEM_CHECK"

// SetChecked switches the checked mode on or off for the kernels written in Go that are launched or
// compiled from now on. In it an index out of range, an element outside a matrix, the bounds of a
// slice that are none and an integer division by 0 are errors of the launch. They match
// backend.ErrLaunch and name the kernel's file and line, the numbers and the work-item; the session
// goes on. What the kernel has written before stays written. A checked launch blocks. It takes a
// compiler: on an NVIDIA GPU that is NVRTC. On the cpu device each work-item is a goroutine, which
// finds barriers that not all of them come to as well.
//
// A session begins with what [EnvCheck] says.
func (s *Session) SetChecked(on bool) { s.checked.Store(on) }

// A checkedKernel is a kernel whose launches check.
type checkedKernel struct {
	backend.Kernel
	files []string
}

// checkedSource is src with its checks on.
func checkedSource(src *backend.Source) *backend.Source {
	c := *src
	c.Macros = maps.Clone(src.Macros)
	if c.Macros == nil {
		c.Macros = map[string]string{}
	}
	c.Macros["TANDEM_CHECKED"] = "1"
	c.Params = append(c.Params[:len(c.Params):len(c.Params)],
		backend.Param{Name: "record", Type: "ulong*", Buffer: true})
	c.PTX, c.Packed, c.Go = nil, nil, src.Checks.Go
	return &c
}

// launchKernel is the queue's Launch; one that checks waits for the kernel and reports what it has
// found.
func (s *Session) launchKernel(k backend.Kernel, g backend.Grid, args []backend.Arg) (err error) {
	c, ok := k.(*checkedKernel)
	if !ok {
		return s.queue.Launch(k, g, args...)
	}
	var record [8]uint64
	mem := backend.Bytes(record[:])
	buf, err := s.device.Alloc(int64(len(mem)))
	if err != nil {
		return err
	}
	defer func() {
		if e := buf.Free(); err == nil {
			err = e
		}
	}()
	if err := s.queue.Write(buf, 0, mem); err != nil {
		return err
	}
	if err := s.queue.Launch(c.Kernel, g, append(args[:len(args):len(args)], backend.Buf(buf))...); err != nil {
		return err
	}
	if err := s.queue.Read(mem, buf, 0); err != nil {
		return err
	}
	if record[0] == 0 {
		return nil
	}
	return &backend.Error{
		Driver: s.info.Driver, Op: "Queue.Launch", Err: backend.ErrLaunch,
		Detail: fmt.Sprintf("kernel %s: %s", c.Name(), c.mistake(&record)),
	}
}

// mistake says what a work-item has recorded.
func (k *checkedKernel) mistake(record *[8]uint64) string {
	const lines = 1e6
	file, line := record[1]/lines, record[1]%lines
	i, n := int64(record[2]), int64(record[3])
	what := ""
	switch record[0] {
	case 1:
		what = fmt.Sprintf("index %d out of range of length %d", i, n)
	case 2:
		what = fmt.Sprintf("row %d of a matrix of %d rows", i, n)
	case 3:
		what = fmt.Sprintf("column %d of a matrix of %d columns", i, n)
	case 4:
		what = fmt.Sprintf("slice bound %d out of range, which ends at %d", i, n)
	default:
		what = "integer division by 0"
	}
	return fmt.Sprintf("%s:%d: %s in work-item %d", k.files[file], line, what, record[4:7])
}
