package bench

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/linalg"
)

// NumPy computes the product, in memory that the check has filled before.
func TestNumPy(t *testing.T) {
	l := openNumPy()
	if !l.info.Loaded {
		t.Skip(l.info.Detail)
	}
	defer l.close()
	testNumPy[int32](t, l)
	testNumPy[float32](t, l)
	testNumPy[float64](t, l)
}

func testNumPy[T linalg.Element](t *testing.T, l *library) {
	for _, d := range []shape{{m: 3, n: 4, k: 5}, {m: 40, n: 1, k: 17}} {
		p := randomProblem[T](d.m, d.n, d.k)
		ref := newReference(p, checkOperations())
		c, err := ofLibrary(&runner{ctx: t.Context()}, l, p, ref, 1)
		if err != nil {
			t.Fatal(err)
		}
		if check, err := c.check(); err != nil || check.Wrong != 0 || check.Elements != d.m*d.n {
			t.Errorf("%+v: %+v, %v", d, check, err)
		}
		ref.want[0] += 1
		if check, err := c.check(); err != nil || check.Wrong != 1 {
			t.Errorf("%+v, with another reference: %+v, %v", d, check, err)
		}
		if err := c.run(3); err != nil {
			t.Error(err)
		}
	}
}

func TestNoNumPy(t *testing.T) {
	if _, _, err := startNumPy("no-such-python"); err == nil {
		t.Error("a program that is not there was started")
	}
	if _, err := exec.LookPath("true"); err != nil {
		t.Skip(err)
	}
	if _, _, err := startNumPy("true"); err == nil || !strings.Contains(err.Error(), "no numpy") {
		t.Errorf("%v", err)
	}
}
