//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// target is what the attacks aim at.
type target struct {
	Server     int    // process ID
	Input, Out string // granted: a file to read, a folder to write in
	Secret     string // a file that was not granted
	TCP, UDP   int    // ports on the loopback interface
	Unix       string // a socket in the abstract namespace, "@" first
}

const content = "the quick brown fox\n"

// What becomes of an attempt. Any other word is the error of an attempt that
// failed for a reason which is not the sandbox's.
const (
	worked = "worked"
	denied = "denied"
)

// attempt is one thing that a program may try; what follows "can" or "cannot".
type attempt struct {
	what string
	try  func(target) error
}

// needs are what must work, so that a test in which nothing works fails.
var needs = []attempt{
	{"read its input", func(t target) error { return read(t.Input) }},
	{"write in its folder", func(t target) error {
		path := filepath.Join(t.Out, "piece")
		return errors.Join(os.WriteFile(path, []byte(content), 0o600), read(path), os.WriteFile(path, []byte(content), 0o600))
	}},
}

// attacks must all be denied. The last one would replace the attacker.
var attacks = []attempt{
	{"read a file of the server", func(t target) error { return read(t.Secret) }},
	{"read the server's environment", func(t target) error {
		return hidden(read(fmt.Sprintf("/proc/%d/environ", t.Server)))
	}},
	{"list the root folder", func(target) error { return list("/") }},
	{"list the folder of its input", func(t target) error { return list(filepath.Dir(t.Input)) }},
	{"change its input", func(t target) error { return write(t.Input, 0) }},
	{"change a file of the server", func(t target) error { return write(t.Secret, 0) }},
	{"create a file outside", func(t target) error { return write(t.Secret+"-planted", os.O_CREATE) }},
	{"make a file executable", func(t target) error { return os.Chmod(t.Out, 0o777) }},
	{"truncate a file of the server", func(t target) error { return os.Truncate(t.Secret, int64(len(content))) }},
	{"link to a file of the server", func(t target) error { return os.Link(t.Secret, filepath.Join(t.Out, "hard")) }},
	{"make a symbolic link", func(t target) error { return os.Symlink(t.Secret, filepath.Join(t.Out, "soft")) }},
	{"make a folder", func(t target) error { return os.Mkdir(filepath.Join(t.Out, "folder"), 0o700) }},
	{"remove what it wrote", func(t target) error {
		path := filepath.Join(t.Out, "removed")
		return errors.Join(os.WriteFile(path, nil, 0o600), os.Remove(path))
	}},
	{"replace what it wrote", func(t target) error {
		path := filepath.Join(t.Out, "replaced")
		return errors.Join(os.WriteFile(path, nil, 0o600), os.WriteFile(path+"-by", nil, 0o600), os.Rename(path+"-by", path))
	}},
	{"remove a file of the server", func(t target) error { return os.Remove(t.Secret) }},

	{"connect by TCP", func(t target) error { return connect(unix.AF_INET, unix.SOCK_STREAM, 0, loopback(t.TCP)) }},
	{"connect by multipath TCP", func(t target) error {
		return connect(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, loopback(t.TCP))
	}},
	{"send by UDP", func(t target) error { return connect(unix.AF_INET, unix.SOCK_DGRAM, 0, loopback(t.UDP)) }},
	{"connect to a Unix socket", func(t target) error {
		return connect(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: t.Unix})
	}},
	{"make a pair of sockets", func(target) error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err }},
	{"open a netlink socket", func(target) error { return connect(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, nil) }},
	{"open a packet socket", func(target) error { return connect(unix.AF_PACKET, unix.SOCK_RAW, 0, nil) }},
	{"open a vsock socket", func(target) error { return connect(unix.AF_VSOCK, unix.SOCK_STREAM, 0, nil) }},
	{"open a crypto socket", func(target) error { return connect(unix.AF_ALG, unix.SOCK_SEQPACKET, 0, nil) }},

	{"start another program", func(target) error {
		pid, err := syscall.ForkExec("/bin/true", []string{"true"}, nil)
		if err == nil {
			_, err = syscall.Wait4(pid, nil, 0, nil)
		}
		return err
	}},
	{"signal the server", func(t target) error { return unix.Kill(t.Server, 0) }},
	{"trace the server", func(t target) error { return unix.PtraceSeize(t.Server) }},
	{"read the server's memory", func(t target) error { return peek(t.Server) }},
	{"change the server's limits", func(t target) error {
		var l unix.Rlimit
		return errors.Join(unix.Prlimit(t.Server, unix.RLIMIT_CORE, nil, &l), unix.Prlimit(t.Server, unix.RLIMIT_CORE, &l, nil))
	}},
	{"change the server's priority", func(t target) error { return unix.Setpriority(unix.PRIO_PROCESS, t.Server, 0) }},
	{"outlive the server", func(target) error { return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) }},
	{"leave its process group", func(t target) error {
		group, err := unix.Getpgid(t.Server)
		return errors.Join(err, unix.Setpgid(0, group))
	}},
	{"raise its limits", func(target) error {
		var l unix.Rlimit
		return errors.Join(unix.Getrlimit(unix.RLIMIT_FSIZE, &l), unix.Setrlimit(unix.RLIMIT_FSIZE, &l))
	}},
	{"share memory with other processes", func(target) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
		if err == nil {
			_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
		return err
	}},
	{"share memory without a file", func(target) error { return mapMemory(unix.MAP_SHARED) }},
	{"map memory that grows", func(target) error { return mapMemory(unix.MAP_PRIVATE | unix.MAP_GROWSDOWN) }},
	{"make a file in memory", func(target) error {
		name := []byte("x\x00")
		return call(unix.SYS_MEMFD_CREATE, uintptr(unsafe.Pointer(&name[0])))
	}},
	{"make a file without a name", func(t target) error {
		f, err := os.OpenFile(t.Out, unix.O_TMPFILE|os.O_RDWR, 0o600)
		if err == nil {
			err = f.Close()
		}
		return err
	}},
	{"reserve disk space", reserve},
	{"reserve disk space by ioctl", reserveByIoctl},
	{"make a user namespace", func(target) error { return call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) }},
	{"use io_uring", func(target) error {
		var params [30]uint32
		return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
	}},
	{"use asynchronous input and output", func(target) error {
		var queue uintptr
		err := call(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&queue)))
		if err == nil {
			err = call(unix.SYS_IO_DESTROY, queue)
		}
		return err
	}},
	{"use BPF", func(target) error { return call(unix.SYS_BPF, unix.BPF_MAP_CREATE) }},
	{"use userfaultfd", func(target) error { return call(unix.SYS_USERFAULTFD, unix.O_CLOEXEC) }},
	{"use performance counters", func(target) error {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
		_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
		return err
	}},

	{"become another program", func(target) error { return syscall.Exec("/bin/true", []string{"true"}, nil) }},
}

// attackAll tries everything and writes a line about each attempt.
func attackAll(t target, w io.Writer) {
	for _, list := range [][]attempt{needs, attacks} {
		for _, a := range list {
			result := worked
			if err := a.try(t); errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
				result = denied
			} else if err != nil {
				result = fmt.Sprintf("%q", err)
			}
			fmt.Fprintf(w, "%s\t%s\n", a.what, result)
		}
	}
}

// hidden turns the error of a process that is not there into a refusal. The server
// runs, so it was hidden: /proc is mounted with hidepid=, as ProtectProc= of systemd does.
func hidden(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return unix.EACCES
	}
	return err
}

func read(path string) error {
	got, err := os.ReadFile(path)
	if err == nil && len(got) == 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

func write(path string, flags int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|flags, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}

func list(path string) error {
	_, err := os.ReadDir(path)
	return err
}

func loopback(port int) unix.Sockaddr {
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

// connect opens a socket and, when there is an address, writes to it.
func connect(family, kind, protocol int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if to == nil {
		return nil
	}
	if err := unix.Connect(fd, to); err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(content))
	return err
}

// peek reads a few bytes of another process at an address that both have in
// common, as they run the same program.
func peek(pid int) error {
	here := make([]byte, len(content))
	local := unix.Iovec{Base: &here[0]}
	local.SetLen(len(here))
	there := unix.RemoteIovec{Base: uintptr(unsafe.Pointer(unsafe.StringData(content))), Len: len(here)}
	_, err := unix.ProcessVMReadv(pid, []unix.Iovec{local}, []unix.RemoteIovec{there}, 0)
	return err
}

// mapMemory maps a page of memory that belongs to no file.
func mapMemory(flags int) error {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, flags|unix.MAP_ANONYMOUS)
	if err == nil {
		err = unix.Munmap(page)
	}
	return err
}

// reserve takes disk space that the size of the file does not show.
func reserve(t target) error {
	f, err := os.OpenFile(filepath.Join(t.Out, "reserve"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 4096)
}

// reserveByIoctl does the same by the request FS_IOC_RESVSP.
func reserveByIoctl(t target) error {
	f, err := os.OpenFile(filepath.Join(t.Out, "reserve-by-ioctl"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	const reserveSpace = 0x40305828
	space := struct { // struct space_resv of linux/falloc.h
		kind, whence  int16
		start, length int64
		_             [24]byte
	}{length: 4096}
	return call(unix.SYS_IOCTL, f.Fd(), reserveSpace, uintptr(unsafe.Pointer(&space)))
}

// call makes a system call, and closes the file that it may return.
func call(number uintptr, args ...uintptr) error {
	var a [3]uintptr
	copy(a[:], args)
	fd, _, errno := unix.Syscall(number, a[0], a[1], a[2])
	if errno != 0 {
		return errno
	}
	if fd > 2 {
		return unix.Close(int(fd))
	}
	return nil
}
