package limit

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/spool-video/spool/internal/video"
)

// Principal is who a limit is kept for: the tenant of an API key, or the network of a client without one.
type Principal struct {
	Tenant video.Tenant
	Client netip.Prefix
}

// Patience is how long a request waits for its share before it is refused.
const Patience = 5 * time.Second

const (
	// tenantMemory is how many bytes the requests and answers of a tenant may take while they are received or
	// sent, and allTenantsMemory is the sum for all tenants.
	tenantMemory     = 16 << 20
	allTenantsMemory = 128 << 20
	// clientMemory and allClientsMemory are the same for clients without a key. What they get is the same
	// for everybody, so most of it is in a cache and takes less than is counted.
	clientMemory     = 8 << 20
	allClientsMemory = 48 << 20
	// maxWaitingPictures is how many pictures may wait to be made for one principal, and picturePatience for how long.
	maxWaitingPictures = 48
	picturePatience    = 15 * time.Second
	// clientFiles is how many files a client without a key may have open for playback while few are left.
	clientFiles = 128
)

// Limits are what one process shares out between its principals. Clients without a key have pools of their
// own, so that they cannot take anything from the API.
type Limits struct {
	work, clientWork *Shares[Principal]
	memory           *Shares[Principal]
	clientMemory     *Places[Principal]
	files            *Places[Principal]
	pictures         *Shares[Principal]
}

// New returns the limits of a process that may have this many files open for playback.
func New(files int64) *Limits {
	cores := int64(runtime.GOMAXPROCS(0))
	half := max(1, cores/2)
	return &Limits{
		work:         NewShares[Principal](half, semaphore.NewWeighted(4*cores)).resting(),
		clientWork:   NewShares[Principal](half, semaphore.NewWeighted(half)).resting(),
		memory:       NewShares[Principal](tenantMemory, semaphore.NewWeighted(allTenantsMemory)),
		clientMemory: NewPlaces[Principal](clientMemory, allClientsMemory),
		files:        NewPlaces[Principal](clientFiles, files),
		pictures:     NewShares[Principal](1, semaphore.NewWeighted(half)).waitingAtMost(maxWaitingPictures),
	}
}

// acquire waits for a part of a share, and turns what is missing into the answer for the client.
func acquire(ctx context.Context, take func(context.Context) (func(), error)) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	release, err = take(ctx)
	switch {
	case errors.Is(err, ErrShare):
		return nil, &video.Error{Kind: video.RateLimited, Code: "rate_limited", RetryAfter: Patience,
			Msg: "Too many of your costly requests are running, or you have not read their answers yet. Try again later."}
	case err != nil:
		return nil, &video.Error{Kind: video.Unavailable, Code: "overloaded", RetryAfter: Patience,
			Msg: "The server is busy. Try again later."}
	}
	return release, nil
}
