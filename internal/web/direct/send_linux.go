package direct

import "golang.org/x/sys/unix"

// send sends bytes. With more, the kernel waits for what comes next, to send both in one packet.
func (c *conn) send(b []byte, more bool) error {
	if !more {
		_, err := c.tcp.Write(b)
		return err
	}
	var failed error
	err := c.raw.Write(func(fd uintptr) bool {
		for len(b) > 0 {
			n, err := unix.SendmsgN(int(fd), b, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
			switch err {
			case nil:
				b = b[n:]
			case unix.EINTR:
			case unix.EAGAIN:
				return false // call again when there is room
			default:
				failed = err
				return true
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	return failed
}
