//go:build unix

// Package launch is what happens between the server and a program in the sandbox. The server's binary is
// started again; here it gives up its rights step by step and then becomes the program.
//
// That is done while the packages of the binary are initialised, which takes most of the time of a start
// and is of no use for this. Go initialises packages in the order of their import paths as soon as what
// they import is ready, so this package is early as long as it imports little: internal/arch has the list.
package launch

import "time"

// ExitRefused is the exit code of a child whose sandbox could not be built; it
// never became the program. The only line on its stderr says why. It is the
// machine's fault, not the file's.
const ExitRefused = 125

// Environment is the environment of every child: the server's own holds secrets.
var Environment = []string{
	"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LANG=C.UTF-8",
	"AV_LOG_FORCE_NOCOLOR=1",
	"MALLOC_ARENA_MAX=2", // one arena per thread would multiply the memory of many threads
}

// Policy is what one run may access and use. A limit of zero is no limit.
type Policy struct {
	Read     []string      // files that it may read, or folders of such files
	Folders  []string      // files that it may read, or folders of such files that it may list, too: programs and their parts
	WriteDir string        // the one folder in which it may create, write, read and remove plain files
	Devices  []string      // device nodes that it may use, where they exist: each gives access to a kernel driver
	Memory   int64         // bytes of its own data: heap and thread stacks, not the code of libraries
	FileSize int64         // bytes of each file that it writes; more kills it with SIGXFSZ
	CPU      time.Duration // of all threads together, in whole seconds
	Threads  int           // threads at once
	Files    int           // files in WriteDir, including the ones that exist already
	Space    int64         // bytes of all files in WriteDir, likewise
	Nice     int           // by how much its priority is lower than the server's, up to 19
}
