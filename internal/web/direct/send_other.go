//go:build !linux

package direct

func (c *conn) send(b []byte, _ bool) error {
	_, err := c.tcp.Write(b)
	return err
}
