package compiler

import "path/filepath"

func shortName(name string) string { return filepath.Base(name) }
