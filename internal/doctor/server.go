package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

func (d *doctor) checkServer(ctx context.Context) {
	answer, err := d.askReadiness(ctx, d.Address+"/readyz")
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		d.ok("no service runs on %s; it can be started", d.Address)
	case err != nil:
		d.warn("look at the log of the service, or choose another listen", "%s does not answer as Spool does: %v", d.Address, err)
	case answer.Status != "ready":
		d.fail("look at the log of the service", "the service on %s is not ready: %s", d.Address, answer.Detail)
	default:
		d.ok("the service on %s is ready", d.Address)
	}
}

// readyAnswer is what /readyz and /healthz answer.
type readyAnswer struct {
	Status string
	Code   string
	Detail string
	Date   time.Time // of the answer, by the server's clock
}

func (r *readyAnswer) UnmarshalJSON(text []byte) error {
	var in struct {
		Status any // a word, or in an error the number
		Code   string
		Detail string
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	word, _ := in.Status.(string)
	r.Status, r.Code, r.Detail = word, in.Code, in.Detail
	return nil
}

// askReadiness reads a probe.
func (d *doctor) askReadiness(ctx context.Context, address string) (readyAnswer, error) {
	var answer readyAnswer
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer, err
	}
	res, err := d.http.Do(req)
	if err != nil {
		return answer, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<16)).Decode(&answer); err != nil {
		return answer, errors.New("its answer is " + res.Status)
	}
	answer.Date, _ = http.ParseTime(res.Header.Get("Date")) // not everybody sends one
	return answer, nil
}

// withoutURL returns what an error of http.Client says beside the URL.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
