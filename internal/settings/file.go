package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/BurntSushi/toml"
	"github.com/alecthomas/kong"
)

// load reads the configuration file, once.
func (s *Settings) load(ctx *kong.Context) {
	if s.loaded {
		return
	}
	s.loaded = true
	path, named := s.file(ctx)
	if path == "" {
		return
	}
	tree, text, err := s.read(path, named)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return
	}
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err // without the path
		}
		s.Faults = append(s.Faults, fmt.Sprintf("the settings in %s cannot be read: %v.", path, err))
		return
	}
	s.Path, s.Named, s.values, s.lines = path, named, make(map[string]string, len(tree)), linesOf(text)
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		if !slices.ContainsFunc(s.Names, func(n string) bool { return KeyName(n) == key }) {
			s.Faults = append(s.Faults, fmt.Sprintf("%s: there is no setting %q; did you mean %q?", s.position(key), key, nearest(key, s.Names)))
			continue
		}
		value, ok := asText(tree[key])
		if !ok {
			s.Faults = append(s.Faults, fmt.Sprintf("%s: %s must be a single value or a list, not a table.", s.position(key), key))
		}
		s.values[key] = value
	}
}

// file returns the path of the configuration file, and whether it was set explicitly. Commands
// without --config do not open the database and read no file: what lies in the working directory
// must not decide where they send an API key.
func (s *Settings) file(ctx *kong.Context) (path string, named bool) {
	flags := ctx.Flags()
	i := slices.IndexFunc(flags, func(f *kong.Flag) bool { return f.Name == "config" })
	if i < 0 {
		return "", false
	}
	if path, _ := ctx.FlagValue(flags[i]).(string); path != "" {
		return path, true
	}
	if path, _ := s.Environ(EnvName("config")); path != "" {
		return path, true
	}
	return s.DefaultFile, false
}

// read parses a configuration file. One that was only found in the working directory must belong to
// somebody who may decide which programs this process starts.
func (s *Settings) read(path string, named bool) (tree map[string]any, text string, err error) {
	open := s.openFound
	if named {
		open = os.Open
	}
	f, err := open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	all, err := io.ReadAll(f)
	if err != nil {
		return nil, "", err
	}
	_, err = toml.Decode(string(all), &tree)
	return tree, string(all), err
}

// assignment is a line that sets a key, or begins a table.
var assignment = regexp.MustCompile(`^\s*\[*["']?([A-Za-z0-9_-]+)["']?\s*[=.\]]`)

// linesOf returns in which line of a file each key is, counted from 1.
func linesOf(text string) map[string]int {
	lines := map[string]int{}
	for i, line := range strings.Split(text, "\n") {
		if m := assignment.FindStringSubmatch(line); m != nil && lines[m[1]] == 0 {
			lines[m[1]] = i + 1
		}
	}
	return lines
}

// position says where in the file a key is.
func (s *Settings) position(key string) string {
	if line := s.lines[key]; line > 0 {
		return fmt.Sprintf("%s, line %d", s.Path, line)
	}
	return s.Path
}

// openFound opens a configuration file that was found without --config. It must belong to this user or to root,
// and so must a link to it, because its owner chose the file. Opening a pipe must not wait for a writer.
func (s *Settings) openFound(path string) (*os.File, error) {
	link, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	why := s.distrust(info)
	switch isLink := link.Mode()&fs.ModeSymlink != 0; {
	case why != "":
	case isLink && !s.trusts(link):
		why = "the link to this file belongs to another user"
	case !isLink && !os.SameFile(link, info):
		why = "this file was exchanged while it was opened"
	}
	if why != "" {
		f.Close()
		return nil, fmt.Errorf("%s; if you trust it, name it with --config=%s", why, path)
	}
	return f, nil
}

// distrust says why a file that was found without --config is not used, or returns "".
func (s *Settings) distrust(info fs.FileInfo) string {
	switch {
	case !info.Mode().IsRegular():
		return "it is no ordinary file"
	case info.Mode().Perm()&0o002 != 0:
		return "every user can change this file"
	case !s.trusts(info):
		return "this file belongs to another user"
	}
	return ""
}

// trusts reports whether a file belongs to this user or to root.
func (s *Settings) trusts(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || stat.Uid == 0 || int(stat.Uid) == s.User
}

// Source returns the absolute path of the file that was read, or "".
func (s *Settings) Source() string {
	if s.Path == "" {
		return ""
	}
	path, err := filepath.Abs(s.Path)
	if err != nil {
		return s.Path
	}
	return path
}
