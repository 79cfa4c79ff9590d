package pace

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// letIn has Go look for what has arrived, unless it has something to run anyway, and lets that run.
// Sleeping would do the same, but takes a millisecond where nothing else happens: Go sleeps in the
// call that waits for the network, which counts in milliseconds. So this waits for a pipe that there is
// something in.
func letIn() {
	d, err := takeDoor()
	if err != nil {
		return // too many open files: others are let in later
	}
	if d.pass() != nil || !d.giveBack() {
		d.close()
	}
	runtime.Gosched() // what has arrived waits for its turn now
}

// door is a pipe that only one goroutine at a time reads and writes.
type door struct {
	in, out *os.File
	reading syscall.RawConn
}

// doors are those that nobody uses. More are closed after use.
var doors = make(chan *door, 8)

func takeDoor() (*door, error) {
	select {
	case d := <-doors:
		return d, nil
	default:
		return newDoor()
	}
}

func newDoor() (*door, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	d := &door{in: in, out: out}
	if d.reading, err = out.SyscallConn(); err != nil {
		d.close()
	}
	return d, err
}

func (d *door) close() {
	d.in.Close()
	d.out.Close()
}

// giveBack reports whether there was room for the door.
func (d *door) giveBack() bool {
	select {
	case doors <- d:
		return true
	default:
		return false
	}
}

// pass waits for what it writes itself: that arrives as everything else does. Whatever arrived before
// the wait began would not end it, so the writing is a part of the wait.
func (d *door) pass() error {
	var failed error
	waited := false
	err := d.reading.Read(func(fd uintptr) bool {
		if !waited {
			waited = true
			_, failed = d.in.Write([]byte{0})
			return failed != nil
		}
		_, failed = syscall.Read(int(fd), make([]byte, 1))
		return !errors.Is(failed, syscall.EAGAIN)
	})
	return errors.Join(failed, err)
}
