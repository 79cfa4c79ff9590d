//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A program may start threads, and no kernel offers an ordinary process a limit
// on them for its child alone: RLIMIT_NPROC counts all processes of the user, and
// a control group has to be delegated. But a seccomp filter can ask another
// process what to answer to a system call. So the server is asked for each new
// thread. It counts those that the program has, and refuses, as the kernel would.
//
// The helper installs the filter that asks, and sends the file by which questions
// are answered to the server, through a pair of sockets. The main filter comes
// later and is stricter: a new process is refused without a question.

// threadGuard answers the questions of one child.
type threadGuard struct {
	limit   int
	share   *threadShare
	ours    *os.File // receives the file of questions
	theirs  *os.File // the helper's end
	mu      sync.Mutex
	asks    *os.File // where the questions are; nil if there are none
	closed  bool
	granted int
}

func newThreadGuard(limit int, share *threadShare) *threadGuard {
	return &threadGuard{limit: limit, share: share}
}

// open makes the pair of sockets for a child that is about to start.
func (g *threadGuard) open(cmd *exec.Cmd) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("prepare to count threads: %w", err)
	}
	g.ours, g.theirs = os.NewFile(uintptr(pair[0]), "answers"), os.NewFile(uintptr(pair[1]), "questions")
	cmd.ExtraFiles = []*os.File{g.theirs}
	return nil
}

// started closes what belongs to the child.
func (g *threadGuard) started() { _ = g.theirs.Close() }

func (g *threadGuard) close() {
	_ = g.ours.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.asks != nil {
		_ = g.asks.Close()
	}
	g.share.leave(g)
}

// counts reports whether each new thread was counted.
func (g *threadGuard) counts() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asks != nil
}

// serve answers until the child has ended. It calls stop when the child wants too
// much.
func (g *threadGuard) serve(pid int, stop context.CancelCauseFunc) {
	questions, err := receiveFile(g.ours)
	if err != nil {
		return // the helper failed, or cannot ask: the threads are still watched
	}
	if !g.accept(questions) {
		return
	}
	raw, err := questions.SyscallConn()
	if err != nil {
		return
	}
	// An error means that the file was closed.
	_ = raw.Read(func(fd uintptr) (over bool) {
		for {
			state := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if _, err := unix.Poll(state, 0); err != nil && !errors.Is(err, unix.EINTR) {
				return true
			}
			switch {
			case state[0].Revents&unix.POLLIN != 0:
				g.answer(fd, pid, stop)
			case state[0].Revents != 0:
				return true // nobody is left who could ask
			default:
				return false
			}
		}
	})
}

// accept keeps the file of questions, unless the child has ended.
func (g *threadGuard) accept(questions *os.File) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asks = questions
	if g.closed {
		_ = questions.Close()
	}
	return !g.closed
}

// question and reply are the kernel's struct seccomp_notif and seccomp_notif_resp.
type (
	question struct {
		id         uint64
		pid, flags uint32
		number     int32
		arch       uint32
		pointer    uint64
		args       [6]uint64
	}
	reply struct {
		id    uint64
		value int64
		err   int32
		flags uint32
	}
)

// answer answers one question.
func (g *threadGuard) answer(fd uintptr, pid int, stop context.CancelCauseFunc) {
	var q question
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&q))); errno != 0 {
		return // it was killed meanwhile
	}
	a := reply{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if err := g.checkOneMore(pid); err != nil {
		a.flags, a.err = 0, -int32(unix.EAGAIN)
		if errors.Is(err, ErrThreads) {
			stop(err)
		}
	}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
}

// checkOneMore says whether the child may have one more thread. Several may be granted
// before the first is counted, but no more than it has threads that ask.
func (g *threadGuard) checkOneMore(pid int) error {
	g.granted++
	n, err := countThreads(pid)
	if err != nil {
		n = g.granted
	}
	if n >= g.limit {
		return tooManyThreads(g.limit)
	}
	return g.share.take(g, n+1)
}

// countThreads returns how many threads a process has: the kernel counts them as
// links of a folder.
func countThreads(pid int) (int, error) {
	var stat unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(pid)+"/task", &stat); err != nil {
		return 0, err
	}
	return int(stat.Nlink) - 2, nil
}

// receiveFile receives a file that another process sends through a socket.
func receiveFile(socket *os.File) (*os.File, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	rights := make([]byte, unix.CmsgSpace(4))
	var n int
	waitErr := raw.Read(func(fd uintptr) bool {
		_, n, _, _, err = unix.Recvmsg(int(fd), make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
		return !errors.Is(err, unix.EAGAIN)
	})
	if err := errors.Join(waitErr, err); err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(err, errors.New("no file was sent"))
	}
	files, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(files) != 1 {
		return nil, errors.Join(err, errors.New("no file was sent"))
	}
	if err := unix.SetNonblock(files[0], true); err != nil { // so that waiting for it takes no thread
		return nil, errors.Join(err, unix.Close(files[0]))
	}
	return os.NewFile(uintptr(files[0]), "questions"), nil
}
