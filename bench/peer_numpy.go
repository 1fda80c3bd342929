package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/tandem-gpu/tandem/backend"
)

// numpyProgram multiplies int32 matrices with NumPy, on command: "load m n k" with A and B behind
// it, "run r" that multiplies r times, "fill v" that fills C with v, and "get" that answers with C.
// Each command is answered with a line when it is done.
const numpyProgram = `
import sys, numpy
into, out = sys.stdin.buffer, sys.stdout.buffer
def matrix(rows, cols):
    return numpy.frombuffer(into.read(4*rows*cols), numpy.int32).reshape(rows, cols)
out.write(('numpy %s, python %s\n' % (numpy.__version__, sys.version.split()[0])).encode())
out.flush()
for line in into:
    what, *v = line.split()
    v = [int(x) for x in v]
    if what == b'load':
        a, b = matrix(v[0], v[2]), matrix(v[2], v[1])
        c = numpy.zeros((v[0], v[1]), numpy.int32)
    elif what == b'run':
        for _ in range(v[0]):
            numpy.matmul(a, b, out=c)
    elif what == b'fill':
        c.fill(v[0])
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

// openNumPy starts the first Python that has NumPy. It is a peer for int32 alone: floats it hands
// to a BLAS.
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
				", its int32 product, which uses one thread, in a process of its own"},
			place: "host", apart: true, int32: p.load, close: p.close,
		}
	}
	return absent(name, errors.Join(reasons...))
}

func startNumPy(python string) (p *numpyProcess, version string, err error) {
	p = &numpyProcess{cmd: exec.Command(python, "-c", numpyProgram)}
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

func (p *numpyProcess) load(x problem[int32]) (*job, error) {
	if err := p.command(fmt.Sprintf("load %d %d %d", x.m, x.n, x.k), backend.Bytes(x.a),
		backend.Bytes(x.b)); err != nil {
		return nil, err
	}
	return &job{
		run: func(runs int) error { return p.command(fmt.Sprintf("run %d", runs)) },
		put: func() error { return p.command(fmt.Sprintf("fill %d", poison[int32]())) },
		get: func() error {
			if err := p.command("get"); err != nil {
				return err
			}
			_, err := io.ReadFull(p.out, backend.Bytes(x.c))
			return err
		},
	}, nil
}
