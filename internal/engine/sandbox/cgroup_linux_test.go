//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// groupTree makes folders that look like those of the kernel, with a group in
// which this process is.
func groupTree(t *testing.T, own string, files map[string]string) (proc, sys string) {
	t.Helper()
	proc, sys = t.TempDir(), t.TempDir()
	files = mergeFiles(files, map[string]string{
		filepath.Join(own, "cgroup.controllers"): "cpu memory pids\n", filepath.Join(own, "cgroup.subtree_control"): "",
		filepath.Join(own, "cgroup.procs"): strconv.Itoa(os.Getpid()) + "\n",
	})
	write := func(path, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(proc, "self/cgroup"), "0::"+own+"\n")
	for name, text := range files {
		write(filepath.Join(sys, "fs/cgroup", name), text)
	}
	return proc, sys
}

// mergeFiles lets the first win.
func mergeFiles(a, b map[string]string) map[string]string {
	for name, text := range a {
		b[name] = text
	}
	return b
}

func TestGroupsAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, own string
		files     map[string]string
		want      string // in the reason why there are none
	}{
		{"a service with a group for itself", "/system.slice/spool.service/" + serverGroup,
			map[string]string{"/system.slice/spool.service/cgroup.subtree_control": ""}, "no limits may be set"},
		{"the root of a machine", "/", nil, "delegated"},
		{"the root of a container, with others in it", "/", map[string]string{"/memory.max": "max", "/cgroup.procs": "1\n2\n"}, "other processes"},
		{"a service without controllers", "/a", map[string]string{"/a/cgroup.controllers": "cpu\n"}, "version 2 for memory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			proc, sys := groupTree(t, tt.own, tt.files)
			// Ordinary folders have no files with limits, so that nothing can be
			// made of the best of them.
			if g, err := openGroups(proc, sys); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("openGroups = %v, %v; want an error with %q", g, err, tt.want)
			}
		})
	}
	if _, err := openGroups(t.TempDir(), t.TempDir()); err == nil {
		t.Error("found groups where there is not even a list of them")
	}
	proc, sys := groupTree(t, "/s/"+serverGroup, map[string]string{"/s/cgroup.subtree_control": ""})
	_, _ = openGroups(proc, sys)
	if got, err := os.ReadFile(filepath.Join(sys, "fs/cgroup/s/cgroup.subtree_control")); err != nil || string(got) != "+memory +pids" {
		t.Errorf("switched on %q: %v; want memory and processes", got, err)
	}
	if left, _ := filepath.Glob(filepath.Join(sys, "fs/cgroup/s", childPrefix+"*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestAChildInAGroup runs where groups are delegated to the user of the tests.
func TestAChildInAGroup(t *testing.T) {
	t.Parallel()
	s := openSandbox(t)
	if s.groups == nil {
		t.Skip(s.Report().NoGroup)
	}
	c := s.Command(t.Context(), Policy{Read: []string{"/proc/self/cgroup"}, Memory: 1 << 30, Threads: 100}, find(t, "cat"), "/proc/self/cgroup")
	out, stderr, err := run(c)
	if err != nil || c.group == nil || !strings.Contains(out, filepath.Base(c.group.dir)+"\n") {
		t.Fatalf("the child is in %q: %v: %s; want it in a group of its own", out, err, stderr)
	}
	if _, err := os.Stat(c.group.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is still there: %v", err)
	}
}

func TestMemoryEvents(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"low 0\noom 2\noom_kill 1\n": true, "oom 0\noom_kill 0\noom_group_kill 0\n": false, "": false} {
		one := &group{dir: t.TempDir()}
		if err := os.WriteFile(filepath.Join(one.dir, "memory.events"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := one.outOfMemory(); got != want {
			t.Errorf("%q means %t; want %t", text, got, want)
		}
	}
}
