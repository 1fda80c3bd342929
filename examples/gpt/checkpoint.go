package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
)

// An entry of a header in the format safetensors is a tensor or, as __metadata__, what else there
// is, in strings. The vocabulary, which may be any bytes, is quoted.
type entry struct {
	Dtype      string  `json:"dtype,omitempty"`
	Shape      []int   `json:"shape,omitempty"`
	Offsets    []int64 `json:"data_offsets,omitempty"`
	Step       string  `json:"step,omitempty"`
	Vocabulary string  `json:"vocabulary,omitempty"`
}

// save writes a file, whole or not at all: the length of a header, 8 bytes, the header in JSON, and
// the elements of weights and of adamW's means, little-endian.
func (t *trainer) save(file string) {
	about := entry{Step: strconv.Itoa(t.done), Vocabulary: strconv.QuoteToASCII(string(t.vocabulary))}
	header := map[string]entry{"__metadata__": about}
	var data bytes.Buffer
	for _, w := range t.models[0].saved {
		from := int64(data.Len())
		check(w.w.WriteRaw(&data))
		header[w.name] = entry{Dtype: "F32", Shape: []int{w.rows, w.cols}, Offsets: []int64{from, int64(data.Len())}}
	}
	text := must(json.Marshal(header))
	text = append(text, "        "[len(text)%8:]...)
	all := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	check(os.WriteFile(file+".part", append(all, data.Bytes()...), 0o666))
	check(os.Rename(file+".part", file))
}

// load goes on from what save has written: with the weights, the steps, and the vocabulary of the
// text, which must be the trainer's.
func (t *trainer) load(file string) error {
	data := must(os.ReadFile(file))
	size := binary.LittleEndian.Uint64(append(data, make([]byte, 8)...))
	found := map[string]entry{}
	if uint64(len(data)) < 8+size || size > 1<<30 || json.Unmarshal(data[8:8+size], &found) != nil {
		return fmt.Errorf("%s: not of the format safetensors, or cut off, or not of this program", file)
	}
	had, vocabulary := found["__metadata__"], strconv.QuoteToASCII(string(t.vocabulary))
	var err error
	if t.done, err = strconv.Atoi(had.Step); err != nil {
		return fmt.Errorf("%s: step: %w", file, err)
	} else if had.Vocabulary != vocabulary {
		return fmt.Errorf("%s: learned from %s, and the text has %s", file, had.Vocabulary, vocabulary)
	}
	for _, m := range t.models {
		if len(found) != len(m.saved)+1 {
			return fmt.Errorf("%s: %d tensors, and the model has %d", file, len(found)-1, len(m.saved))
		}
		for _, w := range m.saved {
			x := found[w.name]
			want := []int{w.rows, w.cols}
			if x.Dtype != "F32" || !slices.Equal(x.Shape, want) || len(x.Offsets) != 2 {
				return fmt.Errorf("%s: %s is %s %v, and the model has F32 %v", file, w.name, x.Dtype, x.Shape, want)
			}
			from, to := x.Offsets[0], x.Offsets[1]
			if err := w.w.ReadRaw(io.NewSectionReader(bytes.NewReader(data), int64(8+size)+from, to-from)); err != nil {
				return fmt.Errorf("%s: %s: %w", file, w.name, err)
			}
		}
	}
	return nil
}
