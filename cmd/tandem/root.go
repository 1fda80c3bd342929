package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/array"
	"github.com/tandem-gpu/tandem/backend"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/screen"
	"github.com/tandem-gpu/tandem/cmd/tandem/internal/usage"
	"github.com/tandem-gpu/tandem/kernels"
)

// An app is what the commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	style          screen.Style
	backend        string // --backend
	json           bool   // --json
	fortran        bool   // --fortran
	started        bool   // flags and arguments are right, the work has begun
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "tandem",
		Short: "GPU linear algebra on NumPy files, the same bits on every device",
		Long: `Tandem multiplies, transposes, adds and scales NumPy files (.npy) on a GPU or on
the CPU, sums and sorts them, factors them, solves equations, and runs kernels of
your own on them. Its results are the same bits on every device.

Files hold float32, float64 or int32, in either byte order, in C or Fortran
order; - is standard input, and as an output standard output. Results are written
as numpy.save does, in C order, or with --fortran in Fortran order. An output file
is written whole or not at all: a new file takes the place of an old one and keeps
its permissions, while other hard links to the old one keep its content.

--backend, or else the environment variable TANDEM_BACKEND, chooses the device:
auto, ` + strings.Join(backend.Names(), ", ") + `, or one device by its index or a part
of its name (cuda:1, opencl:gfx90a). auto takes the best GPU, else the CPU. A
named choice works or fails; it never falls back. Several devices, as in
cuda:0+cuda:1+cpu, share matmul, transpose, add, scale, and sum and the like; gpus
are all GPUs.
TANDEM_MEMORY limits the memory of each device that these use: 8GiB, or 50%.
TANDEM_HOST_MEMORY limits this machine's: files that are large against it are
computed in parts, from file to file.

--json prints what a command has to report as JSON, to where the text would go:
standard output, or standard error where a result goes to standard output.

Exit codes: 0 done, 1 failed, 2 wrong flags or arguments.`,
		Example: `  tandem devices
  tandem matmul a.npy b.npy -o c.npy
  tandem matmul a.npy b.npy -o c.npy --backend opencl:0 --json`,
		Version:           readVersion().String(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.backend, "backend", "",
		fmt.Sprintf("device: auto, %s, one as in opencl:1, or several as in gpus+cpu (default $%s)",
			strings.Join(backend.Names(), ", "), backend.EnvBackend))
	flags.BoolVar(&a.json, "json", false, "print the report as JSON")
	root.SetVersionTemplate("{{.Version}}")
	root.RegisterFlagCompletionFunc("backend", completeBackend)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if num := (*strconv.NumError)(nil); errors.As(err, &num) {
			text, _ := strings.CutSuffix(err.Error(), num.Error())
			err = errors.New(text + num.Err.Error())
		}
		return usage.Wrap(err)
	})
	addCommands(a, root)
	fixHelp(root)
	return root
}

// addCommands adds all commands, in the groups that help shows.
func addCommands(a *app, root *cobra.Command) {
	add := func(title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
		for _, c := range commands {
			c.GroupID = title
			root.AddCommand(c)
		}
	}
	var elementwise, reductions []*cobra.Command
	for _, op := range kernels.Elementwises() {
		elementwise = append(elementwise, newElementwise(a, "", op))
	}
	for _, op := range array.Reductions() {
		reductions = append(reductions, newReduction(a, op))
	}
	add("Matrices", append(elementwise, newMatMul(a), newTranspose(a), newSort(a), newMap(a), newRandom(a))...)
	add("Rows, columns and all elements", reductions...)
	add("Equations and factors", newFactors(a)...)
	add("Kernels of your own", newRun(a), newKernels(a))
	add("Devices", newDevices(a), newConformance(a), newBench(a), newTune(a))
	root.AddCommand(newVersion(a))
}

// needs is n arguments, which the command's use names after its own name.
func needs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		names := strings.Fields(cmd.Use)[1 : n+1]
		switch {
		case len(args) < n:
			return usage.Errorf("no %s: give %s", names[len(args)], strings.Join(names, " "))
		case len(args) > n:
			return usage.Errorf("%s is one argument too many: give %s", args[n], strings.Join(names, " "))
		}
		return nil
	}
}

// fixHelp makes "help" of a command that is none fail, which cobra's own does not.
func fixHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err)
	}
	help.RunE = func(_ *cobra.Command, args []string) error {
		cmd, _, err := root.Find(args)
		if err != nil {
			return err
		}
		return cmd.Help()
	}
}

// runE wraps the work of a command: from here on an error is not about flags or arguments, unless
// it is a usage.Error.
func (a *app) runE(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.started = true
		return f(cmd.Context(), args)
	}
}

func (a *app) printJSON(v any) error { return printJSON(a.stdout, v) }

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// completeBackend offers auto, the drivers, and their devices.
func completeBackend(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	values := []string{"auto\tthe best GPU, else the CPU", "gpus\tall GPUs"}
	for _, d := range backend.Drivers() {
		values = append(values, d.Name())
		infos, err := d.Devices()
		if err != nil {
			continue
		}
		for _, i := range infos {
			values = append(values, fmt.Sprintf("%s:%d\t%s", i.Driver, i.Index, i.Name))
		}
	}
	return values, cobra.ShellCompDirectiveNoFileComp
}

// completeFiles completes n arguments with files of these extensions.
func completeFiles(n int, extensions ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return extensions, cobra.ShellCompDirectiveFilterFileExt
	}
}
