//go:build amd64 || arm64

package launch

import (
	"testing"

	"golang.org/x/sys/unix"
)

// seen is what the kernel shows to a filter.
type seen struct {
	call, arch uint32
	args       [6]uint64
}

func (s seen) word(at uint32) uint32 {
	switch at {
	case numberWord:
		return s.call
	case archWord:
		return s.arch
	}
	return uint32(s.args[(at-argumentWord)/8] >> (at % 8 * 8))
}

// decide runs a filter as the kernel does.
func decide(t *testing.T, code []unix.SockFilter, s seen) uint32 {
	t.Helper()
	var a uint32
	for pc := 0; ; pc++ {
		if pc >= len(code) {
			t.Fatalf("call %d runs off the end of the filter", s.call)
		}
		i, hit := code[pc], false
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = s.word(i.K)
			continue
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		case unix.BPF_JMP | unix.BPF_JA:
			pc += int(i.K)
			continue
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			hit = a == i.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			hit = a >= i.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			hit = a&i.K != 0
		default:
			t.Fatalf("unknown instruction %#x", i.Code)
		}
		if hit {
			pc += int(i.Jt)
		} else {
			pc += int(i.Jf)
		}
	}
}

func TestFilterRefusesEveryListedCall(t *testing.T) {
	t.Parallel()
	code := filter(1234, false)
	for _, list := range [][]uint32{refused, refusedHere, refusedWithoutDevices} {
		for _, call := range list {
			if got := decide(t, code, seen{call: call, arch: nativeArch}); got != refuse(unix.EPERM) {
				t.Errorf("call %d gives %#x; want EPERM", call, got)
			}
		}
	}
}

func TestFilterLooksAtArguments(t *testing.T) {
	t.Parallel()
	const self, allow = 1234, unix.SECCOMP_RET_ALLOW
	no, missing := refuse(unix.EPERM), refuse(unix.ENOSYS)
	tests := []struct {
		name string
		call uint32
		args [6]uint64
		want uint32
	}{
		{"reading", unix.SYS_READ, [6]uint64{3}, allow},
		{"opening", unix.SYS_OPENAT, [6]uint64{}, allow},
		{"becoming a program, which Landlock decides about", unix.SYS_EXECVE, [6]uint64{}, allow},
		{"a new thread", unix.SYS_CLONE, [6]uint64{unix.CLONE_VM | unix.CLONE_THREAD}, allow},
		{"a new process", unix.SYS_CLONE, [6]uint64{uint64(unix.SIGCHLD)}, no},
		{"a new process, the bit for threads in the other half", unix.SYS_CLONE, [6]uint64{unix.CLONE_THREAD << 32}, no},
		{"clone3, whose flags cannot be seen", unix.SYS_CLONE3, [6]uint64{}, missing},
		{"a signal to itself", unix.SYS_TGKILL, [6]uint64{self, self + 1, 6}, allow},
		{"a signal to another process", unix.SYS_TGKILL, [6]uint64{99, 99, 9}, no},
		{"killing everything", unix.SYS_KILL, [6]uint64{1<<64 - 1, 9}, no},
		{"being nice", unix.SYS_SETPRIORITY, [6]uint64{unix.PRIO_PROCESS, 0, 10}, allow},
		{"making another process nice", unix.SYS_SETPRIORITY, [6]uint64{unix.PRIO_PROCESS, 99, 10}, no},
		{"making a user's processes nice", unix.SYS_SETPRIORITY, [6]uint64{unix.PRIO_USER, 0, 10}, no},
		{"asking for a limit", unix.SYS_PRLIMIT64, [6]uint64{0, unix.RLIMIT_STACK, 0}, allow},
		{"setting a limit", unix.SYS_PRLIMIT64, [6]uint64{0, unix.RLIMIT_STACK, 0x1000}, no},
		{"setting a limit from a high address", unix.SYS_PRLIMIT64, [6]uint64{0, unix.RLIMIT_STACK, 1 << 32}, no},
		{"naming a thread", unix.SYS_PRCTL, [6]uint64{unix.PR_SET_NAME}, allow},
		{"outliving the server", unix.SYS_PRCTL, [6]uint64{unix.PR_SET_PDEATHSIG}, no},
		{"closing a file on exec", unix.SYS_IOCTL, [6]uint64{3, 0x5451}, allow},
		{"asking whether this is a terminal", unix.SYS_IOCTL, [6]uint64{1, unix.TCGETS}, allow},
		{"typing into the server's terminal", unix.SYS_IOCTL, [6]uint64{1, unix.TIOCSTI}, no},
		{"typing with the upper half set", unix.SYS_IOCTL, [6]uint64{1, 1<<32 | unix.TIOCSTI}, no},
		{"pasting into the console", unix.SYS_IOCTL, [6]uint64{1, unix.TIOCLINUX}, no},
		{"asking for the size of a terminal", unix.SYS_IOCTL, [6]uint64{1, unix.TIOCGWINSZ}, allow},
		{"reserving disk space", unix.SYS_IOCTL, [6]uint64{1, reserveSpace}, no},
		{"anything else that a driver may know", unix.SYS_IOCTL, [6]uint64{1, 0x1234}, no},
		{"duplicating a file", unix.SYS_FCNTL, [6]uint64{1, unix.F_DUPFD_CLOEXEC}, allow},
		{"sending signals by way of a file", unix.SYS_FCNTL, [6]uint64{1, unix.F_SETOWN, 99}, no},
		{"memory of its own", unix.SYS_MMAP, [6]uint64{3: unix.MAP_PRIVATE | unix.MAP_ANONYMOUS}, allow},
		{"a file, shared", unix.SYS_MMAP, [6]uint64{3: unix.MAP_SHARED}, allow},
		{"memory without a file, shared", unix.SYS_MMAP, [6]uint64{3: unix.MAP_SHARED | unix.MAP_ANONYMOUS}, no},
		{"the same, validated", unix.SYS_MMAP, [6]uint64{3: unix.MAP_SHARED_VALIDATE | unix.MAP_ANONYMOUS}, no},
		{"memory that grows", unix.SYS_MMAP, [6]uint64{3: unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_GROWSDOWN}, no},
		{"opening a folder", unix.SYS_OPENAT, [6]uint64{2: unix.O_DIRECTORY}, allow},
		{"creating a file", unix.SYS_OPENAT, [6]uint64{2: unix.O_CREAT | unix.O_RDWR}, allow},
		{"creating a file without a name", unix.SYS_OPENAT, [6]uint64{2: unix.O_TMPFILE | unix.O_RDWR}, no},
		{"openat2, whose flags cannot be seen", unix.SYS_OPENAT2, [6]uint64{}, missing},
		{"a call from the future", firstUnknown, [6]uint64{}, missing},
		{"a call of x32", 0x40000000 | unix.SYS_SOCKET, [6]uint64{}, missing},
	}
	code := filter(self, false)
	for _, tt := range tests {
		if got := decide(t, code, seen{tt.call, nativeArch, tt.args}); got != tt.want {
			t.Errorf("%s gives %#x; want %#x", tt.name, got, tt.want)
		}
	}
	withDevices := filter(self, true)
	for _, s := range []seen{
		{call: unix.SYS_MEMFD_CREATE}, {call: unix.SYS_MMAP, args: [6]uint64{3: unix.MAP_SHARED | unix.MAP_ANONYMOUS}},
		{call: unix.SYS_IOCTL, args: [6]uint64{1, 0x1234}},
	} {
		s.arch = nativeArch
		if got := decide(t, withDevices, s); got != allow {
			t.Errorf("call %d of a program with a device gives %#x; want it allowed", s.call, got)
		}
	}
	for _, request := range ioctlsWithDevices.values {
		if got := decide(t, withDevices, seen{unix.SYS_IOCTL, nativeArch, [6]uint64{1, uint64(request)}}); got != no {
			t.Errorf("ioctl %#x of a program with a device gives %#x; want EPERM", request, got)
		}
	}
	foreign := seen{call: unix.SYS_READ, arch: unix.AUDIT_ARCH_I386}
	if got := decide(t, code, foreign); got != unix.SECCOMP_RET_KILL_PROCESS {
		t.Errorf("a call of another architecture gives %#x; want death", got)
	}
}
