// Ptxgen writes the PTX of the built-in kernels in OpenCL C into opencl_tandem.zip of package
// kernels: run go generate there. tandem kernels --show, or gpu/compile -show, prints it.
package main

import (
	"bytes"
	"log"
	"maps"
	"slices"

	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/internal/ptxgen"
	"github.com/tandem-gpu/tandem/internal/tuning"
)

func main() {
	list, err := compile()
	if err == nil {
		err = ptxgen.WriteFile("opencl_tandem.zip", list)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// sources is the kernels in OpenCL C that come with PTX, by the names of it.
func sources() map[string]*backend.Source {
	all := tuning.PTXSources()
	maps.DeleteFunc(all, func(_ string, s *backend.Source) bool { return s.Macros == nil }) // written in Go
	return all
}

// outline is what the file should hold, but for the PTX itself.
func outline() (list []ptxgen.Prebuilt, err error) {
	root, err := ptxgen.ModuleRoot()
	if err != nil {
		return nil, err
	}
	all := sources()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, ptxgen.Prebuilt{Name: name, Key: ptxgen.Key(root, all[name].Text, all[name].Defines()...)})
	}
	return list, nil
}

// compile is what the file should hold.
func compile() ([]ptxgen.Prebuilt, error) {
	list, err := outline()
	if err != nil {
		return nil, err
	}
	all := sources()
	texts, err := ptxgen.CompileAll(all, "kernels/internal/ptxgen")
	if err != nil {
		return nil, err
	}
	for i, p := range list {
		text := texts[p.Name]
		switch all[p.Name].Name {
		case "matmul_thin":
			text = bytes.Replace(text, []byte(groupSize), []byte(groupSize+twoGroups), 1)
		case "matmul_unit": // of int32 all registers are taken
			if all[p.Name].Macros["T_INT32"] != "" && all[p.Name].Macros["BYTES"] == "" {
				break
			}
			text = bytes.Replace(text, []byte(unitGroupSize), []byte(unitGroupSize+threeGroups), 1)
		}
		list[i].Text = text
	}
	return list, nil
}

// The work-items of matmul_thin that multiply are few, and must read local memory early. Unless
// told that two groups on a multiprocessor are enough, which leaves 128 registers for a work-item,
// ptxas reads late, to save registers.
const (
	groupSize = ".reqntid 256, 1, 1\n"
	twoGroups = ".minnctapersm 2\n"
)

// Three groups of matmul_unit on a multiprocessor were faster on an H200 than two with all the
// registers that ptxas takes, 47 for 43 TFLOP/s at 4096, and than four, which spill.
const (
	unitGroupSize = ".reqntid 128, 1, 1\n"
	threeGroups   = ".minnctapersm 3\n"
)
