package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/linalg"
)

// numpyProgram multiplies matrices with NumPy, on command: "load type m n k" with A and B behind
// it, "run r" that multiplies r times, into a new matrix as Python's users do, "fill v" that makes
// C a matrix of v, and "get" that answers with C. Each command is answered with a line when it is
// done.
const numpyProgram = `
import sys, numpy
into, out = sys.stdin.buffer, sys.stdout.buffer
def matrix(type, rows, cols):
    type = numpy.dtype(type.decode())
    return numpy.frombuffer(into.read(type.itemsize*rows*cols), type).reshape(rows, cols)
out.write(('numpy %s, python %s\n' % (numpy.__version__, sys.version.split()[0])).encode())
out.flush()
for line in into:
    what, *v = line.split()
    if what == b'load':
        m, n, k = (int(x) for x in v[1:])
        a, b = matrix(v[0], m, k), matrix(v[0], k, n)
    elif what == b'run':
        for _ in range(int(v[0])):
            c = a @ b
    elif what == b'fill':
        c = numpy.full((m, n), v[0].decode(), a.dtype)
    out.write(b'ok\n')
    if what == b'get':
        out.write(c.tobytes())
    out.flush()
`

// numpyProcess is Python with NumPy. What a command costs beside its work is some microseconds for
// the pipes.
type numpyProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// openNumPy starts the first Python that has NumPy. Floats it hands to a BLAS, mostly an OpenBLAS
// of its own.
func openNumPy() *library {
	const name = "NumPy"
	var reasons []error
	for _, python := range []string{"python3", "/usr/bin/python3", "python"} {
		p, version, err := startNumPy(python)
		if err != nil {
			reasons = append(reasons, err)
			continue
		}
		return &library{
			info: PeerInfo{Name: name, Loaded: true, Detail: version +
				", a @ b in a process of its own; int32 on one thread"},
			place: "host", apart: true, close: p.close,
			float32: loadNumPy[float32](p), float64: loadNumPy[float64](p), int32: loadNumPy[int32](p),
		}
	}
	return absent(name, errors.Join(reasons...))
}

func startNumPy(python string) (p *numpyProcess, version string, err error) {
	p = &numpyProcess{cmd: exec.Command(python, "-c", numpyProgram)}
	p.cmd.Env = append(os.Environ(), envThreadTimeout+"="+threadTimeout)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, "", err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, "", err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.close()
		return nil, "", fmt.Errorf("%s has no numpy", python)
	}
	return p, strings.TrimSpace(line), nil
}

// close ends the process, which reads no more.
func (p *numpyProcess) close() {
	p.in.Close()
	p.cmd.Wait()
}

// command sends a line and data, and waits for the answer.
func (p *numpyProcess) command(line string, data ...[]byte) error {
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		return err
	}
	for _, d := range data {
		if _, err := p.in.Write(d); err != nil {
			return err
		}
	}
	answer, err := p.out.ReadString('\n')
	if err == nil && answer != "ok\n" {
		err = fmt.Errorf("python answers %q", answer)
	}
	return err
}

func loadNumPy[T linalg.Element](p *numpyProcess) func(x problem[T]) (*job, error) {
	return func(x problem[T]) (*job, error) {
		load := fmt.Sprintf("load %s %d %d %d", element.TypeOf[T]().NumPy(), x.m, x.n, x.k)
		if err := p.command(load, backend.Bytes(x.a), backend.Bytes(x.b)); err != nil {
			return nil, err
		}
		return &job{
			run: func(runs int) error { return p.command(fmt.Sprintf("run %d", runs)) },
			put: func() error { return p.command(fmt.Sprintf("fill %v", poison[T]())) },
			get: func() error {
				if err := p.command("get"); err != nil {
					return err
				}
				_, err := io.ReadFull(p.out, backend.Bytes(x.c))
				return err
			},
		}, nil
	}
}
