//go:build amd64 || arm64

package launch

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The filter sees numbers, and each architecture has its own. The table of this one was
// written down from the kernel's lists, not from the constants that the filter is made of.
func TestFilterKnowsTheNumbersOfThisArchitecture(t *testing.T) {
	t.Parallel()
	code := filter(1234, false)
	refused, allowed := refuse(unix.EPERM), uint32(unix.SECCOMP_RET_ALLOW)
	verdict := func(number uint32, args ...uint64) uint32 {
		s := seen{call: number, arch: kernelArch}
		copy(s.args[:], args)
		return decide(t, code, s)
	}
	for name, number := range kernelRefuses {
		if got := verdict(number); got != refused {
			t.Errorf("%s, which is call %d, gives %#x; want EPERM", name, number, got)
		}
	}
	for name, number := range kernelAllows {
		if got := verdict(number); got != allowed {
			t.Errorf("%s, which is call %d, gives %#x; want it allowed", name, number, got)
		}
	}
	for name, number := range map[string]uint32{"clone3": 435, "openat2": 437} { // the same everywhere
		if got := verdict(number); got != refuse(unix.ENOSYS) {
			t.Errorf("%s, which is call %d, gives %#x; want ENOSYS", name, number, got)
		}
	}
	const thread = 0x10000
	for _, tt := range []struct {
		what, call string
		args       []uint64
		want       uint32
	}{
		{"a thread", "clone", []uint64{thread}, allowed},
		{"a process", "clone", []uint64{17}, refused},
		{"a signal to itself", "kill", []uint64{1234, 6}, allowed},
		{"a signal to others", "kill", []uint64{1, 9}, refused},
		{"a signal to a thread of others", "tgkill", []uint64{1, 1, 9}, refused},
		{"the priority of others", "setpriority", []uint64{0, 1, 5}, refused},
		{"a new limit", "prlimit64", []uint64{0, 7, 0x1000}, refused},
		{"to outlive the server", "prctl", []uint64{1, 0}, refused},
		{"to type into a terminal", "ioctl", []uint64{0, 0x5412}, refused},
		{"signals by way of a file", "fcntl", []uint64{3, 8, 99}, refused},
	} {
		if got := verdict(kernelDepends[tt.call], tt.args...); got != tt.want {
			t.Errorf("%s (%s, which is call %d) gives %#x; want %#x", tt.what, tt.call, kernelDepends[tt.call], got, tt.want)
		}
	}
}
