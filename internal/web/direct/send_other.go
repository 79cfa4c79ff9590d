//go:build !linux

package direct

// sender has nothing to do here: bytes are sent at once.
type sender struct{}

func (sender) init() {}

func (c *conn) sendMore(b []byte) error {
	_, err := c.tcp.Write(b)
	return err
}
