package ptxsim

// A special is a special register whose value does not change while a frame runs: it is kept in an
// ordinary one.
type special uint8

const (
	tidX special = iota
	tidY
	tidZ
	ntidX
	ntidY
	ntidZ
	ctaidX
	ctaidY
	ctaidZ
	nctaidX
	nctaidY
	nctaidZ
	laneID
	warpID
	warpCount
	smID
	smCount
	gridID
	laneMaskEQ
	laneMaskLE
	laneMaskLT
	laneMaskGE
	laneMaskGT
	dynamicShared
	totalShared
	localBase   // not of PTX: the generic address of the frame's local memory
	localAddr   // not of PTX: its address in .local
	dynamicBase // not of PTX: the address of dynamic shared memory in .shared
)

var specials = map[string]special{
	"%tid.x": tidX, "%tid.y": tidY, "%tid.z": tidZ, "%ntid.x": ntidX, "%ntid.y": ntidY, "%ntid.z": ntidZ,
	"%ctaid.x": ctaidX, "%ctaid.y": ctaidY, "%ctaid.z": ctaidZ, "%nctaid.x": nctaidX, "%nctaid.y": nctaidY,
	"%nctaid.z": nctaidZ,
	"%laneid":   laneID, "%warpid": warpID, "%nwarpid": warpCount, "%smid": smID, "%nsmid": smCount, "%gridid": gridID,
	"%lanemask_eq": laneMaskEQ, "%lanemask_le": laneMaskLE, "%lanemask_lt": laneMaskLT, "%lanemask_ge": laneMaskGE,
	"%lanemask_gt":       laneMaskGT,
	"%dynamic_smem_size": dynamicShared, "%total_smem_size": totalShared,
}

// clocks are the special registers that change; the value is their width. All count instructions.
var clocks = map[string]uint8{"%clock": 32, "%clock64": 64, "%clock_hi": 0, "%globaltimer": 64, "%globaltimer_lo": 32}

// special is the value of s for a frame of t.
func (g *cta) special(s special, t *thread, f *frame) uint64 {
	switch s {
	case tidX, tidY, tidZ:
		return uint64(t.pos[s-tidX])
	case ntidX, ntidY, ntidZ:
		return uint64(g.launch.block[s-ntidX])
	case ctaidX, ctaidY, ctaidZ:
		return uint64(g.pos[s-ctaidX])
	case nctaidX, nctaidY, nctaidZ:
		return uint64(g.launch.grid[s-nctaidX])
	case dynamicShared:
		return uint64(g.launch.dynamic)
	case totalShared:
		return uint64(g.launch.code.shared.total(g.launch.dynamic))
	case dynamicBase:
		return uint64(g.launch.code.shared.dynamic())
	case localBase:
		return localWindow + f.base
	case localAddr:
		return f.base
	case smCount:
		return uint64(g.dev.config.Multiprocessors)
	case smID:
		return uint64((g.pos[0] + g.pos[1] + g.pos[2]) % g.dev.config.Multiprocessors)
	case warpCount:
		return uint64(g.dev.config.MaxThreads / warpSize)
	case warpID:
		return uint64(t.id / warpSize)
	case gridID:
		return 1
	}
	return laneMask(s, uint(t.id%warpSize))
}

func laneMask(s special, lane uint) uint64 {
	eq := uint32(1) << lane
	switch s {
	case laneID:
		return uint64(lane)
	case laneMaskLT:
		eq--
	case laneMaskLE:
		eq |= eq - 1
	case laneMaskGT:
		eq = ^(eq | (eq - 1))
	case laneMaskGE:
		eq = ^(eq - 1)
	}
	return uint64(eq)
}
