package linalg_test

import (
	"context"
	"slices"
	"testing"

	"github.com/tandem-gpu/tandem/backend/backendtest"
	"github.com/tandem-gpu/tandem/conformance"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/linalg"
)

// One device or several, with their memory or a little of it, have one digest of what is shared out
// in tiles: the golden one.
func TestSharedConformance(t *testing.T) {
	digest, shared := "", []string{"matmul", "addmul", "transpose", "add", "scale"}
	for _, x := range []struct{ spec, limit string }{
		{"cpu", ""},
		{"opencl", ""},
		{"opencl", "20000"},
		{"cudasim", ""},
		{"cudasim", "20000"},
		{"cpu+opencl", ""},
		{"cpu+opencl", "20000"},
		{"cpu+opencl+cudasim", ""},
		{"cpu+opencl+cudasim", "20000"},
	} {
		t.Run(x.spec+" "+x.limit, func(t *testing.T) {
			t.Setenv(linalg.EnvMemory, x.limit)
			defer linalg.SmallTiles(16, 32, 8192)()
			s, err := linalg.Open(x.spec)
			if err != nil {
				backendtest.Require(t, "opencl", err)
				return
			}
			defer s.Close()
			quick, all := map[string]string{}, map[string]string{}
			for _, c := range conformance.Cases() {
				if !slices.Contains(shared, c.Kernel) || !c.Quick && x.spec+x.limit != "cpu+opencl20000" {
					continue // no such call, or minutes
				}
				run := element.ByType(c.Type, sharedCase[float32], sharedCase[float64], sharedCase[int32])
				got, err := run(t.Context(), s, c)
				if err != nil {
					t.Fatal(c.Name(), err)
				}
				if all[c.Name()] = got; c.Quick {
					quick[c.Name()] = got
				}
			}
			if r := conformance.Judge(s.Info(), all); !r.Passed() {
				t.Errorf("%d failures, the first: %+v", len(r.Failures), r.Failures[:1])
			}
			r := conformance.Judge(s.Info(), quick)
			t.Logf("%d cases, %d of them quick: %s", len(all), len(quick), r.Digest)
			if digest == "" {
				digest = r.Digest
			}
			if r.Digest != digest {
				t.Errorf("the digest is %s, before %s", r.Digest, digest)
			}
			for _, d := range s.Devices() {
				t.Logf("%s: %d elements", d.Info.Name, d.Elements)
				if d.Err != nil {
					t.Error(d.Err)
				}
			}
		})
	}
}

// sharedCase is the digest of a case by the calls on host matrices.
func sharedCase[T linalg.Element](ctx context.Context, s *linalg.Session, x *conformance.Case) (string, error) {
	alpha, a, b, beta, c := conformance.Operands[T](x)
	var mc linalg.Matrix[T]
	var err error
	switch x.Kernel {
	case "matmul", "addmul":
		ma, mb := linalg.NewMatrix(x.M, x.K, a), linalg.NewMatrix(x.K, x.N, b)
		mc = linalg.NewMatrix(x.M, x.N, c)
		switch {
		case x.Kernel == "matmul":
			err = linalg.Gemm(alpha, 'N', ma, 'N', mb, beta, mc, linalg.On(s), linalg.WithContext(ctx))
		case alpha > 0:
			err = linalg.AddMul(ma, mb, mc, linalg.On(s), linalg.WithContext(ctx))
		default:
			err = linalg.SubMul(ma, mb, mc, linalg.On(s), linalg.WithContext(ctx))
		}
	case "transpose":
		mc, err = linalg.Transpose(linalg.NewMatrix(x.M, x.N, a), linalg.On(s), linalg.WithContext(ctx))
	case "add":
		mc, err = linalg.Add(linalg.NewMatrix(x.M, x.N, a), linalg.NewMatrix(x.M, x.N, b), linalg.On(s),
			linalg.WithContext(ctx))
	default:
		mc, err = linalg.Scale(alpha, linalg.NewMatrix(x.M, x.N, a), linalg.On(s), linalg.WithContext(ctx))
	}
	return conformance.Digest(mc.Data), err
}
