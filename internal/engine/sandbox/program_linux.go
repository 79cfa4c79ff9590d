package sandbox

import (
	"debug/elf"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spool-video/spool/internal/engine/sandbox/launch"
)

// inspected are the programs that were read, by their paths: a server runs two of them all day.
var inspected sync.Map

// version is a program as it was when it was read.
type version struct {
	file    fs.FileInfo
	program launch.Program
}

// inspect returns what a binary needs. It reads a binary that is new to it or was replaced.
func inspect(path string) (launch.Program, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return launch.Program{}, fmt.Errorf("find %s: %w", path, err)
	}
	now, err := os.Stat(path)
	if err != nil {
		return launch.Program{}, unfitError(path, err)
	}
	if known, ok := inspected.Load(path); ok {
		v := known.(version)
		if os.SameFile(v.file, now) && v.file.Size() == now.Size() && v.file.ModTime().Equal(now.ModTime()) {
			return v.program, nil
		}
	}
	program, err := readProgram(path)
	if err == nil {
		inspected.Store(path, version{now, program})
	}
	return program, err
}

// readProgram reads from a binary what it needs.
func readProgram(path string) (launch.Program, error) {
	file, err := elf.Open(path)
	if err != nil {
		return launch.Program{}, unfitError(path, err)
	}
	defer file.Close()
	p := launch.Program{Path: path}
	for _, segment := range file.Progs {
		if segment.Type != elf.PT_INTERP {
			continue
		}
		name, err := io.ReadAll(io.LimitReader(segment.Open(), 4096))
		if err != nil {
			return launch.Program{}, fmt.Errorf("read which loader %s needs: %w", path, err)
		}
		p.Loader = strings.TrimRight(string(name), "\x00")
	}
	p.Libraries = libraryFolders(file, path)
	return p, nil
}

// unfitError says why a program cannot run in the sandbox. One that starts another is of no use there: starting
// programs is what the sandbox forbids.
func unfitError(path string, err error) error {
	var magic [2]byte
	if f, openErr := os.Open(path); openErr == nil {
		_, _ = io.ReadFull(f, magic[:]) // a shorter file is no script
		f.Close()
	}
	if string(magic[:]) == "#!" {
		return &UnfitError{fmt.Errorf("%s is a script, and the sandbox lets no program start another: name the program that it starts", path)}
	}
	return &UnfitError{fmt.Errorf("%s cannot run in the sandbox, because it is no program for this system: %w", path, err)}
}

// libraryFolders returns where a binary tells the loader to look first: builds
// of ffmpeg that are not from the distribution bring their own libraries.
func libraryFolders(file *elf.File, path string) []string {
	origin := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		origin = filepath.Dir(real)
	}
	var folders []string
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		lists, err := file.DynString(tag)
		if err != nil {
			continue // it has no dynamic section
		}
		for _, list := range lists {
			list = strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(list)
			for folder := range strings.SplitSeq(list, ":") {
				if info, err := os.Stat(folder); err == nil && info.IsDir() && filepath.IsAbs(folder) {
					folders = append(folders, folder)
				}
			}
		}
	}
	return folders
}
