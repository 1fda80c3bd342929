package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
)

// The format safetensors: the length of a header, 8 bytes, the header in JSON, and the tensors'
// elements, little-endian, without gaps. Other programs read it. Beside the weights it holds what
// the training goes on from: the means of adamW, the steps and the vocabulary.

type tensor struct {
	Dtype   string `json:"dtype"`
	Shape   [2]int `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
	data    *floats
}

// metadata is what a header has beside tensors.
type metadata struct {
	Step       string `json:"step"`
	Seed       string `json:"seed"`
	Vocabulary string `json:"vocabulary"`
}

// tensors are what a file has of a model, by their names in the order of the file.
func (m *model) tensors() (names []string, all map[string]tensor) {
	all = map[string]tensor{}
	end := int64(0)
	add := func(name string, a *floats) {
		rows, cols := a.Dims()
		from := end
		end += 4 * int64(rows) * int64(cols)
		names, all[name] = append(names, name), tensor{"F32", [2]int{rows, cols}, [2]int64{from, end}, a}
	}
	for _, w := range m.all {
		add(w.name, w.w)
	}
	add("adamw.mean", m.mean)
	add("adamw.square", m.sq)
	return names, all
}

// save writes a file, whole or not at all.
func (t *trainer) save(file string, v vocabulary) error {
	names, all := t.models[0].tensors()
	header := map[string]any{"__metadata__": metadata{strconv.Itoa(t.done), strconv.FormatUint(t.seed, 10), v.quoted()}}
	for name, x := range all {
		header[name] = x
	}
	text := must(json.Marshal(header))
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	f, err := os.Create(file + ".part")
	if err != nil {
		return err
	}
	defer os.Remove(file + ".part") // nothing, once it is renamed
	defer f.Close()
	w := bufio.NewWriter(f)
	check(binary.Write(w, binary.LittleEndian, uint64(len(text))))
	must(w.Write(text))
	for _, name := range names {
		check(all[name].data.WriteRaw(w))
	}
	check(w.Flush(), f.Close())
	return os.Rename(file+".part", file)
}

// load goes on from what save has written: with the weights, the steps, and the vocabulary of the
// text, which must be v.
func (t *trainer) load(file string, v vocabulary) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var size uint64
	if err := binary.Read(f, binary.LittleEndian, &size); err != nil || size > 1<<20 {
		return fmt.Errorf("%s: not of the format safetensors", file)
	}
	var meta metadata
	found := map[string]json.RawMessage{}
	text := make([]byte, size)
	if _, err := io.ReadFull(f, text); err != nil || json.Unmarshal(text, &found) != nil ||
		json.Unmarshal(found["__metadata__"], &meta) != nil {
		return fmt.Errorf("%s: a header that is none", file)
	}
	if meta.Vocabulary != v.quoted() {
		return fmt.Errorf("%s: learned from %s, and the text has %s", file, meta.Vocabulary, v.quoted())
	}
	if t.done, err = strconv.Atoi(meta.Step); err != nil {
		return fmt.Errorf("%s: step: %w", file, err)
	}
	if meta.Seed != strconv.FormatUint(t.seed, 10) && t.done < t.steps {
		return fmt.Errorf("%s: its batches are of -seed %s", file, meta.Seed)
	}
	for _, m := range t.models {
		names, all := m.tensors()
		if len(found) != len(names)+1 {
			return fmt.Errorf("%s: %d tensors, and the model has %d", file, len(found)-1, len(names))
		}
		for _, name := range names {
			x, want := tensor{}, all[name]
			if json.Unmarshal(found[name], &x) != nil || x.Dtype != want.Dtype || x.Shape != want.Shape {
				return fmt.Errorf("%s: %s is %s, and the model has %s %v", file, name, found[name], want.Dtype, want.Shape)
			}
			from := io.NewSectionReader(f, int64(8+size)+x.Offsets[0], x.Offsets[1]-x.Offsets[0])
			if err := want.data.ReadRaw(from); err != nil {
				return fmt.Errorf("%s: %s: %w", file, name, err)
			}
		}
	}
	return nil
}

// quoted is the vocabulary as text of any bytes.
func (v vocabulary) quoted() string { return strconv.QuoteToASCII(string(v)) }
