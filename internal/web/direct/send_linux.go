package direct

import "golang.org/x/sys/unix"

// sender sends bytes that may leave together with what is sent next.
type sender struct {
	left []byte
	err  error
	try  func(fd uintptr) bool // of syscall.RawConn, made once
}

func (s *sender) init() {
	s.try = func(fd uintptr) bool {
		for len(s.left) > 0 {
			n, err := unix.SendmsgN(int(fd), s.left, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
			switch err {
			case nil:
				s.left = s.left[n:]
			case unix.EINTR:
			case unix.EAGAIN:
				return false // it is called again when the socket can take more
			default:
				s.err = err
				return true
			}
		}
		return true
	}
}

// sendMore sends bytes. The kernel waits for what comes next, to send both in one packet.
func (c *conn) sendMore(b []byte) error {
	c.more.left, c.more.err = b, nil
	if err := c.raw.Write(c.more.try); err != nil {
		return err
	}
	return c.more.err
}
