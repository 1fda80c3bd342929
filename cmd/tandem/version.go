package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/tandem-gpu/tandem/cluster"
)

// versionInfo is how this binary was built.
type versionInfo struct {
	Version  string `json:"version"`            // of the module; "(devel)" outside a release
	Revision string `json:"revision,omitempty"` // of the repository
	Time     string `json:"time,omitempty"`     // of the revision
	Modified bool   `json:"modified,omitempty"` // the tree was not clean
	Go       string `json:"go"`
	Platform string `json:"platform"`
	MPI      string `json:"mpi,omitempty"` // the library that --mpi would use; "" for none
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version and how the program was built",
		Example:           "  tandem version --json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.runE(func(context.Context, []string) error {
			v := readVersion()
			v.MPI, _ = cluster.Library() // without one there is nothing to say: --mpi tells what to do
			if a.json {
				return a.printJSON(v)
			}
			_, err := fmt.Fprint(a.stdout, v)
			return err
		}),
	}
}

func readVersion() versionInfo {
	v := versionInfo{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v versionInfo) String() string {
	s := fmt.Sprintf("tandem %s\n%s %s\n", v.Version, v.Go, v.Platform)
	if v.Revision != "" {
		s += "revision " + v.Revision
		if v.Time != "" {
			s += " of " + v.Time
		}
		if v.Modified {
			s += ", with changes"
		}
		s += "\n"
	}
	if v.MPI != "" {
		s += "MPI " + v.MPI + "\n"
	}
	return s
}
