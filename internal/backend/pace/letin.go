package pace

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// letIn has Go look for what has arrived, and lets that run. Sleeping would do the same, but takes a
// millisecond where nothing else happens: Go sleeps in the call that waits for the network, which
// counts in milliseconds. So this waits for a pipe that there is something in.
func letIn() {
	d, _ := doors.Get().(*door)
	if d == nil {
		return // too many open files: others will be let in later
	}
	if d.pass() == nil {
		doors.Put(d)
	}
	runtime.Gosched() // what has arrived waits for its turn now
}

// doors are not in use. Those that are forgotten close themselves.
var doors = sync.Pool{New: func() any {
	d, err := newDoor()
	if err != nil {
		return nil
	}
	return d
}}

// door is a pipe that only one goroutine reads and writes.
type door struct {
	in, out *os.File
	reading syscall.RawConn
}

func newDoor() (*door, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	reading, err := out.SyscallConn()
	return &door{in, out, reading}, err
}

// pass waits for what it writes itself: that arrives as everything else does. Whatever arrived before
// the wait began would not end it, so the writing is a part of the wait.
func (d *door) pass() error {
	var written error
	waited := false
	err := d.reading.Read(func(fd uintptr) bool {
		if !waited {
			waited = true
			_, written = d.in.Write([]byte{0})
			return written != nil
		}
		_, err := syscall.Read(int(fd), make([]byte, 1))
		return err != syscall.EAGAIN
	})
	return errors.Join(written, err)
}
