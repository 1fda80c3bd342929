package conformance

import "github.com/tandem-gpu/tandem/backend"

// SourcesOf is the kernels that a full run takes on the device of info.
func SourcesOf(info *backend.Info) map[*backend.Source]bool {
	all := map[*backend.Source]bool{}
	for _, j := range (&Report{Device: *info}).plan(Options{}) {
		all[j.v.source] = true
	}
	return all
}
