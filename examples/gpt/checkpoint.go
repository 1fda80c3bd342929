package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
)

// A file has the format safetensors: the length of a header, 8 bytes, the header in JSON, and the
// elements of the tensors, little-endian, without gaps. Other programs read it. Beside the weights
// it holds what the training goes on from.

type tensor struct {
	Dtype   string   `json:"dtype"`
	Shape   [2]int   `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// A state is what a header has beside tensors: the format wants strings. The vocabulary, which may
// be any bytes, is quoted.
type state struct {
	Step       string `json:"step"`
	Seed       string `json:"seed"`
	Vocabulary string `json:"vocabulary"`
}

func (t *trainer) state(v vocabulary) state {
	return state{strconv.Itoa(t.done), strconv.FormatUint(t.seed, 10), strconv.QuoteToASCII(string(v))}
}

// save writes a file, whole or not at all.
func (t *trainer) save(file string, v vocabulary) {
	header, end := map[string]any{"__metadata__": t.state(v)}, int64(0)
	var data bytes.Buffer
	for _, w := range t.models[0].saved {
		from := end
		end += 4 * int64(w.rows) * int64(w.cols)
		header[w.name] = tensor{"F32", [2]int{w.rows, w.cols}, [2]int64{from, end}}
		check(w.w.WriteRaw(&data))
	}
	text := must(json.Marshal(header))
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	all := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	check(os.WriteFile(file+".part", append(all, data.Bytes()...), 0o666))
	check(os.Rename(file+".part", file))
}

// load goes on from what save has written: with the weights, the steps, and the vocabulary of the
// text, which must be v.
func (t *trainer) load(file string, v vocabulary) error {
	data := must(os.ReadFile(file))
	size := binary.LittleEndian.Uint64(append(data, make([]byte, 8)...))
	found, had := map[string]json.RawMessage{}, state{}
	if uint64(len(data)) < 8+size || size > 1<<30 || json.Unmarshal(data[8:8+size], &found) != nil ||
		json.Unmarshal(found["__metadata__"], &had) != nil {
		return fmt.Errorf("%s: not of the format safetensors, or cut off, or not of this program", file)
	}
	var err error
	if t.done, err = strconv.Atoi(had.Step); err != nil {
		return fmt.Errorf("%s: step: %w", file, err)
	}
	if want := t.state(v); had.Vocabulary != want.Vocabulary {
		return fmt.Errorf("%s: learned from %s, and the text has %s", file, had.Vocabulary, want.Vocabulary)
	} else if had.Seed != want.Seed && t.done < t.steps {
		return fmt.Errorf("%s: its batches are of -seed %s", file, had.Seed)
	}
	for _, m := range t.models {
		if len(found) != len(m.saved)+1 {
			return fmt.Errorf("%s: %d tensors, and the model has %d", file, len(found)-1, len(m.saved))
		}
		for _, w := range m.saved {
			var x tensor
			if json.Unmarshal(found[w.name], &x) != nil || x.Dtype != "F32" || x.Shape != [2]int{w.rows, w.cols} {
				return fmt.Errorf("%s: %s is %s, and the model has F32 [%d %d]",
					file, w.name, found[w.name], w.rows, w.cols)
			}
			from := io.NewSectionReader(bytes.NewReader(data), int64(8+size)+x.Offsets[0], x.Offsets[1]-x.Offsets[0])
			if err := w.w.ReadRaw(from); err != nil {
				return fmt.Errorf("%s: %s: %w", file, w.name, err)
			}
		}
	}
	return nil
}
