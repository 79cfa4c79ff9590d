package uploads

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/spool-video/spool/internal/video"
)

const (
	// minSpeed is how many bytes a second a PUT must bring, on average over each speedPeriod. A
	// slow mobile network brings twice as much. Clients that are slower upload resumably.
	minSpeed    = 8 << 10
	speedPeriod = 2 * time.Minute
)

// putBody is the body of a PUT. It fails as soon as it is longer than a limit, too slow, past its
// end, or stopped. It tells errors of the client's connection from errors of the storage.
type putBody struct {
	r     io.Reader
	limit int64
	usage video.Usage // of the tenant, without this file
	now   func() time.Time
	end   time.Time   // when the upload is given up
	valid func() bool // whether this request still has the lease

	stopped atomic.Bool
	read    int64

	// Of the current period. Only the time that the client lets the server wait counts.
	waited  time.Duration
	arrived int64
}

func (b *putBody) Read(p []byte) (int, error) {
	if b.stopped.Load() {
		return 0, replaced()
	}
	began := b.now()
	n, err := b.r.Read(p)
	now := b.now()
	b.read += int64(n)
	b.arrived += int64(n)
	b.waited += now.Sub(began)
	switch {
	case b.read > b.limit:
		return 0, &video.Error{Kind: video.TooLarge, Code: "file_too_large",
			Msg: fmt.Sprintf("The file is larger than %d bytes, the most that this server accepts.", b.limit)}
	case b.usage.CheckFile(b.read) != nil:
		return 0, b.usage.CheckFile(b.read)
	case err == io.EOF && b.valid():
		return n, io.EOF
	case err == io.EOF || b.stopped.Load():
		return 0, replaced()
	case err != nil:
		return n, &video.Error{Kind: video.Invalid, Code: "upload_interrupted",
			Msg: "The upload broke off; nothing was stored. Send the whole file again.", Err: err}
	case now.After(b.end):
		return 0, &video.Error{Kind: video.Forbidden, Code: "url_expired",
			Msg: "The upload URL expired long before the upload ended. Nothing was stored; create a new video, and upload slow or large files resumably."}
	}
	return n, b.checkSpeed()
}

// checkSpeed returns an error at the end of a period that brought too little.
func (b *putBody) checkSpeed() error {
	if b.waited < speedPeriod {
		return nil
	}
	if float64(b.arrived) < minSpeed*b.waited.Seconds() {
		return &video.Error{Kind: video.Invalid, Code: "upload_stalled",
			Msg: fmt.Sprintf("The upload was slower than %d KiB/s for %.0f minutes. Nothing was stored; upload slow files resumably.", minSpeed>>10, speedPeriod.Minutes())}
	}
	b.waited, b.arrived = 0, 0
	return nil
}

func replaced() error {
	return &video.Error{Kind: video.Conflict, Code: "upload_replaced",
		Msg: "A later upload of this video has begun. Nothing of this one was stored."}
}
