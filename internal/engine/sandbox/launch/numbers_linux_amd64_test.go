package launch

// From arch/x86/entry/syscalls/syscall_64.tbl, and AUDIT_ARCH_X86_64.
const kernelArch = 0xc000003e

var kernelRefuses = map[string]uint32{
	"socket": 41, "connect": 42, "accept": 43, "sendto": 44, "sendmsg": 46, "bind": 49, "listen": 50, "socketpair": 53,
	"ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "execveat": 322, "pidfd_open": 434, "pidfd_getfd": 438, "tkill": 200,
	"fork": 57, "vfork": 58, "setsid": 112, "setpgid": 109, "setrlimit": 160, "shmget": 29, "msgget": 68, "semget": 64, "mq_open": 240,
	"unshare": 272, "setns": 308, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "open_tree": 428, "mount_setattr": 442,
	"setuid": 105, "setresuid": 117, "capset": 126, "personality": 135,
	"chmod": 90, "fchmodat": 268, "fchownat": 260, "mknodat": 259, "symlinkat": 266, "linkat": 265, "open_by_handle_at": 304,
	"bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "memfd_secret": 447, "memfd_create": 319, "io_uring_setup": 425, "add_key": 248, "keyctl": 250,
	"init_module": 175, "finit_module": 313, "kexec_load": 246, "reboot": 169, "swapon": 167, "settimeofday": 164,
}

var kernelAllows = map[string]uint32{
	"read": 0, "write": 1, "openat": 257, "close": 3, "mmap": 9, "futex": 202, "execve": 59, "exit_group": 231, "lseek": 8, "getrandom": 318,
}

var kernelDepends = map[string]uint32{
	"clone": 56, "kill": 62, "tgkill": 234, "setpriority": 141, "prlimit64": 302, "prctl": 157, "ioctl": 16, "fcntl": 72,
}
