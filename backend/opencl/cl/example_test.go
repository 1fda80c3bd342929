package cl_test

import (
	"fmt"
	"log"

	"github.com/tandem-gpu/tandem/backend/opencl/cl"
)

const squareSource = `
__kernel void square(__global const float *input, __global float *output, const unsigned int count) {
	size_t i = get_global_id(0);
	if (i < count)
		output[i] = input[i] * input[i];
}`

// A program as it was written for go-opencl: only the import path is new.
func Example() {
	platforms, err := cl.GetPlatforms()
	if err != nil {
		fmt.Println("no OpenCL here:", err)
		return
	}
	devices, err := platforms[0].GetDevices(cl.DeviceTypeAll)
	if err != nil {
		log.Fatal(err)
	}
	device := devices[0]
	context, err := cl.CreateContext([]*cl.Device{device})
	if err != nil {
		log.Fatal(err)
	}
	defer context.Release()
	queue, err := context.CreateCommandQueue(device, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer queue.Release()
	program, err := context.CreateProgramWithSource([]string{squareSource})
	if err != nil {
		log.Fatal(err)
	}
	defer program.Release()
	if err := program.BuildProgram(nil, ""); err != nil {
		log.Fatal(err)
	}
	kernel, err := program.CreateKernel("square")
	if err != nil {
		log.Fatal(err)
	}
	defer kernel.Release()

	data := []float32{0, 1, 2, 3, 4, 5, 6, 7}
	input, err := context.CreateEmptyBuffer(cl.MemReadOnly, 4*len(data))
	if err != nil {
		log.Fatal(err)
	}
	defer input.Release()
	output, err := context.CreateEmptyBuffer(cl.MemWriteOnly, 4*len(data))
	if err != nil {
		log.Fatal(err)
	}
	defer output.Release()
	if _, err := queue.EnqueueWriteBufferFloat32(input, true, 0, data, nil); err != nil {
		log.Fatal(err)
	}
	if err := kernel.SetArgs(input, output, uint32(len(data))); err != nil {
		log.Fatal(err)
	}
	if _, err := queue.EnqueueNDRangeKernel(kernel, nil, []int{len(data)}, []int{4}, nil); err != nil {
		log.Fatal(err)
	}
	if err := queue.Finish(); err != nil {
		log.Fatal(err)
	}
	results := make([]float32, len(data))
	if _, err := queue.EnqueueReadBufferFloat32(output, true, 0, results, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(results) // [0 1 4 9 16 25 36 49]
}
