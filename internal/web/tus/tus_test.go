package tus_test

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/video"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	onBoth(t, checkRefusals)
}

func checkRefusals(t *testing.T, b *bench) {
	whole := content(3000)
	begun, fresh := b.begin(whole), b.create(whole)
	begun.patch(0, 1000)
	swapped, forged, other := *begun, *begun, *begun
	swapped.address = strings.Replace(begun.address, string(begun.id), string(fresh.id), 1)
	forged.address = strings.Replace(begun.address, "/upload/tus/1", "/upload/tus/2", 1)
	other.address = strings.Replace(begun.address, string(begun.id), "no-id", 1)
	length := func(n int) []string { return []string{"Upload-Length", strconv.Itoa(n)} }

	tests := []struct {
		name    string
		at      *upload
		method  string
		headers []string
		body    []byte
		status  int
		code    string
	}{
		{"the address of another video", &swapped, "POST", length(1000), nil, http.StatusForbidden, "url_invalid"},
		{"another expiry", &forged, "PATCH", patchHeaders(1000), whole[1000:], http.StatusForbidden, "url_invalid"},
		{"a malformed ID", &other, "DELETE", nil, nil, http.StatusForbidden, "url_invalid"},
		{"PATCH before POST", fresh, "PATCH", patchHeaders(0), whole, http.StatusNotFound, "upload_not_found"},
		{"a file over the limit", fresh, "POST", length(limit + 1), nil, http.StatusRequestEntityTooLarge, "file_too_large"},
		{"a negative length", fresh, "POST", length(-1), nil, http.StatusBadRequest, "invalid_request"},
		{"no length", fresh, "POST", nil, nil, http.StatusBadRequest, "invalid_request"},
		{"a part of a concatenation", fresh, "POST", append(length(10), "Upload-Concat", "partial"), nil, http.StatusBadRequest, "concatenation_unsupported"},
		{"another version of tus", begun, "PATCH", append(patchHeaders(1000), "Tus-Resumable", "0.2.2"), whole[1000:], http.StatusPreconditionFailed, "tus_version_unsupported"},
		{"another content type", begun, "PATCH", append(patchHeaders(1000), "Content-Type", "video/mp4"), whole[1000:], http.StatusUnsupportedMediaType, "unsupported_media_type"},
		{"an offset beyond the end", begun, "PATCH", patchHeaders(1001), whole[1001:], http.StatusConflict, "offset_mismatch"},
		{"an offset before the end", begun, "PATCH", patchHeaders(0), whole, http.StatusConflict, "offset_mismatch"},
		{"no offset", begun, "PATCH", append(patchHeaders(0), "Upload-Offset", ""), whole, http.StatusBadRequest, "invalid_request"},
		{"more than was announced", begun, "PATCH", patchHeaders(1000), whole, http.StatusRequestEntityTooLarge, "file_too_large"},
		{"a length that is known already", begun, "PATCH", append(patchHeaders(1000), length(1500)...), whole[1000:1500], http.StatusBadRequest, "invalid_request"},
		{"an unsupported method override", begun, "POST", []string{"X-HTTP-Method-Override", "GET"}, nil, http.StatusBadRequest, "invalid_request"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.at.send(tt.method, bytes.NewReader(tt.body), tt.headers...).wantProblem(t, tt.status, tt.code)
		})
	}
	begun.wantOffset(1000)
	fresh.wantGone()
	begun.patch(1000, len(whole))
	begun.wantWhole()
}

// A tenant that may store 1000 bytes is refused more of them, wherever it says so.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bench) {
		limit := video.Limits{Bytes: 1000}
		_, err := b.Tenants.SetLimits(t.Context(), b.by.Tenant, func(l *video.Limits) { *l = limit })
		b.must(err)
		whole := content(1001)
		refuse := func(a reply) { t.Helper(); a.wantProblem(t, http.StatusForbidden, "quota_exceeded") }
		refuse(b.create(whole).send("POST", nil, "Upload-Length", "1001"))
		unknown := b.create(whole)
		if a := unknown.send("POST", nil, "Upload-Defer-Length", "1"); a.status != http.StatusCreated {
			t.Fatalf("POST without a length answers %d %s; want 201", a.status, a.body)
		}
		refuse(unknown.send("PATCH", bytes.NewReader(whole), patchHeaders(0)...))
		unknown.patch(0, 900)
		refuse(unknown.send("PATCH", nil, append(patchHeaders(900), "Upload-Length", "1001")...))
		refuse(unknown.send("PATCH", bytes.NewReader(whole[900:]), patchHeaders(900)...))
		if a := unknown.send("HEAD", nil); a.Get("Upload-Offset") != "900" {
			t.Errorf("after refusals the offset is %q; want 900", a.Get("Upload-Offset"))
		}

		late := b.create(whole)
		b.begin(content(1000)).patch(0, 1000)
		refuse(late.send("POST", nil, "Upload-Length", "1"))
	})
}

func TestAnUploadIsClosedWhenItsVideoIsCompleteOrDeleted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bench) {
		kept, gone := b.begin(content(3000)), b.begin(content(3000))
		gone.patch(0, 1000)
		b.must(b.DeleteVideo(t.Context(), b.by, gone.id))
		if left := gone.stored(); len(left) > 0 {
			t.Errorf("after its deletion the video has %q", left)
		}
		kept.patch(0, 3000)
		kept.patch(3000, 3000) // as if the first response was lost
		kept.wantWhole()
		for _, method := range []string{"POST", "PATCH", "DELETE"} {
			headers := append(patchHeaders(1000), "Upload-Length", "3000")
			kept.send(method, nil, headers...).wantProblem(t, http.StatusConflict, "upload_closed")
			gone.send(method, nil, headers...).wantProblem(t, http.StatusNotFound, "video_not_found")
		}
	})
}

// An upload can be restarted by its client, and after its file was rejected.
func TestAnUploadCanBeRestarted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bench) {
		u := b.begin(make([]byte, 5000))
		u.patch(0, 4000)
		u.post()
		u.wantOffset(0)
		if a := u.send("DELETE", nil); a.status != http.StatusNoContent {
			t.Errorf("DELETE answers %d %s; want 204", a.status, a.body)
		}
		u.wantGone()
		if left := u.stored(); len(left) > 0 || b.parts() != 0 {
			t.Errorf("of a discarded upload, %q and %d multipart uploads are left", left, b.parts())
		}
		u.post()
		u.patch(0, 5000)
		if _, err := b.Uploads.Complete(t.Context(), b.by, u.id); video.KindOf(err) != video.Unprocessable {
			t.Errorf("completing a file that is not a video: %v", err)
		}
		u.wantGone() // otherwise a client would believe that the next file is already sent
		u.whole = content(6000)
		u.post()
		u.patch(0, 6000)
		u.wantWhole()
	})
}

func TestAResumableUploadMayBeLargerThanAPUT(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bench) {
		for _, size := range []int{1, 2000, 2001, 11 * mib} {
			u := b.begin(content(max(size, 100))[:size])
			u.patch(0, size)
			u.wantOffset(size)
			if size > 100 {
				u.wantWhole()
			}
		}
		u := b.create(nil) // the same size, with PUT
		_, err := b.blobs.Put(t.Context(), "upload/"+string(u.id)+"/file", bytes.NewReader(content(2001)))
		b.must(err)
		u.wantGone()
		if _, err := b.Uploads.Complete(t.Context(), b.by, u.id); video.KindOf(err) != video.TooLarge {
			t.Errorf("completing a PUT that is too large: %v", err)
		}
	})
}

func TestAnEmptyUploadIsAnEmptyFile(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bench) {
		u := b.begin(nil)
		u.wantOffset(0)
		_, err := b.Uploads.Complete(t.Context(), b.by, u.id)
		if err == nil || !strings.Contains(err.Error(), "upload_empty") {
			t.Errorf("completing an empty upload: %v; want upload_empty", err)
		}
	})
}

// The first bytes may be sent with POST, the length with the last PATCH, and PATCH
// may be a POST with X-HTTP-Method-Override.
func TestTheLengthMayBeDeclaredWithTheLastPatch(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bench) {
		u := b.create(content(9 * mib))
		first := append(patchHeaders(0), "Upload-Defer-Length", "1")
		if a := u.send("POST", bytes.NewReader(u.whole[:7*mib]), first...); a.status != http.StatusCreated || a.Get("Upload-Offset") != strconv.Itoa(7*mib) {
			t.Fatalf("POST with the first bytes answers %d %v %s; want 201 and the offset", a.status, a.Header, a.body)
		}
		if a := u.send("HEAD", nil); a.Get("Upload-Defer-Length") != "1" || a.Get("Upload-Offset") != strconv.Itoa(7*mib) {
			t.Errorf("HEAD answers %d %v", a.status, a.Header)
		}
		if _, err := b.Uploads.Complete(t.Context(), b.by, u.id); err == nil || !strings.Contains(err.Error(), "upload_missing") || !strings.Contains(err.Error(), "not finished") {
			t.Errorf("completing half an upload: %v; want upload_missing, because it is not finished", err)
		}
		long := append(patchHeaders(7*mib), "Upload-Length", strconv.Itoa(limit+1))
		u.send("PATCH", bytes.NewReader(u.whole[7*mib:]), long...).wantProblem(t, http.StatusRequestEntityTooLarge, "file_too_large")
		last := append(patchHeaders(7*mib), "Upload-Length", strconv.Itoa(len(u.whole)), "X-HTTP-Method-Override", "PATCH")
		if a := u.send("POST", bytes.NewReader(u.whole[7*mib:]), last...); a.status != http.StatusNoContent {
			t.Fatalf("the last PATCH is answered %d %s; want 204", a.status, a.body)
		}
		u.wantWhole()
	})
}

// A later request ends an earlier one, whose connection may be dead and which would
// lock its client out.
func TestALaterRequestEndsAnEarlierOne(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bench) {
		u := b.begin(content(3 * mib))
		body, connection := io.Pipe()
		defer connection.Close()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer body.Close()
			// The server may disconnect before the client has read the response.
			if a, err := u.trySend("PATCH", body, append(patchHeaders(0), "Expect", "100-continue")...); err == nil {
				a.wantProblem(t, http.StatusConflict, "upload_interrupted")
			}
		}()
		_, err := connection.Write(u.whole[:mib]) // the client reads it when the server does
		b.must(err)
		asked := time.Now()
		at, err := strconv.Atoi(u.send("HEAD", nil).Get("Upload-Offset"))
		if took := time.Since(asked); err != nil || at > mib || took >= idleTimeout {
			t.Fatalf("the offset is %d (%v), after %s; want up to %d, before the first request has timed out", at, err, took, mib)
		}
		<-ended
		u.patch(at, len(u.whole))
		u.wantWhole()
	})
}

// A disk may fill up during a request, because others write to it as well. What was
// stored by then stays.
func TestADiskThatFillsUp(t *testing.T) {
	t.Parallel()
	b := onDisk(t)
	u := b.begin(content(5 * mib))
	checks := 0
	b.left = func() uint64 {
		if checks++; checks > 3 {
			return 0
		}
		return limit
	}
	// The server may disconnect before the client has sent everything.
	if a, err := u.trySend("PATCH", bytes.NewReader(u.whole), patchHeaders(0)...); err == nil {
		a.wantProblem(t, http.StatusInsufficientStorage, "insufficient_storage")
	}
	b.left = nil
	at, err := strconv.Atoi(u.send("HEAD", nil).Get("Upload-Offset"))
	if err != nil || at < mib || at > 3*mib {
		t.Fatalf("the offset is %d (%v); want what was stored before the disk was full", at, err)
	}
	u.patch(at, len(u.whole))
	u.wantWhole()
}

func TestPagesOfOtherOriginsMayUpload(t *testing.T) {
	t.Parallel()
	u := onDisk(t).begin(make([]byte, 10))
	a := u.send("OPTIONS", nil, "Origin", "https://app.example", "Access-Control-Request-Method", "PATCH")
	want := map[string]string{
		"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "PATCH", "Access-Control-Allow-Headers": "Upload-Offset",
		"Tus-Version": "1.0.0", "Tus-Extension": "creation", "Tus-Max-Size": strconv.Itoa(limit),
	}
	for name, part := range want {
		if !strings.Contains(a.Get(name), part) {
			t.Errorf("OPTIONS answers with %s: %q; want %q in it", name, a.Get(name), part)
		}
	}
	for _, a := range []reply{u.send("HEAD", nil), u.send("PATCH", nil)} {
		if a.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.Get("Access-Control-Expose-Headers"), "Upload-Offset") {
			t.Errorf("a page may not read the answer %d %v", a.status, a.Header)
		}
	}
}
