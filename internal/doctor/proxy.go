package doctor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/web/health"
)

const (
	// largeBody is sent, if somebody wants it, of a file as large as may be uploaded.
	largeBody = 64 << 20
	proxySkew = 5 * time.Second
	// beatGap is what must lie between two events that are sent health.EventPause apart.
	beatGap = health.EventPause / 3
)

// checkBaseURL asks the service through whatever stands in front of it.
func (d *doctor) checkBaseURL(ctx context.Context) {
	if d.BaseURL == "" {
		d.ok("not set: URLs begin as each request does; behind a proxy, set it")
		return
	}
	base := strings.TrimSuffix(d.BaseURL, "/")
	answer, err := d.askReadiness(ctx, base+"/healthz")
	if err == nil && answer.Status != "ok" {
		err = errors.New("another program answers")
	}
	if err != nil {
		d.fail("let the name lead to the proxy, and the proxy to the service; start the service first", "%s does not lead to Spool: %v", base, withoutURL(err))
		return
	}
	d.ok("%s leads to a service", base)
	if skew := d.now().Sub(answer.Date); !answer.Date.IsZero() && skew.Abs() > proxySkew {
		d.warn("let both machines set their clocks by NTP", "the clock of this machine and the one behind %s differ by %s", base, skew.Abs().Round(time.Second))
	}
	d.checkBodies(ctx, base)
	d.checkEvents(ctx, base)
}

// errEnough ends a body when a server reads on instead of refusing it.
var errEnough = errors.New("enough was sent")

// zeros is the beginning of a large file of zeros.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left <= 0 {
		return 0, errEnough
	}
	n := min(int64(len(p)), z.left)
	clear(p[:n])
	z.left -= n
	return int(n), nil
}

// checkBodies asks to upload the largest file that is allowed, to a URL that is not signed. The service refuses
// it with its own words before anything is sent. A proxy that limits bodies refuses it with others, or cuts the
// connection; one that stores bodies before it passes them on wants all of it first.
func (d *doctor) checkBodies(ctx context.Context, base string) {
	const fix = "let the proxy pass on bodies of any size (nginx: client_max_body_size 0) and without storing them first (proxy_request_buffering off)"
	size := max(int64(d.MaxUploadBytes), largeBody)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, base+"/upload/1.doctor.doctor/00000000-0000-7000-8000-000000000000", &zeros{largeBody})
	if err != nil {
		d.fail(fix, "%v", err)
		return
	}
	req.ContentLength = size
	req.Header.Set("Expect", "100-continue")
	req.Header.Set("Content-Type", "video/mp4")
	res, err := d.http.Do(req)
	if errors.Is(err, errEnough) {
		d.warn(fix, "a proxy at %s takes whole uploads before the service sees them: each is stored twice, and errors come late", base)
		return
	}
	if err != nil {
		d.fail(fix, "an upload of %d MiB through %s breaks off: %v", size>>20, base, withoutURL(err))
		return
	}
	defer res.Body.Close()
	var answer readyAnswer
	_ = json.NewDecoder(io.LimitReader(res.Body, 1<<16)).Decode(&answer) // a proxy's answer is no JSON
	if answer.Code == "" {
		d.fail(fix, "a proxy refuses an upload of %d MiB through %s with %s", size>>20, base, res.Status)
		return
	}
	d.ok("uploads of %d MiB pass through %s", size>>20, base)
}

// checkEvents asks for two events that are sent one after the other, and looks at when they arrive.
func (d *doctor) checkEvents(ctx context.Context, base string) {
	const fix = "let the proxy pass on answers as they come (nginx: proxy_buffering off; no compression of text/event-stream)"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+health.EventsPath, nil)
	if err != nil {
		d.fail(fix, "%v", err)
		return
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := d.http.Do(req)
	if err != nil {
		d.warn(fix, "a stream of events through %s breaks off: %v", base, withoutURL(err))
		return
	}
	defer res.Body.Close()
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		d.warn("look at "+base+health.EventsPath+", and upgrade the service if it is older than this program", "%s answers a request for events with %s", base, res.Status)
		return
	}
	arrived := arrivals(res.Body)
	switch {
	case len(arrived) < 2:
		d.warn("give streams at least 5 minutes (nginx: proxy_read_timeout 5m)", "%s ends a stream of events early", base)
	case arrived[1].Sub(arrived[0]) < beatGap:
		d.warn(fix, "%s holds events back and sends them together: progress is not seen when it happens", base)
	default:
		d.ok("events pass through %s when they happen", base)
	}
}

// arrivals returns when the events of a stream came.
func arrivals(stream io.Reader) []time.Time {
	var all []time.Time
	lines := bufio.NewScanner(io.LimitReader(stream, 1<<16))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			all = append(all, time.Now())
		}
	}
	return all
}
