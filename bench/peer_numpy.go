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
	"github.com/tandem-gpu/tandem/bench/internal/measure"
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
out.write(('%s, python %s\n' % (numpy.__version__, sys.version.split()[0])).encode())
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

// An operand is an array that a statement of NumPy names.
type operand struct {
	name       string
	typ        element.Type
	rows, cols int
	data       []byte
}

func operandOf[T linalg.Element](name string, rows, cols int, data []T) operand {
	return operand{name, element.TypeOf[T](), rows, cols, backend.Bytes(data)}
}

// numpyProcess is Python with NumPy. What a command costs beside its work is some microseconds for
// the pipes.
type numpyProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// openNumPy starts the first Python that has NumPy. Floats it hands to a BLAS, mostly an OpenBLAS
// of its own.
func openNumPy() *peer {
	const name = "NumPy"
	var reasons []error
	for _, python := range []string{"python3", "/usr/bin/python3", "python"} {
		p, version, err := startNumPy(python)
		if err != nil {
			reasons = append(reasons, err)
			continue
		}
		return &peer{
			name: name, detail: version + ", in a process of its own; integers on one thread",
			contender: p.contender, close: p.close,
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
func (p *numpyProcess) command(data []byte, format string, v ...any) error {
	if _, err := fmt.Fprintf(p.in, format+"\n", v...); err != nil {
		return err
	}
	if _, err := p.in.Write(data); err != nil {
		return err
	}
	answer, err := p.out.ReadString('\n')
	if err == nil && answer != "ok\n" {
		err = fmt.Errorf("python answers %q", answer)
	}
	return err
}

// contender hands over the operands, and runs the task's statement. Of the task's memory of the
// result it reads all.
func (p *numpyProcess) contender(t *task) (*measure.Contender, error) {
	if t.numPy == "" {
		return nil, nil
	}
	for _, a := range t.operands {
		if err := p.command(a.data, "let %s %s %d %d", a.name, a.typ.NumPy(), a.rows, a.cols); err != nil {
			return nil, err
		}
	}
	return t.Contender("NumPy", func(runs int) error {
		return p.command(nil, "run %d %s", runs, t.numPy)
	}, nil, func() error {
		if err := p.command(nil, "get %d", len(t.out)); err != nil {
			return err
		}
		_, err := io.ReadFull(p.out, t.out)
		return err
	}), nil
}
