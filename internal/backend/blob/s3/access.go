package s3

import sdk "github.com/aws/aws-sdk-go-v2/service/s3"

// Access is what a library needs that talks to the bucket itself.
type Access struct {
	Client   *sdk.Client
	Slow     func(*sdk.Options) // for requests that a server may take minutes to answer
	Bucket   string
	Prefix   string // of all keys; empty, or ends with a slash
	PartSize int64  // the minimum, except for the last part
	MaxParts int64
}

// Access returns the access that this Store has.
func (s *Store) Access() Access {
	r := s.raw
	return Access{Client: r.client, Slow: r.slow, Bucket: r.bucket, Prefix: r.prefix, PartSize: r.partSize, MaxParts: maxParts}
}
