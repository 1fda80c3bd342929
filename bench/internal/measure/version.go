package measure

import (
	"runtime/debug"
	"strings"
)

// Version is the program's: of its module, with the revision where it was built from a repository.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v += " " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			v += " with changes"
		}
	}
	return strings.TrimSpace(v)
}
