package blob

import (
	"context"
	"time"
)

// Capabilities is what a back end can do beyond the contract. The zero value is a store that can
// only be reached through this process, on other machines, with no known limit of space.
type Capabilities struct {
	// Presign signs URLs with which clients read and write objects without passing through this
	// process. Nil: the back end cannot.
	Presign Presigner

	// Free returns how many bytes can still be stored. Nil: space is not a concern of this machine.
	Free func() (uint64, error)

	// Local reports that the objects lie on this machine: fetching one copies no bytes.
	Local bool
}

// Presigner signs URLs that give access to one object for a limited time.
type Presigner interface {
	// PresignPut returns a URL that accepts one PUT of key with exactly this content type until
	// ttl has passed.
	PresignPut(ctx context.Context, key, contentType string, ttl time.Duration) (string, error)

	// PresignGet returns a URL that answers GET, but not HEAD, of key until ttl has passed. Ranges
	// work. The answer has disposition as its Content-Disposition, unless that is empty. It does
	// not check that the object exists.
	PresignGet(ctx context.Context, key string, ttl time.Duration, disposition string) (string, error)

	// Origin returns the scheme and host of all these URLs, such as https://files.example.com.
	Origin(ctx context.Context) (string, error)
}
