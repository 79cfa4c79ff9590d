package s3

import sdk "github.com/aws/aws-sdk-go-v2/service/s3"

// Access is what a library needs that speaks to the bucket itself.
type Access struct {
	Client   *sdk.Client
	Patient  func(*sdk.Options) // for requests that a server may take minutes to answer
	Bucket   string
	Prefix   string // of all keys; empty, or ends with a slash
	PartSize int64  // the least, of all parts but the last
	MaxParts int64
}

// Access returns how to get to the bucket as this Store does.
func (s *Store) Access() Access {
	r := s.raw
	return Access{Client: r.client, Patient: r.slow, Bucket: r.bucket, Prefix: r.prefix, PartSize: r.partSize, MaxParts: maxParts}
}
