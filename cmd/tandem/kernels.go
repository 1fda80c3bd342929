package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
	"github.com/tandem-gpu/tandem/gpu/compiler"
)

func newKernels(a *app) *cobra.Command {
	var check, noLaunch, noPTX, noNative, explain bool
	var show string
	cmd := &cobra.Command{
		Use:   "kernels [folder]",
		Short: "Compile the kernels of a Go package",
		Long: `Compile the kernels of a Go package that are written in Go: functions that a line
//tandem:kernel marks. The file kernels_tandem.go beside them gets text for OpenCL
and CUDA, Go for the cpu device, and a function for each kernel that launches
it; kernels_tandem.zip gets PTX, and the folder nativecode machine code for the cpu
device, where clang-19 is installed. It needs the go command.

In a module that needs no more of Tandem's programs,
go run github.com/tandem-gpu/tandem/gpu/compile does the same.`,
		Example: `  tandem kernels
  tandem kernels ./internal/physics --check
  tandem kernels --show saxpy_float32`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.runE(func(_ context.Context, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if info, err := os.Stat(dir); err == nil && !info.IsDir() {
				return usage.Errorf("%s is a file: give the folder of the package", dir)
			}
			o := compiler.Options{
				NoLaunch: noLaunch, NoPTX: noPTX, NoNative: noNative, Log: a.stderr, Explain: explain,
			}
			switch {
			case show != "":
				return compiler.Show(a.stdout, dir, show)
			case check:
				return compiler.CheckBytes(dir, o)
			}
			o.PTX, o.Native = compiler.Clang(), compiler.Machine()
			return compiler.Write(dir, o)
		}),
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; fail where a generated file is stale")
	cmd.Flags().StringVar(&show, "show", "", "write nothing; print the PTX of a kernel")
	cmd.Flags().BoolVar(&noLaunch, "no-launch", false, "leave the launch functions out, which need package linalg")
	cmd.Flags().BoolVar(&noPTX, "no-ptx", false, "leave PTX out")
	cmd.Flags().BoolVar(&noNative, "no-native", false, "leave machine code for the cpu device out")
	cmd.Flags().BoolVar(&explain, "explain", false, "tell why a kernel has no machine code")
	return cmd
}
