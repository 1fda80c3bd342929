package bench

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/tandem-gpu/tandem/linalg"
)

// onCPU is a runner on the cpu device.
func onCPU(t *testing.T) *runner {
	s, err := linalg.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	r := newRunner(t.Context(), Options{Quick: true})
	r.s = s
	return r
}

// Package array's functions have the contract's bits, and the report says so.
func TestArrayBits(t *testing.T) {
	r := onCPU(t)
	for _, x := range append(arrayRows[float32](r), arrayRows[float64](r)...) {
		if err := x.ready(x); err != nil {
			t.Fatal(err)
		}
		if c, err := x.contenders[0].Check(); err != nil || c.Elements == 0 || c.Differ != 0 {
			t.Errorf("%s: %+v, %v", x.Title(), c, err)
		}
		for _, free := range x.free {
			free()
		}
	}
}

// The checks of factorizations find a factor that is wrong.
func TestSolverChecks(t *testing.T) {
	for _, x := range lapackRows(onCPU(t)) {
		if err := x.ready(x); err != nil {
			t.Fatal(err)
		}
		x.Reset()
		if c := x.Verify(false); c.Wrong == 0 {
			t.Errorf("%s: nothing was computed, and nothing is wrong", x.Title())
		}
		if c, err := x.contenders[0].Check(); err != nil || c.Wrong != 0 || c.Elements == 0 {
			t.Errorf("%s: %+v, %v", x.Title(), c, err)
		}
	}
}

// A batch with one wrong product is found.
func TestBatchCheck(t *testing.T) {
	x := batches[float64](onCPU(t), 6, 3, 4, 5)
	if err := x.ready(x); err != nil {
		t.Fatal(err)
	}
	c, err := hosted("gonum", "").contender(x)
	if err != nil {
		t.Fatal(err)
	}
	c.Peer = true
	if check, err := c.Check(); err != nil || check.Wrong != 0 || check.Elements != 72 {
		t.Errorf("%+v, %v", check, err)
	}
	x.out[len(x.out)-30] ^= 0x40
	if check := x.Verify(true); check.Wrong != 1 {
		t.Errorf("%+v of a wrong element", check)
	}
}

// The copies in host memory are checked, and what copies half is wrong.
func TestMemcpy(t *testing.T) {
	src := []int32{1, 2, 3, 4, 5}
	dst := make([]int32, len(src))
	c := memcpy(onCPU(t), dst, src)[0]
	if check, err := c.Check(); err != nil || check.Wrong != 0 || check.Elements != 5 || !slices.Equal(dst, src) {
		t.Errorf("%+v, %v", check, err)
	}
}

// NumPy computes the product, in memory that the check has filled before.
func TestNumPy(t *testing.T) {
	p := openNumPy()
	if p.contender == nil {
		t.Skip(p.detail)
	}
	defer p.close()
	testNumPy[int32](t, p)
	testNumPy[float32](t, p)
	testNumPy[float64](t, p)
}

func testNumPy[T linalg.Element](t *testing.T, p *peer) {
	for _, d := range [][3]int{{3, 4, 5}, {40, 1, 17}} {
		x := product[T](onCPU(t), d[0], d[1], d[2])
		if err := x.ready(x); err != nil {
			t.Fatal(err)
		}
		c, err := p.contender(x)
		if err != nil {
			t.Fatal(err)
		}
		c.Peer = true
		if check, err := c.Check(); err != nil || check.Wrong != 0 || check.Elements != d[0]*d[1] {
			t.Errorf("%v: %+v, %v", d, check, err)
		}
		if err := c.Run(3); err != nil {
			t.Error(err)
		}
		x.numPy = "c = a @ (b + 1)"
		if check, err := c.Check(); err != nil || check.Wrong == 0 {
			t.Errorf("%v, another product: %+v, %v", d, check, err)
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
