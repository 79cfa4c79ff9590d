package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// groups makes a control group for each child, where the system has delegated
// some to this process: the kernel then counts everything that belongs to the
// child, also the memory that it uses on the child's behalf.
type groups struct {
	parent string // the folder of the group in which they are made
	next   atomic.Int64
	broken atomic.Bool
}

const (
	// serverGroup is where the server itself is: a group that has children can
	// hold no processes. The service manager may have put it there.
	serverGroup = "spool-server"
	childPrefix = "ffmpeg-"
	// groupMemory is for what a group counts and the limit of memory does not:
	// the code of libraries, and parts of files that the kernel keeps.
	groupMemory = 512 << 20
)

// openGroups finds out whether this process may make control groups. proc and sys
// are the kernel's folders.
func openGroups(proc, sys string) (*groups, error) {
	own, err := ownGroupFolder(proc, sys)
	if err != nil {
		return nil, err
	}
	g := &groups{parent: own}
	if filepath.Base(own) == serverGroup {
		g.parent = filepath.Dir(own)
	} else if err := g.moveServer(); err != nil {
		return nil, err
	}
	if err := writeGroup(g.parent, "cgroup.subtree_control", "+memory +pids"); err != nil {
		return nil, fmt.Errorf("no limits may be set: %w", err)
	}
	g.removeOld()
	return g, g.try()
}

// ownGroupFolder returns the folder of this process's own group, if it was
// delegated: its owner is this user, or the service manager says so, or it is the
// root of a container.
func ownGroupFolder(proc, sys string) (string, error) {
	text, err := os.ReadFile(filepath.Join(proc, "self/cgroup"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		path, found := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !found {
			continue
		}
		own := filepath.Join(sys, "fs/cgroup", filepath.Join("/", path))
		controllers, err := os.ReadFile(filepath.Join(own, "cgroup.controllers"))
		has := strings.Fields(string(controllers))
		if err != nil || !slices.Contains(has, "memory") || !slices.Contains(has, "pids") {
			return "", errors.New("the system uses no control groups of version 2 for memory and processes")
		}
		if !delegated(own, path) {
			return "", errors.New("no control group was delegated to Spool")
		}
		return own, nil
	}
	return "", errors.New("the system uses no control groups of version 2")
}

func delegated(own, path string) bool {
	if filepath.Base(path) == serverGroup {
		return true
	}
	if path == "/" {
		// Only the root of the whole machine has no limits.
		_, err := os.Stat(filepath.Join(own, "memory.max"))
		return err == nil
	}
	var stat unix.Stat_t
	if unix.Stat(own, &stat) == nil && stat.Uid != 0 && int(stat.Uid) == os.Geteuid() {
		return true
	}
	mark := make([]byte, 1)
	n, err := unix.Getxattr(own, "user.delegate", mark)
	return err == nil && n == 1 && mark[0] == '1'
}

// moveServer moves this process out of a group that it has for itself.
func (g *groups) moveServer() error {
	processes, err := os.ReadFile(filepath.Join(g.parent, "cgroup.procs"))
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(processes)) != strconv.Itoa(os.Getpid()) {
		return errors.New("other processes are in the control group of Spool")
	}
	server := filepath.Join(g.parent, serverGroup)
	if err := os.Mkdir(server, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("no control group may be made: %w", err)
	}
	return writeGroup(server, "cgroup.procs", "0")
}

// try makes a group and removes it.
func (g *groups) try() error {
	one, err := g.make(Policy{Memory: 1 << 30, Threads: 100})
	if err != nil {
		return err
	}
	one.close()
	return nil
}

// removeOld removes groups whose server has died. Those that are in use stay.
func (g *groups) removeOld() {
	old, _ := filepath.Glob(filepath.Join(g.parent, childPrefix+"*"))
	for _, dir := range old {
		_ = unix.Rmdir(dir)
	}
}

// group is the control group of one child.
type group struct {
	dir  string
	file *os.File
}

// make makes a group with limits.
func (g *groups) make(p Policy) (*group, error) {
	dir := filepath.Join(g.parent, fmt.Sprintf("%s%d-%d", childPrefix, os.Getpid(), g.next.Add(1)))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("no control group may be made: %w", err)
	}
	file, err := os.Open(dir)
	one := &group{dir, file}
	if p.Memory > 0 {
		err = errors.Join(err, writeGroup(dir, "memory.max", strconv.FormatInt(p.Memory+groupMemory, 10)))
	}
	if p.Threads > 0 {
		err = errors.Join(err, writeGroup(dir, "pids.max", strconv.Itoa(p.Threads)))
	}
	if err != nil {
		one.close()
		return nil, fmt.Errorf("no limits may be set: %w", err)
	}
	return one, nil
}

// enter makes a command start in the group.
func (one *group) enter(cmd *exec.Cmd) {
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(one.file.Fd())
}

// outOfMemory reports whether the kernel has killed a process of the group for
// its memory.
func (one *group) outOfMemory() bool {
	events, _ := os.ReadFile(filepath.Join(one.dir, "memory.events"))
	for line := range strings.Lines(string(events)) {
		if n, found := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); found {
			return n != "0"
		}
	}
	return false
}

// close removes the group of a child that has ended. The kernel may need a
// moment; what is left then is removed at the next start.
func (one *group) close() {
	_ = one.file.Close()
	for range 20 {
		if err := unix.Rmdir(one.dir); !errors.Is(err, syscall.EBUSY) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// writeGroup writes to a file that the kernel has made.
func writeGroup(dir, name, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
