package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"
)

// order is one video on its way, as its customer knows it.
type order struct {
	sourceVideo
	fleet *fleet
	file  []byte
	key   string // of the request that creates the video

	upload struct {
		ID          string `json:"id"`
		UploadURL   string `json:"uploadUrl"`
		ContentType string `json:"contentType"`
	}
	seen   map[string]string // the last status of each resolution
	status string            // and of the video
}

// watch is the answer to a read.
type watch struct {
	ID          string                `json:"id"`
	Status      string                `json:"status"`
	Resolutions map[string]resolution `json:"resolutions"`
	Failure     *failure              `json:"failure"`
	Progress    float64               `json:"progress"`
}

type resolution struct {
	Status   string   `json:"status"`
	VideoURL string   `json:"videoUrl"`
	Failure  *failure `json:"failure"`
}

type failure struct{ Code, Message string }

// newOrder returns an order that has not been sent.
func (f *fleet) newOrder(film sourceVideo) *order {
	f.t.Helper()
	content, err := os.ReadFile(film.file(f.t))
	if err != nil {
		f.t.Fatal(err)
	}
	return &order{sourceVideo: film, fleet: f, file: content, key: rand.Text(), seen: map[string]string{}}
}

// again returns an order of the same video that has not been sent.
func (o *order) again() *order {
	return &order{sourceVideo: o.sourceVideo, fleet: o.fleet, file: o.file, key: rand.Text(), seen: map[string]string{}}
}

// submit brings a video until the fleet has accepted it. A request without an
// answer, and one that is answered with "not now", is sent again; any other
// answer than success is an error.
func (o *order) submit(ctx context.Context) error {
	if err := o.create(ctx); err != nil {
		return err
	}
	if err := o.put(ctx); err != nil {
		return err
	}
	r, err := o.insist(ctx, http.MethodPost, "/api/video/"+o.upload.ID+"/complete-upload", nil)
	if err != nil {
		return fmt.Errorf("complete %s: %w", o.upload.ID, err)
	}
	o.status = "processing"
	return r.decode(http.StatusCreated, &struct{}{})
}

// create asks for the video. Answers get lost on the way, and the request that is
// sent again must not make a second one.
func (o *order) create(ctx context.Context) error {
	r, err := o.insist(ctx, http.MethodPost, "/api/video", o.sourceVideo, header{"Idempotency-Key", o.key})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	return r.decode(http.StatusCreated, &o.upload)
}

// put uploads the file to the storage.
func (o *order) put(ctx context.Context) error {
	for {
		r, err := send(ctx, http.MethodPut, o.upload.UploadURL, o.file, map[string]string{"Content-Type": o.upload.ContentType})
		switch {
		case err == nil && r.status == http.StatusOK:
			return nil
		case err == nil && r.status == http.StatusConflict:
			// versitygw removes a folder with its last object, and says this to whoever is about to write into it.
		case err == nil && r.status < 500:
			return fmt.Errorf("upload of %s: the storage answers %d %.300s", o.upload.ID, r.status, r.body)
		}
		if err := rest(ctx); err != nil {
			return fmt.Errorf("upload of %s: %w", o.upload.ID, err)
		}
	}
}

// insist sends a request of the API until it is answered with more than "not
// now".
func (o *order) insist(ctx context.Context, method, path string, body any, more ...header) (reply, error) {
	for {
		r, err := o.fleet.call(ctx, method, path, body, more...)
		if err == nil && !r.passing() {
			return r, nil
		}
		if tired := rest(ctx); tired != nil {
			return reply{}, errors.Join(tired, err)
		}
	}
}

// rest waits before another try.
func rest(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(4 * pause):
		return nil
	}
}

// extend asks for one more resolution.
func (o *order) extend(ctx context.Context, name string) error {
	r, err := o.insist(ctx, http.MethodPost, "/api/video/"+o.upload.ID+"/resolutions", map[string]string{"resolution": name})
	if err == nil {
		err = r.decode(http.StatusCreated, &struct{}{})
	}
	if err != nil {
		return fmt.Errorf("add %s to %s: %w", name, o.upload.ID, err)
	}
	o.Resolutions = append(slices.Clone(o.Resolutions), name)
	return nil
}

// route is where the video is read.
func (o *order) route() string {
	if o.IsPublic {
		return "/api/video/" + o.upload.ID + "/public"
	}
	return o.signed(3600)
}

// signed is where a private video is read with addresses that live so long.
func (o *order) signed(seconds int) string {
	return fmt.Sprintf("/api/video/%s/private/%d", o.upload.ID, seconds)
}

// read reads the video and wants the answer to fit what was said before.
func (o *order) read(ctx context.Context) (watch, error) {
	var w watch
	r, err := o.insist(ctx, http.MethodGet, o.route(), nil)
	if err == nil {
		err = r.decode(http.StatusOK, &w)
	}
	if err == nil {
		err = o.judge(ctx, w)
	}
	if err != nil {
		return w, fmt.Errorf("read %s %s: %w", o.Filename, o.upload.ID, err)
	}
	return w, nil
}

// judge compares an answer with the ones before it. A good video never fails, no
// status goes back, and what is ready can be played at once.
func (o *order) judge(ctx context.Context, w watch) error {
	ready := 0
	for _, name := range o.Resolutions {
		r, before := w.Resolutions[name], o.seen[name]
		switch {
		case r.Status == "ready" && before != "ready":
			if _, err := o.play(ctx, r); err != nil {
				return fmt.Errorf("%s is said to be ready: %w", name, err)
			}
		case r.Status != "ready" && r.Status != "processing", before == "ready" && r.Status != "ready":
			return fmt.Errorf("%s was %q and is %q (%+v)", name, before, r.Status, r.Failure)
		}
		if o.seen[name] = r.Status; r.Status == "ready" {
			ready++
		}
	}
	done := ready == len(o.Resolutions)
	if want := map[bool]string{true: "ready", false: "processing"}[done]; w.Status != want {
		return fmt.Errorf("the video is %q (%+v) with %d of %d resolutions ready; it was %q", w.Status, w.Failure, ready, len(o.Resolutions), o.status)
	}
	o.status = w.Status
	return nil
}

// play returns the file of a resolution, which must be there.
func (o *order) play(ctx context.Context, r resolution) ([]byte, error) {
	address, err := url.Parse(r.VideoURL)
	if err != nil {
		return nil, err
	}
	for {
		// The address names the process that was asked; it may be gone by now.
		answer, err := o.fleet.call(ctx, http.MethodGet, address.RequestURI(), nil)
		switch {
		case err == nil && answer.status == http.StatusOK:
			return answer.body, nil
		case err == nil && answer.status < 500: // a storage that is away is no lie
			return nil, fmt.Errorf("its address answers %d %.300s", answer.status, answer.body)
		}
		if tired := rest(ctx); tired != nil {
			return nil, errors.Join(tired, err)
		}
	}
}

// await reads the video over and over until it is ready.
func (o *order) await(ctx context.Context) error {
	for {
		w, err := o.read(ctx)
		if err != nil || w.Status == "ready" {
			return err
		}
		if err := rest(ctx); err != nil {
			return fmt.Errorf("%s %s is stuck, %.0f %% done: %w", o.Filename, o.upload.ID, 100*w.Progress, err)
		}
	}
}

// remove deletes the video, and wants it to be gone for everybody.
func (o *order) remove(ctx context.Context) error {
	for tried := false; ; tried = true {
		r, err := o.fleet.call(ctx, http.MethodDelete, "/api/video/"+o.upload.ID, nil)
		if err == nil && (r.status == http.StatusOK || tried && r.status == http.StatusNotFound) {
			break
		}
		if err == nil && !r.passing() {
			return fmt.Errorf("delete %s: %d %.300s", o.upload.ID, r.status, r.body)
		}
		if tired := rest(ctx); tired != nil {
			return errors.Join(tired, err)
		}
	}
	for range o.fleet.apis {
		if r, err := o.insist(ctx, http.MethodGet, o.route(), nil); err != nil || r.status != http.StatusNotFound {
			return fmt.Errorf("read %s after its deletion: %d %.300s, %v", o.upload.ID, r.status, r.body, err)
		}
	}
	return nil
}

// orders are videos that are on their way at the same time.
type orders struct {
	all  []*order
	busy sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

// begin has each video brought and awaited by a customer of its own.
func (f *fleet) begin(ctx context.Context, films ...sourceVideo) *orders {
	f.t.Helper()
	os := new(orders)
	for _, film := range films {
		o := f.newOrder(film)
		os.all = append(os.all, o)
		os.busy.Go(func() {
			err := o.submit(ctx)
			if err == nil {
				err = o.await(ctx)
			}
			os.mu.Lock()
			defer os.mu.Unlock()
			os.errs = append(os.errs, err)
		})
	}
	return os
}

// wait returns when every customer has its video, or knows why not.
func (os *orders) wait() error {
	os.busy.Wait()
	return errors.Join(os.errs...)
}

// finish waits for the videos, and wants each to be whole and the fleet to be at
// rest afterwards.
func (f *fleet) finish(os *orders) {
	f.t.Helper()
	if err := os.wait(); err != nil {
		f.t.Fatal(err)
	}
	f.wantRest(os.all)
	f.wantWholeVideos(os.all)
}

// withTimeout gives a test the time that its videos may take.
func (f *fleet) withTimeout(limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(f.t.Context(), limit)
	f.t.Cleanup(cancel)
	return ctx
}
