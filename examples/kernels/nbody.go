package main

// Bodies that attract each other: every one is drawn by every other, n*n forces a step. A group
// brings a tile of bodies into local memory, where each of its work-items reads all of them, so
// that global memory gives every body once a group and not once a work-item. The places are structs
// of three floats, with methods; they lie in memory as Go has them, 12 bytes each.

import (
	"math"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/gpu"
	"github.com/tandem-gpu/tandem/linalg"
)

// A vec is a place, a velocity or an acceleration.
type vec struct{ x, y, z float32 }

func (a vec) minus(b vec) vec { return vec{a.x - b.x, a.y - b.y, a.z - b.z} }

func (a vec) dot(b vec) float32 { return gpu.FMA(a.x, b.x, gpu.FMA(a.y, b.y, a.z*b.z)) }

// plus is a + s*b.
func (a vec) plus(s float32, b vec) vec {
	return vec{gpu.FMA(s, b.x, a.x), gpu.FMA(s, b.y, a.y), gpu.FMA(s, b.z, a.z)}
}

// A body is what draws the others.
type body struct {
	at   vec
	mass float32
}

// bodies is the bodies of a tile, and the work-items of a group.
const bodies = 64

// softening keeps the forces of bodies that meet finite.
const softening = 0.01

// nbody moves every body by a time step. next is apart from now, since other groups read that.
//
//tandem:kernel
//tandem:group 64
func nbody(it gpu.Item, next, now []body, velocity []vec, dt float32) {
	tile := gpu.Local[[bodies]body](it)
	i, l := it.Global(0), it.Local(0)
	var me body
	if i < len(now) {
		me = now[i]
	}
	var pull vec
	for first := 0; first < len(now); first += bodies {
		if first+l < len(now) {
			tile[l] = now[first+l]
		}
		it.Barrier()
		for j := range min(bodies, len(now)-first) {
			d := tile[j].at.minus(me.at)
			r2 := d.dot(d) + softening
			r := float32(math.Sqrt(float64(r2)))
			pull = pull.plus(tile[j].mass/(r2*r), d)
		}
		it.Barrier()
	}
	if i < len(now) {
		v := velocity[i].plus(dt, pull)
		velocity[i] = v
		next[i] = body{me.at.plus(dt, v), me.mass}
	}
}

// moveBodies makes next the bodies after a time step.
func moveBodies(s *linalg.Session, next, now *linalg.Array[body], velocity *linalg.Array[vec], dt float32) error {
	_, n := now.Dims()
	return launchNbody(s, groups(n, bodies), next, now, velocity, dt)
}

// groups is a grid of groups of size work-items that covers n.
func groups(n, size int) backend.Grid { return backend.Grid1((n+size-1)/size, size) }

// tiles is a grid of square groups that covers rows by cols.
func tiles(rows, cols, size int) backend.Grid {
	return backend.Grid2((cols+size-1)/size, (rows+size-1)/size, size, size)
}
