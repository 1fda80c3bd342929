package ptxsim

// shared is a block's shared memory, with what is known about every byte: whether it was written,
// and which threads have used it since the last barrier.
//
// The threads of a block run one after another from barrier to barrier, and every use of a byte is
// compared with the uses before it, so that a race is found whatever the order: no two runs differ.
//
// Uses are kept for words of 4 bytes, as most accesses are whole words. A word that is accessed in
// part is split until the next barrier: its uses are then kept for each byte.
type shared struct {
	mem   []byte
	valid []byte // marks of the bytes
	words []uses
	bytes []uses
	epoch uint32 // counts barriers; uses of other epochs are forgotten
}

// uses is the last write and the reads of a word or byte. Each is an epoch, a mark for atomic
// operations, and the thread.
type uses struct{ write, read uint32 }

const (
	threadBits = 11
	threadMask = 1<<threadBits - 1
	severalIDs = threadMask // more than one thread
	splitID    = threadMask - 1
	atomicUse  = 1 << threadBits
	epochShift = threadBits + 1
	lastEpoch  = 1<<(32-epochShift) - 1
)

// An access is the way in which memory is used.
type access uint8

const (
	accessRead access = iota
	accessWrite
	accessAtomic // reads and writes, or a volatile access: in no conflict with its like
)

// reset prepares for a new block with n bytes.
func (s *shared) reset(n int) {
	if cap(s.mem) < n {
		words := (n + 3) / 4
		*s = shared{
			mem: make([]byte, n), valid: make([]byte, n), words: make([]uses, words), bytes: make([]uses, 4*words),
		}
	}
	s.mem, s.valid = s.mem[:n], s.valid[:n]
	clear(s.valid)
	s.barrier()
}

// undefined is what memory holds that nothing has written.
const undefined = 0xa5

// fill makes all bytes v.
//
//go:norace
func fill(mem []byte, v byte) {
	for i := range mem {
		mem[i] = v
	}
}

// barrier forgets who has used what.
func (s *shared) barrier() {
	if s.epoch++; s.epoch > lastEpoch {
		clear(s.words)
		clear(s.bytes)
		s.epoch = 1
	}
}

// use notes that thread id accesses n bytes at off, which lie in the memory and are aligned, and
// reports whether that is free of a race. The other thread is that of the conflicting access, or
// severalIDs.
func (s *shared) use(off uint64, n int, id uint32, how access) (other uint32, ok bool) {
	if n < 4 {
		return s.usePart(off, n, id, how)
	}
	e := s.epoch
	me := e<<epochShift | id
	for w := off / 4; w < (off+uint64(n))/4; w++ {
		u := &s.words[w]
		if u.write>>epochShift == e && u.write&threadMask == splitID {
			if other, ok = s.usePart(4*w, 4, id, how); !ok {
				return other, false
			}
		} else if other, ok = u.use(e, me, how); !ok {
			return other, false
		}
	}
	return 0, true
}

// usePart is use for bytes of one word.
func (s *shared) usePart(off uint64, n int, id uint32, how access) (other uint32, ok bool) {
	e := s.epoch
	word := &s.words[off/4]
	if word.write>>epochShift != e || word.write&threadMask != splitID {
		for i := range s.bytes[off&^3:][:4] {
			s.bytes[off&^3+uint64(i)] = *word
		}
		word.write = e<<epochShift | splitID
	}
	for i := range n {
		if other, ok = s.bytes[off+uint64(i)].use(e, e<<epochShift|id, how); !ok {
			return other, false
		}
	}
	return 0, true
}

// use is the rule for one word or byte: me is the epoch e and the thread.
func (u *uses) use(e, me uint32, how access) (other uint32, ok bool) {
	if w := u.write; w>>epochShift == e && w&^atomicUse != me && !(how == accessAtomic && w&atomicUse != 0) {
		return w & threadMask, false
	}
	if how == accessRead {
		switch {
		case u.read>>epochShift != e:
			u.read = me
		case u.read != me:
			u.read |= severalIDs
		}
		return 0, true
	}
	if u.read>>epochShift == e && u.read != me {
		return u.read & threadMask, false
	}
	switch {
	case how == accessWrite:
		u.write = me
	case u.write>>epochShift != e:
		u.write = me | atomicUse
	case u.write != me && u.write&^atomicUse != me: // other threads' atomics
		u.write |= severalIDs
	}
	return 0, true
}

// A sharedLayout is where the variables of a block's static shared memory are. There are gaps
// between them, which no access may touch; size is what they take without.
type sharedLayout struct {
	vars []sharedVar
	size int
	span int // bytes with the gaps
}

type sharedVar struct {
	name         string
	offset, size int
}

const sharedGap = 16

// place adds a variable.
func (l *sharedLayout) place(v *varDecl) (offset int) {
	up := func(n int) int { return (n + v.align - 1) &^ (v.align - 1) }
	offset = up(l.span)
	if int64(offset)+v.size > maxVariable {
		refuse(v.line, "more than %d bytes of shared memory", maxVariable)
	}
	l.vars = append(l.vars, sharedVar{v.name, offset, int(v.size)})
	l.size = up(l.size) + int(v.size)
	l.span = offset + int(v.size) + sharedGap
	return offset
}

// dynamic is where dynamic shared memory begins: behind the static.
func (l *sharedLayout) dynamic() int { return (l.span + 15) &^ 15 }

// total is what a block takes of the device's shared memory, with n bytes of dynamic memory.
func (l *sharedLayout) total(n int) int {
	if n == 0 {
		return l.size
	}
	return (l.size+15)&^15 + n
}

// Marks of a byte of shared memory, beside 0 for one that nothing has written.
const (
	validByte   = 1
	gapByte     = 2 // between variables
	pendingByte = 3 // an asynchronous copy will write it
)

// markGaps marks what belongs to no variable.
func (s *shared) markGaps(l *sharedLayout) {
	for i, v := range l.vars {
		end := min(l.dynamic(), len(s.valid))
		if i+1 < len(l.vars) {
			end = l.vars[i+1].offset
		}
		for j := v.offset + v.size; j < end; j++ {
			s.valid[j] = gapByte
		}
	}
}
