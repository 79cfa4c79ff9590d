package s3

import (
	"context"
	"net"
)

// CopyInParts makes s copy objects larger than limit in parts of this size: for
// tests, which cannot wait for objects of more than 5 GiB.
func CopyInParts(s *Store, limit, part int64) { s.raw.maxCopy, s.raw.copyPart = limit, part }

// PutFilesInParts makes s send files larger than limit in parts: for tests that look at
// parts and not at when there are some. Every megabyte that is sent takes time.
func PutFilesInParts(s *Store, limit int64) { s.raw.maxWhole = limit }

// WithDial returns options with which a store connects in this way: for tests whose
// server has names that nobody else knows.
func WithDial(o Options, dial func(ctx context.Context, network, address string) (net.Conn, error)) Options {
	o.dial = dial
	return o
}
