package e2e

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestProbes(t *testing.T) {
	oneBackend(t, "every server is waited for with the same probe there")
	t.Parallel()
	s := shared(t)
	for path, want := range map[string]string{"/healthz": `{"status":"ok"}`, "/readyz": `"sandbox":"landlock=`} {
		r := s.get(s.url + path)
		if r.status != http.StatusOK || !strings.Contains(string(r.body), want) || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s answers %d %s", path, r.status, r.body)
		}
		if head := s.send("HEAD", s.url+path, nil); head.status != http.StatusOK {
			t.Errorf("HEAD %s answers %d", path, head.status)
		}
	}
}

// TestMetricsAfterOneVideo wants numbers that add up.
func TestMetricsAfterOneVideo(t *testing.T) {
	usuallyOneBackend(t, "those of the queue are in queuetest, and all others are counted above the back ends")
	t.Parallel()
	s := start(t)
	source := clip(t, miniClip)
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true, Thumbnails: []float64{0}})
	s.put(u, source)
	s.complete(u.ID)
	film := s.get(s.waitReady(u).Resolutions["144p"].VideoURL)
	bad := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	s.tryComplete(bad.ID).problem(t, http.StatusUnprocessableEntity, "upload_missing")
	s.get(s.url+"/nothing").problem(t, http.StatusNotFound, "not_found")
	for _, kind := range []string{"inspect", "encode", "audio", "thumbnails", "assemble"} {
		s.wantRuns(kind, 1)
	}
	info, err := os.Stat(source)
	if err != nil {
		t.Fatal(err)
	}

	got := s.metrics()
	want := map[string]float64{
		`spool_videos_finished_total{code="",status="ready"}`:                                           1,
		`spool_videos_finished_total{code="upload_missing",status="fail"}`:                              1,
		`spool_uploaded_bytes_total`:                                                                    float64(info.Size()),
		`spool_http_requests_in_flight`:                                                                 1, // this one
		`spool_http_requests_total{method="POST",route="/api/video",status="201"}`:                      2,
		`spool_http_requests_total{method="POST",route="/api/video/{id}/complete-upload",status="201"}`: 1,
		`spool_http_requests_total{method="POST",route="/api/video/{id}/complete-upload",status="422"}`: 1,
		`spool_http_requests_total{method="GET",route="unmatched",status="404"}`:                        1,
		`spool_http_request_duration_seconds_count{method="POST",route="/api/video"}`:                   2,
		`spool_encode_speed_ratio_count`:                                                                1,
		`spool_queue_oldest_task_age_seconds{kind="encode"}`:                                            0,
		`spool_queue_tasks{kind="encode",state="waiting"}`:                                              0,
		`spool_queue_tasks{kind="encode",state="running"}`:                                              0,
	}
	maps.Copy(want, byteMetrics(len(film.body)))
	for name, n := range want {
		if value, shown := got[name]; !shown || value != n {
			t.Errorf("%s is %v (shown: %v), want %v", name, value, shown, n)
		}
	}
	for name, n := range got {
		if n > 0 && (strings.HasPrefix(name, "spool_task_retries_total") || strings.Contains(name, `outcome="failed"`)) {
			t.Errorf("%s tells of trouble where there was none", name)
		}
		if strings.Contains(name, u.ID) {
			t.Errorf("%s has a label for one video: there would be endless series", name)
		}
	}
	comparesWithDocs(t, got)
	s.wantSystem()
}

// wantSystem wants a server that has made one video to tell of its worker, its queue and its disk.
func (s *server) wantSystem() {
	s.t.Helper()
	var system struct {
		Version string
		Workers []struct {
			Host, Version, Sandbox string
			Cores, Slots, Done     int
			SilentSeconds          float64
		}
		Queue []struct{ Kind string }
		Disk  struct{ FreeBytes, SizeBytes int64 }
	}
	answer := s.call("GET", "/api/system", nil)
	if err := json.Unmarshal(answer.body, &system); err != nil || answer.status != http.StatusOK {
		s.t.Fatalf("GET /api/system: %d %s %v", answer.status, answer.body, err)
	}
	if len(system.Workers) != 1 || len(system.Queue) < 10 || system.Disk.FreeBytes <= 0 || system.Disk.FreeBytes > system.Disk.SizeBytes {
		s.t.Fatalf("the system is %s", answer.body)
	}
	w := system.Workers[0]
	if w.Host == "" || w.Version == "" || w.Version != system.Version || w.Sandbox == "" || w.Cores < 1 || w.Slots < 1 || w.SilentSeconds > 60 {
		s.t.Errorf("the worker is %+v", w)
	}
}

// comparesWithDocs wants docs/monitoring.md to explain every metric of ours that is shown, and no other.
func comparesWithDocs(t *testing.T, shown map[string]float64) {
	t.Helper()
	text, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(spool_[a-z_]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		documented[m[1]] = false
	}
	for series := range shown {
		name, _, _ := strings.Cut(series, "{")
		if !strings.HasPrefix(name, "spool_") {
			continue
		}
		for _, part := range []string{"_bucket", "_sum", "_count"} { // of a histogram
			if whole, ok := strings.CutSuffix(name, part); ok {
				if _, known := documented[whole]; known {
					name = whole
				}
			}
		}
		if _, known := documented[name]; !known {
			t.Errorf("docs/monitoring.md does not explain %s", name)
		}
		documented[name] = true
	}
	for name, there := range documented {
		if !there {
			t.Errorf("docs/monitoring.md explains %s, which is not shown", name)
		}
	}
}

// byteMetrics is what a server shows that has received one upload and played one
// video of this size. On a fleet the bytes of both go past it.
func byteMetrics(size int) map[string]float64 {
	if onFleet() {
		return map[string]float64{
			`spool_http_requests_total{method="GET",route="/v/{id}/{file}",status="302"}`: 1,
		}
	}
	return map[string]float64{
		`spool_http_requests_total{method="PUT",route="/upload/{token}/{id}",status="200"}`: 1,
		`spool_http_requests_total{method="GET",route="/v/{id}/{file}",status="200"}`:       1,
		`spool_served_bytes_total{kind="film"}`:                                             float64(size),
	}
}

// TestNothingSecretIsLogged uses every secret there is, rightly and wrongly, and
// then searches the log for them, on its most talkative level.
func TestNothingSecretIsLogged(t *testing.T) {
	t.Parallel()
	s := start(t)
	const name, metadata = "name-of-a-customer.mp4", "metadata-of-a-customer"
	u := s.submit(newVideo{
		Filename: name, Resolutions: []string{"144p"}, Thumbnails: []float64{0}, CustomMetadata: []byte(`{"a":"` + metadata + `"}`),
	}, clip(t, miniClip))
	url := s.waitReady(u).Resolutions["144p"].VideoURL
	parts := takeApart(t, url)
	k := s.newKey()

	s.get(url)
	s.get(url+"?token="+parts.token, header{"Referer", url})
	s.get(strings.Replace(url, "144p", "240p", 1))
	s.get(s.url + "/v/" + parts.token + "/x/y/z")
	s.get(s.url + "/nothing/" + parts.token)
	s.send("POST", u.UploadURL, strings.NewReader("x"))
	s.send("PUT", u.UploadURL, strings.NewReader("x"), header{"Content-Type", u.ContentType})
	s.callAs(k.Secret, "GET", "/api/video/"+nobody+"/public", nil)
	s.callAs("wrong-"+k.Secret, "GET", "/api/video/"+nobody+"/public", nil)
	s.call("GET", "/api/"+parts.token, nil, header{"X-Request-Id", "find-me"})
	s.stop()

	log := s.log.String()
	if !strings.Contains(log, "find-me") {
		t.Fatalf("the log does not even show the request's id")
	}
	secrets := map[string]string{
		"the API key": apiKey, "a key of the CLI": k.Secret,
		"the signature of a playback address": parts.token[strings.LastIndex(parts.token, ".")+1:],
		"the token of a playback, as a whole": parts.token,
		"the name of a file":                  name,
		"metadata":                            metadata,
	}
	maps.Copy(secrets, s.secretsOf(u))
	for name, secret := range secrets {
		if strings.Contains(log, secret) {
			t.Errorf("the log shows %s", name)
		}
	}
}

// secretsOf names what is secret about an upload address.
func (s *server) secretsOf(u upload) map[string]string {
	s.t.Helper()
	if onFleet() {
		return map[string]string{
			"the signature of an upload address": query(s.t, u.UploadURL).Get("X-Amz-Signature"),
			"the secret key of the bucket":       s.bucket.secret,
			"a signature of the bucket's":        "X-Amz-Signature",
			"the address of the database":        s.env["SPOOL_DATABASE_URL"],
		}
	}
	token := strings.Split(u.UploadURL, "/")[4]
	return map[string]string{
		"the signature of an upload address": token[strings.LastIndex(token, ".")+1:],
		"the token of an upload, as a whole": token,
	}
}
