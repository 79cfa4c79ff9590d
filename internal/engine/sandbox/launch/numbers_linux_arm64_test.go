package launch

// From include/uapi/asm-generic/unistd.h, and AUDIT_ARCH_AARCH64.
const kernelArch = 0xc00000b7

var kernelRefuses = map[string]uint32{
	"socket": 198, "connect": 203, "accept": 202, "sendto": 206, "sendmsg": 211, "bind": 200, "listen": 201, "socketpair": 199,
	"ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "execveat": 281, "pidfd_open": 434, "pidfd_getfd": 438, "tkill": 130,
	"setsid": 157, "setpgid": 154, "setrlimit": 164, "shmget": 194, "msgget": 186, "semget": 190, "mq_open": 180,
	"unshare": 97, "setns": 268, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "open_tree": 428, "mount_setattr": 442,
	"setuid": 146, "setresuid": 147, "capset": 91, "personality": 92,
	"fchmod": 52, "fchmodat": 53, "fchownat": 54, "mknodat": 33, "symlinkat": 36, "linkat": 37, "open_by_handle_at": 265,
	"bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "memfd_secret": 447, "memfd_create": 279, "io_uring_setup": 425, "add_key": 217, "keyctl": 219,
	"init_module": 105, "finit_module": 273, "kexec_load": 104, "reboot": 142, "swapon": 224, "settimeofday": 170,
}

var kernelAllows = map[string]uint32{
	"read": 63, "write": 64, "openat": 56, "close": 57, "mmap": 222, "futex": 98, "execve": 221, "exit_group": 94, "lseek": 62, "getrandom": 278,
}

var kernelDepends = map[string]uint32{
	"clone": 220, "kill": 129, "tgkill": 131, "setpriority": 140, "prlimit64": 261, "prctl": 167, "ioctl": 29, "fcntl": 25,
}
