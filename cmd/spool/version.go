package main

import (
	"cmp"
	"runtime/debug"
)

// version is set by the linker (see the Makefile) and by nothing else.
var version string

// buildVersion returns the version of this program. A binary made without the
// Makefile falls back to what the go command recorded.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return cmp.Or(version, "unknown")
	}
	return cmp.Or(version, info.Main.Version, "unknown")
}
