package launch

import "golang.org/x/sys/unix"

const nativeArch = unix.AUDIT_ARCH_AARCH64

// openCalls are the calls that open files, and which argument has the flags.
var openCalls = map[uint32]uint32{unix.SYS_OPENAT: 2}

// refusedHere would be older forms of refused calls; this architecture was born
// without them.
var refusedHere = []uint32{unix.SYS_NFSSERVCTL}
