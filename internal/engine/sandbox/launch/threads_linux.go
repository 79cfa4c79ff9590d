//go:build amd64 || arm64

package launch

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// answerSocket is the helper's end of the pair: the first file after stderr.
const answerSocket = 3

// askForThreads makes each new thread of this one a question to the server. Where
// that is impossible, because somebody else is asked already, the server learns
// that it has to watch.
func askForThreads() error {
	defer unix.Close(answerSocket)
	code := append(load32(numberWord),
		jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 1), ret(unix.SECCOMP_RET_USER_NOTIF), ret(unix.SECCOMP_RET_ALLOW))
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return nil
	}
	defer unix.Close(int(fd))
	return unix.Sendmsg(answerSocket, []byte{1}, unix.UnixRights(int(fd)), nil, 0)
}
