package launch

import "golang.org/x/sys/unix"

const nativeArch = unix.AUDIT_ARCH_X86_64

// openCalls are the calls that open files, and which argument has the flags.
var openCalls = map[uint32]uint32{unix.SYS_OPENAT: 2, unix.SYS_OPEN: 1}

// refusedHere are older forms of refused calls, and some that only this
// architecture has.
var refusedHere = []uint32{
	unix.SYS_FORK, unix.SYS_VFORK,
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
	unix.SYS_MKNOD, unix.SYS_SYMLINK, unix.SYS_LINK, unix.SYS_INOTIFY_INIT,
	unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT,
	unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS__SYSCTL, unix.SYS_NFSSERVCTL,
	unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE,
}
