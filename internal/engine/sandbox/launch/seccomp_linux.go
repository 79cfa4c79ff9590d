//go:build amd64 || arm64

package launch

import (
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// firstUnknown is the number of the first system call that was not reviewed when
// the lists below were made.
const firstUnknown = 470

// The layout of what a filter can see (struct seccomp_data). Arguments
// have 64 bits in two words, the lower one first.
const (
	numberWord   = 0
	archWord     = 4
	argumentWord = 16
)

func argument(n uint32) uint32 { return argumentWord + 8*n }

// condition is what a word must or must not be for a call to be allowed.
type condition struct {
	call   uint32
	word   uint32
	allow  bool // the values are the only ones allowed; otherwise the only ones refused
	values []uint32
}

// conditions keep a process from using calls that it needs against other
// processes. self is its process ID, which execve does not change.
func conditions(self uint32) []condition {
	return []condition{
		{unix.SYS_KILL, argument(0), true, []uint32{self}},
		{unix.SYS_TGKILL, argument(0), true, []uint32{self}},
		{unix.SYS_SETPRIORITY, argument(0), true, []uint32{unix.PRIO_PROCESS}},
		{unix.SYS_SETPRIORITY, argument(1), true, []uint32{0}},
		{unix.SYS_SCHED_SETAFFINITY, argument(0), true, []uint32{0, self}},
		// Limits may be read, but not changed: the new one must be NULL.
		{unix.SYS_PRLIMIT64, argument(2), true, []uint32{0}},
		{unix.SYS_PRLIMIT64, argument(2) + 4, true, []uint32{0}},
		// The request to be killed with the server cannot be withdrawn.
		{unix.SYS_PRCTL, argument(0), false, []uint32{unix.PR_SET_PDEATHSIG}},
		// Signals by way of a file.
		{unix.SYS_FCNTL, argument(1), false, []uint32{unix.F_SETOWN, unix.F_SETOWN_EX}},
	}
}

// ioctls are how C libraries ask whether a file is a terminal, and how Python has a file closed when a program starts another.
var ioctls = condition{unix.SYS_IOCTL, argument(1), true, []uint32{unix.TCGETS, unix.TCGETS2, unix.TIOCGWINSZ, closeOnExec, keepOnExec}}

// Requests about a file descriptor that the package unix does not name; see asm-generic/ioctls.h.
const (
	closeOnExec = 0x5451 // FIOCLEX
	keepOnExec  = 0x5450 // FIONCLEX
)

// ioctlsWithDevices are for a program that may use a device, whose driver has a language of its own. Landlock
// keeps it from other devices, so what is left is what can be done with plain files and terminals: input for the
// server's terminal, and disk space that the size of a file does not show.
var ioctlsWithDevices = condition{unix.SYS_IOCTL, argument(1), false, []uint32{
	unix.TIOCSTI, unix.TIOCLINUX,
	reserveSpace, reserveSpace64, zeroRange, allocateSpace, allocateSpace64, setExtendedFlags,
	unix.FICLONE, unix.FICLONERANGE, unix.FIDEDUPERANGE, unix.FS_IOC_SETFLAGS,
}}

// Requests to file systems that the package unix does not name; see linux/falloc.h and xfs_fs.h.
const (
	allocateSpace    = 0x4030580a // XFS_IOC_ALLOCSP
	allocateSpace64  = 0x40305824 // XFS_IOC_ALLOCSP64
	reserveSpace     = 0x40305828 // FS_IOC_RESVSP
	reserveSpace64   = 0x4030582a // FS_IOC_RESVSP64
	zeroRange        = 0x40305839 // FS_IOC_ZERO_RANGE
	setExtendedFlags = 0x401c5820 // FS_IOC_FSSETXATTR
)

// checkSeccomp explains why the filter cannot be used.
func checkSeccomp() error {
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return fmt.Errorf("the kernel has no seccomp filters (%w); %s", errno, wayOut)
	}
	return nil
}

// restrictCalls installs the filter on all threads.
func restrictCalls(p Policy) error { return load(filter(uint32(os.Getpid()), len(p.Devices) > 0)) }

func load(code []unix.SockFilter) error {
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	if thread != 0 {
		return fmt.Errorf("thread %d has a filter of its own", thread)
	}
	return nil
}

// filter assembles the program that the kernel runs at each system call. It
// keeps the number of the call in the accumulator; blocks that look at arguments
// load it again.
//
// Calls of another architecture have other numbers, and would not be recognised:
// they kill. Calls that were not reviewed, calls of x32, and clone3 and openat2,
// which hide their flags in memory, appear not to exist: the C library then uses
// older ones.
func filter(self uint32, devices bool) []unix.SockFilter {
	code := slices.Concat(
		load32(archWord), []unix.SockFilter{jump(unix.BPF_JEQ, nativeArch, 1, 0), ret(unix.SECCOMP_RET_KILL_PROCESS)},
		load32(numberWord), []unix.SockFilter{
			jump(unix.BPF_JGE, firstUnknown, 0, 1), ret(refuse(unix.ENOSYS)),
			jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), ret(refuse(unix.ENOSYS)),
			jump(unix.BPF_JEQ, unix.SYS_OPENAT2, 0, 1), ret(refuse(unix.ENOSYS)),
		})
	calls, control := slices.Concat(refused, refusedHere), ioctlsWithDevices
	if !devices {
		control = ioctls
		calls = append(calls, refusedWithoutDevices...)
		code = append(code, onCall(unix.SYS_MMAP, refuseUncountedMemory())...)
	}
	for call, flags := range openCalls {
		code = append(code, onCall(call, refuseUnnamedFiles(flags))...)
	}
	for _, call := range calls {
		code = append(code, jump(unix.BPF_JEQ, call, 0, 1), ret(refuse(unix.EPERM)))
	}
	code = append(code, onCall(unix.SYS_CLONE, slices.Concat(
		load32(argument(0)), []unix.SockFilter{jump(unix.BPF_JSET, unix.CLONE_THREAD, 1, 0), ret(refuse(unix.EPERM))},
	))...)
	for _, c := range append(conditions(self), control) {
		code = append(code, onCall(c.call, c.check())...)
	}
	return append(code, ret(unix.SECCOMP_RET_ALLOW))
}

// refuseUncountedMemory refuses mappings that the limit of memory does not
// count: mappings without a file that could be shared with other processes, and
// mappings that grow like a stack.
func refuseUncountedMemory() []unix.SockFilter {
	return append(load32(argument(3)),
		jump(unix.BPF_JSET, unix.MAP_GROWSDOWN, 2, 0),
		jump(unix.BPF_JSET, unix.MAP_ANONYMOUS, 0, 2),
		jump(unix.BPF_JSET, unix.MAP_SHARED, 0, 1),
		ret(refuse(unix.EPERM)))
}

// refuseUnnamedFiles refuses files that no folder lists: the disk space that they
// take could not be counted.
func refuseUnnamedFiles(flags uint32) []unix.SockFilter {
	const unnamed = unix.O_TMPFILE &^ unix.O_DIRECTORY
	return append(load32(argument(flags)), jump(unix.BPF_JSET, unnamed, 0, 1), ret(refuse(unix.EPERM)))
}

// check refuses the call when the condition does not hold. A comparison that
// is true skips those behind it and one instruction more: the refusal, or the
// jump around it.
func (c condition) check() []unix.SockFilter {
	code := load32(c.word)
	for i, v := range c.values {
		code = append(code, jump(unix.BPF_JEQ, v, uint8(len(c.values)-i), 0))
	}
	if !c.allow {
		code = append(code, jump(unix.BPF_JA, 1, 0, 0))
	}
	return append(code, ret(refuse(unix.EPERM)))
}

// onCall runs a block for one call only.
func onCall(call uint32, block []unix.SockFilter) []unix.SockFilter {
	block = append(block, load32(numberWord)...)
	return append([]unix.SockFilter{jump(unix.BPF_JEQ, call, 0, uint8(len(block)))}, block...)
}

func load32(word uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: word}}
}

// jump compares with k and skips that many instructions.
func jump(comparison uint16, k uint32, ifTrue, ifFalse uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | comparison, K: k, Jt: ifTrue, Jf: ifFalse}
}

func ret(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

func refuse(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }
