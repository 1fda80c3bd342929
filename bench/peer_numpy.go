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

// numpyProgram computes with NumPy, on command: "let name type rows cols" with the elements behind
// it, "run r statement" that runs a statement r times, and "get size" that answers with the
// bytes of the array c.
// Each command is answered with a line when it is done.
const numpyProgram = `
import sys, numpy
into, out = sys.stdin.buffer, sys.stdout.buffer
names, loops = {'numpy': numpy, 'rng': numpy.random.default_rng(1)}, {}
out.write(('numpy %s, python %s\n' % (numpy.__version__, sys.version.split()[0])).encode())
out.flush()
for line in into:
    what, _, rest = line.decode().strip().partition(' ')
    if what == 'let':
        name, type, rows, cols = rest.split()
        type, shape = numpy.dtype(type), (int(rows), int(cols))
        data = into.read(type.itemsize*shape[0]*shape[1])
        names[name] = numpy.frombuffer(data, type).reshape(shape).copy()
    elif what == 'run':
        runs, _, statement = rest.partition(' ')
        if statement not in loops:
            exec('def loop(r):\n global c\n for _ in range(r): ' + statement, names)
            loops[statement] = names['loop']
        loops[statement](int(runs))
    out.write(b'ok\n')
    if what == 'get':
        data = names['c'].tobytes()
        if len(data) != int(rest):
            sys.exit('c has %d bytes, not %s' % (len(data), rest))
        out.write(data)
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
			place: "host", apart: true, close: p.close, python: p,
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

// let names an array.
func (p *numpyProcess) let(a namedArray) error {
	return p.command(fmt.Sprintf("let %s %s %d %d", a.name, a.typ.NumPy(), a.rows, a.cols), a.data)
}

// exec runs a statement so many times.
func (p *numpyProcess) exec(runs int, statement string) error {
	return p.command(fmt.Sprintf("run %d %s", runs, statement))
}

// get reads c, which has the bytes of to.
func (p *numpyProcess) get(to []byte) error {
	if err := p.command(fmt.Sprintf("get %d", len(to))); err != nil {
		return err
	}
	_, err := io.ReadFull(p.out, to)
	return err
}

// loadNumPy multiplies into a new matrix each time, as Python's users do.
func loadNumPy[T linalg.Element](p *numpyProcess) func(x problem[T]) (*job, error) {
	return func(x problem[T]) (*job, error) {
		t := element.TypeOf[T]()
		err := errors.Join(p.let(namedArray{"a", t, x.m, x.k, backend.Bytes(x.a)}),
			p.let(namedArray{"b", t, x.k, x.n, backend.Bytes(x.b)}))
		if err != nil {
			return nil, err
		}
		poisoned := fmt.Sprintf("c = numpy.full((%d, %d), numpy.float64('%v'), '%s')", x.m, x.n, poison[T](), t.NumPy())
		return &job{
			run: func(runs int) error { return p.exec(runs, "c = a @ b") },
			put: func() error { return p.exec(1, poisoned) },
			get: func() error { return p.get(backend.Bytes(x.c)) },
		}, nil
	}
}
