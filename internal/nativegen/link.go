package nativegen

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A Blob is the machine code of a kernel, whose first byte is its entry.
type Blob struct {
	Code         []byte
	Lanes        int // work-items of a strip
	Group, Strip int // bytes of scratch memory for a group, and for each strip of it
}

// A linker lays out what an entry needs of an object.
type linker struct {
	file *elf.File
	syms []elf.Symbol
	at   map[elf.SectionIndex]int // where sections lie in code
	code []byte
	// the stack that functions take without those that they call, by their sections
	frames map[elf.SectionIndex]int
}

// maxStack is how many bytes of stack a kernel may take: whoever calls it has 32 KiB.
const maxStack = 30 << 10

// link makes the blob of a kernel's entry.
func link(object []byte, entry string) (*Blob, error) {
	l, stack, err := linkCode(object, entry)
	if err != nil {
		return nil, err
	}
	if stack > maxStack {
		return nil, fmt.Errorf("it takes %d bytes of stack, and %d are the limit", stack, maxStack)
	}
	lanes, err := l.words(entry+"_lanes", 1)
	if err != nil {
		return nil, err
	}
	scratch, err := l.words(entry+"_scratch", 2)
	if err != nil {
		return nil, err
	}
	return &Blob{l.code, lanes[0], scratch[0], scratch[1]}, nil
}

// linkCode lays out an entry of an object: the section that has it first, then those that it refers
// to. It gives the bytes of stack that it takes as well.
func linkCode(object []byte, entry string) (l *linker, stack int, err error) {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, 0, err
	}
	l = &linker{file: f, at: map[elf.SectionIndex]int{}}
	if l.syms, err = f.Symbols(); err != nil {
		return nil, 0, err
	}
	s, err := l.symbol(entry)
	if err != nil {
		return nil, 0, err
	}
	if s.Value != 0 {
		return nil, 0, fmt.Errorf("%s is not alone in its section", entry)
	}
	if err := l.place(s); err != nil {
		return nil, 0, err
	}
	for _, i := range slices.Sorted(maps.Keys(l.at)) {
		if err := l.relocate(i); err != nil {
			return nil, 0, err
		}
	}
	stack, err = l.stackOf(s.Section)
	return l, stack, err
}

// symbol finds a symbol that the object defines.
func (l *linker) symbol(name string) (elf.Symbol, error) {
	for _, s := range l.syms {
		if s.Name == name && s.Section != elf.SHN_UNDEF {
			return s, nil
		}
	}
	return elf.Symbol{}, fmt.Errorf("the text does not define %s", name)
}

// words reads a constant of n words.
func (l *linker) words(name string, n int) ([]int, error) {
	s, err := l.symbol(name)
	if err != nil {
		return nil, err
	}
	data, err := l.file.Sections[s.Section].Data()
	if err != nil {
		return nil, err
	}
	if s.Size != uint64(8*n) {
		return nil, fmt.Errorf("%s has %d bytes, want %d", name, s.Size, 8*n)
	}
	list := make([]int, n)
	for i := range list {
		list[i] = int(binary.LittleEndian.Uint64(data[int(s.Value)+8*i:]))
	}
	return list, nil
}

// place puts the section of symbol s into the code, and those that it refers to.
func (l *linker) place(s elf.Symbol) error {
	if _, done := l.at[s.Section]; done {
		return nil
	}
	if s.Section == elf.SHN_UNDEF || s.Section >= elf.SHN_LORESERVE {
		return fmt.Errorf("it needs %s, which is not in it", s.Name)
	}
	sec := l.file.Sections[s.Section]
	switch {
	case sec.Flags&elf.SHF_WRITE != 0:
		return fmt.Errorf("section %s can be written", sec.Name)
	case sec.Flags&elf.SHF_ALLOC == 0 || sec.Type != elf.SHT_PROGBITS:
		return fmt.Errorf("section %s is not of code or constants", sec.Name)
	case sec.Addralign > alignment:
		return fmt.Errorf("section %s is aligned to %d bytes, more than %d", sec.Name, sec.Addralign, alignment)
	}
	data, err := sec.Data()
	if err != nil {
		return err
	}
	for len(l.code)%int(max(sec.Addralign, 1)) != 0 {
		l.code = append(l.code, 0)
	}
	l.at[s.Section] = len(l.code)
	l.code = append(l.code, data...)
	list, err := l.relocations(s.Section)
	for _, r := range list {
		if err := l.place(r.symbol); err != nil {
			return err
		}
	}
	return err
}

// stackOf is how many bytes of stack the function of a section takes.
func (l *linker) stackOf(section elf.SectionIndex) (int, error) {
	l.frames = map[elf.SectionIndex]int{}
	for _, s := range l.file.Sections {
		if s.Name == ".stack_sizes" { // of one function: its address and the size
			data, err := s.Data()
			if err != nil {
				return 0, err
			}
			size, _ := binary.Uvarint(data[8:])
			l.frames[elf.SectionIndex(s.Link)] = int(size)
		}
	}
	return l.stack(section)
}

// stack is how many bytes of stack the function of a section takes, with those that it calls. It
// does not see a function that calls itself, which kernels do not have.
func (l *linker) stack(section elf.SectionIndex) (int, error) {
	s := l.file.Sections[section]
	if s.Flags&elf.SHF_EXECINSTR == 0 {
		return 0, nil
	}
	const underWay = -1
	own, ok := l.frames[section]
	if !ok || own == underWay {
		return 0, fmt.Errorf("how much stack section %s takes is not known", s.Name)
	}
	l.frames[section] = underWay
	list, err := l.relocations(section)
	most := 0
	for _, r := range list {
		size, err := l.stack(r.symbol.Section)
		if err != nil {
			return 0, err
		}
		most = max(most, size)
	}
	l.frames[section] = own
	return own + most + 16, err // the place of the return, aligned
}

// alignment of a blob, in bytes.
const alignment = 64

// A relocation is a place of a section that depends on where a symbol lies.
type relocation struct {
	offset, addend int
	kind           uint32
	symbol         elf.Symbol
}

// relocations reads those of a section.
func (l *linker) relocations(section elf.SectionIndex) (list []relocation, err error) {
	for _, s := range l.file.Sections {
		if s.Info != uint32(section) || s.Type != elf.SHT_RELA && s.Type != elf.SHT_REL {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, err
		}
		if s.Type == elf.SHT_REL {
			return nil, fmt.Errorf("section %s has relocations without addends", s.Name)
		}
		for ; len(data) >= 24; data = data[24:] {
			info := binary.LittleEndian.Uint64(data[8:])
			list = append(list, relocation{
				int(binary.LittleEndian.Uint64(data)), int(binary.LittleEndian.Uint64(data[16:])), uint32(info),
				l.syms[info>>32-1],
			})
		}
	}
	return list, nil
}

// relocate fills in the distances of a section that was placed.
func (l *linker) relocate(section elf.SectionIndex) error {
	list, err := l.relocations(section)
	for _, r := range list {
		p := l.at[section] + r.offset
		distance := l.at[r.symbol.Section] + int(r.symbol.Value) + r.addend - p
		word, err := l.resolve(r.kind, binary.LittleEndian.Uint32(l.code[p:]), distance)
		if err != nil {
			name := r.symbol.Name
			if name == "" {
				name = l.file.Sections[r.symbol.Section].Name
			}
			return fmt.Errorf("%w of %s in section %s", err, name, l.file.Sections[section].Name)
		}
		binary.LittleEndian.PutUint32(l.code[p:], word)
	}
	return err
}

// resolve is a word of code with the distance from it to what it refers to.
func (l *linker) resolve(kind, word uint32, distance int) (uint32, error) {
	bits, low := 0, 0 // of the distance: how many, and how many of these are 0
	switch {
	case l.file.Machine == elf.EM_X86_64:
		switch elf.R_X86_64(kind) {
		case elf.R_X86_64_PC32, elf.R_X86_64_PLT32:
			return uint32(distance), nil
		}
		return 0, fmt.Errorf("relocation %v", elf.R_X86_64(kind))
	case l.file.Machine != elf.EM_AARCH64:
		return 0, fmt.Errorf("machine %v", l.file.Machine)
	}
	d := uint32(distance)
	switch elf.R_AARCH64(kind) {
	case elf.R_AARCH64_PREL32:
		return d, nil
	case elf.R_AARCH64_ADR_PREL_LO21:
		bits, word = 21, word|d&3<<29|d>>2&0x7ffff<<5
	case elf.R_AARCH64_LD_PREL_LO19, elf.R_AARCH64_CONDBR19:
		bits, low, word = 21, 2, word|d>>2&0x7ffff<<5
	case elf.R_AARCH64_CALL26, elf.R_AARCH64_JUMP26:
		bits, low, word = 28, 2, word|d>>2&0x3ffffff
	default:
		return 0, fmt.Errorf("relocation %v", elf.R_AARCH64(kind))
	}
	if limit := 1 << (bits - 1); distance < -limit || distance >= limit || distance&(1<<low-1) != 0 {
		return 0, errors.New("too far, relocation " + elf.R_AARCH64(kind).String())
	}
	return word, nil
}
