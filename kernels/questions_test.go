package kernels_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/element"
	"github.com/tandem-gpu/tandem/internal/tuning"
	"github.com/tandem-gpu/tandem/kernels"
)

var questions = flag.Int("questions", 0, "measure what only a GPU can tell, with large matrices of so many rows")

// TestQuestions asks a GPU what the choice of kernels and tiles rests on, and what could only be
// modelled without one: scripts/gpu/check.sh prints what it finds. Without -questions it runs once,
// on small matrices of float32. Ways to compute the same must give the same bits.
func TestQuestions(t *testing.T) {
	onDevices(t, func(t *testing.T, d *device) {
		if d.simulated() || d.info.Host {
			t.Skip("says nothing of a GPU")
		}
		if *questions == 0 {
			d.info.GPU = true // whatever it is: a GPU's tiles
		}
		askReads(t, d)
		ask[float32](t, d)
		if *questions > 0 {
			ask[float64](t, d)
			ask[int32](t, d)
		}
	})
}

// A way is one of the ways to compute a result.
type way struct {
	name   string
	source *backend.Source
	grid   backend.Grid
	args   []backend.Arg
}

// race runs the ways by turns and returns the seconds of each in the median, 0 for what the device
// does not take. The result must be the same: the first so many bytes of out.
func (d *device) race(t *testing.T, ways []way, out *backend.Buffer, bytes int) []float64 {
	t.Helper()
	rounds, sample := 7, 50*time.Millisecond
	if *questions == 0 {
		rounds, sample = 1, 0
	}
	var want []byte
	got := make([]byte, bytes)
	list, runs, seconds := make([]*backend.Kernel, len(ways)), make([]int, len(ways)), make([][]float64, len(ways))
	run := func(i, runs int) time.Duration {
		start := time.Now()
		for range runs {
			if err := d.queue.Launch(list[i], ways[i].grid, ways[i].args...); err != nil {
				t.Fatalf("%s: %v", ways[i].name, err)
			}
		}
		if err := d.queue.Wait(); err != nil {
			t.Fatalf("%s: %v", ways[i].name, err)
		}
		return time.Since(start)
	}
	for i, w := range ways {
		k, err := d.Compile(w.source)
		if errors.Is(err, backend.ErrUnsupported) && ptxOf(t, w.source) == nil && !required("nvrtc") {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		defer k.Release()
		list[i] = k
		for j := range got {
			got[j] = 0xa5 // not what the way before left there
		}
		err = d.queue.Write(out, 0, got)
		run(i, 1)
		if err := errors.Join(err, d.queue.Read(got, out, 0)); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = slices.Clone(got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s gives other bits than %s", w.name, ways[0].name)
		}
		for runs[i] = 1; run(i, runs[i]) < sample; {
			runs[i] *= 2
		}
	}
	for range rounds {
		for i := range ways {
			if list[i] != nil {
				seconds[i] = append(seconds[i], run(i, runs[i]).Seconds()/float64(runs[i]))
			}
		}
	}
	median := make([]float64, len(ways))
	for i, s := range seconds {
		if s != nil {
			slices.Sort(s)
			median[i] = s[len(s)/2]
		}
	}
	return median
}

// ask asks for products and transposes of one type.
func ask[T element.Element](t *testing.T, d *device) {
	typ := element.TypeOf[T]()
	if !kernels.Supports(&d.info, typ) {
		return
	}
	large, small, thin, long := *questions, []int{512, 1024}, []int{1, 4, 8, 16}, 2*(*questions)
	if large == 0 {
		large, small, thin, long = 50, []int{64}, []int{4}, 300
	}
	rng := rand.New(rand.NewPCG(1, 2))
	a := newArray(1, long*long, layout{}, values[T](rng, plain))
	da, db, dc := upload(t, d, a), upload(t, d, newArray(1, 16*long, layout{}, values[T](rng, plain))), upload(t, d, a)
	product := func(name string, s *backend.Source, p kernels.MatMulParams, m, n, k int, a, b kernels.Operand) way {
		c := dc
		a.Stride, b.Stride, c.Stride = int64(k), int64(n), int64(n)
		return way{
			fmt.Sprintf("%s%dx%dx%d, %dx%d", name, p.BM, p.BN, p.BK, p.TM, p.TN), s,
			kernels.MatMulGrid(p, m, n), kernels.MatMulArgs(nil, m, n, k, T(1), a, b, 0, c),
		}
	}
	race := func(question string, ways []way, elements int, work float64, unit string) {
		fmt.Printf("%s, %s:\n", typ, question)
		seconds := d.race(t, ways, dc.Buffer, elements*typ.Size())
		for i, s := range seconds {
			if s == 0 {
				fmt.Printf("  %-40s not measured: needs NVRTC\n", ways[i].name)
				continue
			}
			fmt.Printf("  %-40s %10.2f us %9.1f %s, %.2f times as long\n", ways[i].name, s*1e6, work/s/1e9, unit,
				s/seconds[0])
		}
	}
	square := func(n int) float64 { return 2 * float64(n) * float64(n) * float64(n) }

	offered := tuning.OfferedMatMul(&d.info, typ)
	smallest := offered[len(offered)-1]

	// The kernel that reads ahead against what it replaced, in its tiles.
	p, old := tuning.ChooseMatMul(&d.info, typ, large, large, large), kernels.MatMulParams{
		BM: 128, BN: 128, BK: 8, TM: 8, TN: 8, KU: 8,
	}
	switch {
	case *questions == 0:
		old = smallest
	case typ == element.Float64:
		old = kernels.MatMulParams{BM: 64, BN: 64, BK: 8, TM: 4, TN: 8, KU: 8}
	}
	late := *kernels.MatMul(typ, old)
	late.Packed, late.Text = nil, strings.Replace(late.Text, "define AHEAD (VECW == 4)", "define AHEAD 0", 1)
	if late.Text == kernels.MatMul(typ, old).Text {
		t.Fatal("matmul.cl defines AHEAD in another way")
	}
	ways := []way{
		product("", kernels.MatMul(typ, p), p, large, large, large, da, da),
		product("as before: ", &late, old, large, large, large, da, da),
	}
	race(fmt.Sprint("product of ", large), ways, large*large, square(large), "GFLOP/s")

	// Are the tiles chosen well? In GPGPU-Sim's model of a V100 64x64 is faster than 128x128 in
	// float32: the question to sm_70 and sm_80.
	for _, n := range append(small, large) {
		chosen := tuning.ChooseMatMul(&d.info, typ, n, n, n)
		ways = []way{product("chosen: ", kernels.MatMul(typ, chosen), chosen, n, n, n, da, da)}
		for _, p := range offered {
			if p != chosen {
				ways = append(ways, product("", kernels.MatMul(typ, p), p, n, n, n, da, da))
			}
		}
		race(fmt.Sprint("tiles of a product of ", n), ways, n*n, square(n), "GFLOP/s")
	}

	// Do thin products and transposes come near the rate of a copy?
	copied, bytes := make([]float64, 0, 9), float64(long*long*typ.Size())
	for range cap(copied) {
		start := time.Now()
		if err := errors.Join(d.queue.Copy(dc.Buffer, 0, da.Buffer, 0, int64(bytes)), d.queue.Wait()); err != nil {
			t.Fatal(err)
		}
		copied = append(copied, time.Since(start).Seconds())
	}
	slices.Sort(copied)
	fmt.Printf("%s, copy of %.0f MB: %.1f GB/s read and written\n", typ, bytes/1e6, 2*bytes/copied[len(copied)/2]/1e9)
	for _, r := range thin {
		for _, shape := range [][2]int{{r, long}, {long, r}} {
			m, n := shape[0], shape[1]
			x, y := db, da
			if m > n {
				x, y = da, db
			}
			p := tuning.ChooseMatMul(&d.info, typ, m, n, long)
			ways = []way{
				product("", kernels.MatMul(typ, p), p, m, n, long, x, y),
				product("a square tile: ", kernels.MatMul(typ, smallest), smallest, m, n, long, x, y),
			}
			race(fmt.Sprintf("C of %dx%d, k = %d", m, n, long), ways, m*n, bytes, "GB/s")
		}
	}
	x, c := da, dc
	x.Stride, c.Stride = int64(long), int64(long)
	ways = nil
	for _, p := range tuning.OfferedTranspose(&d.info, typ) {
		ways = append(ways, way{
			fmt.Sprintf("%+v", p), kernels.Transpose(typ, p), kernels.TransposeGrid(p, long, long),
			kernels.TransposeArgs(nil, long, long, x, c),
		})
	}
	race(fmt.Sprintf("transpose of %d, read and written", long), ways, long*long, 2*bytes, "GB/s")
}

// reads has each of 32 neighbours read 16 bytes of local memory, of the vector that where names.
const reads = `__kernel WG_SIZE(256, 1, 1) void reads(__global const int *where, __global uint *out, const int rounds)
{
	LOCALMEM ALIGN16 uint t[4096];
	const int id = (int)get_local_id(0);
	for (int i = id; i < 4096; i += 256) t[i] = (uint)i;
	barrier(CLK_LOCAL_MEM_FENCE);
	LOCALPTR uint *p = t + 4 * where[id % 32];
	uint sum = 0;
	for (int r = 0; r < rounds; r++) {
		LOCALPTR uint *q = p + (r & 15) * 128;
		#pragma unroll
		for (int j = 0; j < 16; j++) {
			const uint4 v = *(LOCALPTR uint4 *)(q + j * 128);
			sum ^= v.x ^ v.y;
			sum ^= v.z ^ v.w;
		}
	}
	if (sum == 1) out[id] = sum;
}
`

// askReads asks how often local memory is accessed when 32 neighbours read 16 bytes each. 32
// vectors take NVIDIA's four times, for 128 bytes each.
func askReads(t *testing.T, d *device) {
	s := &backend.Source{Name: "reads", Text: reads}
	rounds, groups := 4096, 8*max(1, d.info.ComputeUnits)
	if *questions == 0 {
		rounds, groups = 1, 1
	}
	out, err := d.Alloc(1024)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Free()
	var ways []way
	for _, pattern := range []struct {
		name   string
		vector func(lane int) int
	}{
		{"32 vectors", func(lane int) int { return lane }},
		{"8, pairs share: the product's of B", func(lane int) int { return lane / 2 % 8 }},
		{"8, no neighbours share", func(lane int) int { return lane % 8 }},
		{"4, of the product's of A", func(lane int) int { return lane/16%2*2 + lane%2 }},
		{"1", func(int) int { return 0 }},
	} {
		lane := -1
		where := upload(t, d, newArray(1, 32, layout{}, func() int32 { lane++; return int32(pattern.vector(lane)) }))
		ways = append(ways, way{
			pattern.name, s, backend.Grid1(256*groups, 256),
			[]backend.Arg{backend.Buf(where.Buffer), backend.Buf(out), backend.Int32(int32(rounds))},
		})
	}
	seconds := d.race(t, ways, out, 1024)
	fmt.Println("16-byte reads of local memory by 32 neighbours, by how many vectors they read:")
	for i, s := range seconds {
		if s == 0 {
			fmt.Printf("  %-40s not measured: needs NVRTC\n", ways[i].name)
			continue
		}
		fmt.Printf("  %-40s %10.2f us, %.2f accesses if 32 vectors take 4\n", ways[i].name, s*1e6, 4*s/seconds[0])
	}
}
