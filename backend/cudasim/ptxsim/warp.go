package ptxsim

import (
	"fmt"
	"math/bits"
)

// A warpOp is an instruction by which the threads of a warp exchange values. The threads whose
// lanes are in the mask wait for each other.
type warpOp struct {
	name    string // "shfl", "vote", "match", "redux", "bar" or "mma"
	mode    string // "up", "ballot", "any", "add", ...
	members int32  // register of the mask
	not     bool   // of vote's predicate
	typ     typ
	shape   mmaShape // of mma, which takes all threads
}

// releaseWarps runs the warp-level instructions that all their threads have reached.
func (g *cta) releaseWarps() {
	for first := 0; first < len(g.threads); first += warpSize {
		warp := g.threads[first:min(first+warpSize, len(g.threads))]
		for i := range warp {
			if warp[i].state == atWarp && !g.releaseWarp(warp, i) {
				return
			}
		}
	}
}

// releaseWarp runs the instruction that lane waits at if all others have reached it. It reports
// false after a fault.
func (g *cta) releaseWarp(warp []thread, lane int) bool {
	w := warp[lane].wait
	if w.mask>>lane&1 == 0 {
		return g.failAt(&warp[lane], w.in, DivergentBarrier, 0,
			fmt.Sprintf("the mask %#x does not have the thread's own lane %d", w.mask, lane))
	}
	mma := w.in.x.warp.name == "mma"
	if mma && len(warp) < warpSize {
		return g.failAt(&warp[lane], w.in, DivergentBarrier, 0,
			fmt.Sprintf("mma needs all 32 threads of the warp, which has %d", len(warp)))
	}
	members := w.mask & uint32(mask(uint8(len(warp))))
	for m := members; m != 0; m &= m - 1 {
		t := &warp[bits.TrailingZeros32(m)]
		if mma && t.state == exited {
			return g.failAt(&warp[lane], w.in, DivergentBarrier, 0,
				fmt.Sprintf("mma needs all 32 threads of the warp, but thread %s has exited (%s)", triple(t.pos),
					g.placeOf(t)))
		}
		if t.state != atWarp || t.wait.in != w.in || t.wait.mask != w.mask {
			return true // not yet; if never, the block gets stuck
		}
	}
	if mma {
		w.in.x.warp.shape.multiply(warp, w.in.x)
		for i := range warp {
			warp[i].state = ready
		}
		return true
	}
	var before [warpSize][3]uint64 // operands a, b and c of each lane
	for m := members; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		r := warp[i].current().r
		before[i] = [3]uint64{r[w.in.a], r[w.in.b], r[w.in.c]}
	}
	for m := members; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		r := warp[i].current().r
		w.in.x.warp.run(w.in, r, i, members, &before)
		warp[i].state = ready
	}
	return true
}

// run gives lane i its result.
func (op *warpOp) run(in *inst, r []uint64, i int, members uint32, v *[warpSize][3]uint64) {
	switch op.name {
	case "shfl":
		j, ok := shuffleSource(op.mode, i, uint32(v[i][1]), uint32(v[i][2]))
		if members>>j&1 == 0 {
			j = i // PTX leaves the value of a lane that takes no part undefined
		}
		r[in.d] = v[j][0]
		r[in.x.e] = flag(ok)
	case "vote":
		r[in.d] = op.vote(members, v)
	case "match":
		var same uint32
		for m := members; m != 0; m &= m - 1 {
			if j := bits.TrailingZeros32(m); v[j][0] == v[i][0] {
				same |= 1 << j
			}
		}
		all := same == members
		if op.mode == "all" && !all {
			same = 0
		}
		r[in.d] = uint64(same)
		r[in.x.e] = flag(all)
	case "redux":
		r[in.d] = op.reduce(members, v)
	}
}

// shuffleSource is the lane whose value lane i gets, and whether that lane is within the segment.
func shuffleSource(mode string, i int, b, c uint32) (j int, ok bool) {
	b &= 31
	clamp, segment := int(c&31), int(c>>8&31)
	last := i&segment | clamp&^segment
	switch mode {
	case "up":
		j = i - int(b)
		ok = j >= last
	case "down":
		j = i + int(b)
		ok = j <= last
	case "bfly":
		j = i ^ int(b)
		ok = j <= last
	case "idx":
		j = i&segment | int(b)&^segment
		ok = j <= last
	}
	if !ok {
		j = i
	}
	return j & 31, ok
}

func (op *warpOp) vote(members uint32, v *[warpSize][3]uint64) uint64 {
	var ballot uint32
	for m := members; m != 0; m &= m - 1 {
		if i := bits.TrailingZeros32(m); v[i][0] != 0 != op.not {
			ballot |= 1 << i
		}
	}
	switch op.mode {
	case "all":
		return flag(ballot == members)
	case "any":
		return flag(ballot != 0)
	case "uni":
		return flag(ballot == 0 || ballot == members)
	}
	return uint64(ballot)
}

func (op *warpOp) reduce(members uint32, v *[warpSize][3]uint64) uint64 {
	f := atomics[op.typ][op.mode]
	sum := v[bits.TrailingZeros32(members)][0]
	for m := members & (members - 1); m != 0; m &= m - 1 {
		sum = f(sum, v[bits.TrailingZeros32(m)][0], 0)
	}
	return sum & mask(32)
}
