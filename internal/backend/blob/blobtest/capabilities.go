package blobtest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
)

// capabilityCases check a capability where the store has it.
var capabilityCases = []testCase{
	{"signed URLs lead to the origin", presignOrigin},
	{"signed URLs are not given for bad keys", presignBadKeys},
	{"a store that knows its free space has some", freeSpace},
}

func presigner(t *testing.T, s blob.Store) blob.Presigner {
	t.Helper()
	p := s.Capabilities().Presign
	if p == nil {
		t.Skip("this store signs no URLs")
	}
	return p
}

func presignOrigin(t *testing.T, s blob.Store) {
	p := presigner(t, s)
	origin, err := p.Origin(t.Context())
	if err != nil || origin == "" || strings.HasSuffix(origin, "/") {
		t.Fatalf("Origin = %q, %v; want scheme and host", origin, err)
	}
	get, errGet := p.PresignGet(t.Context(), "a/b.mp4", time.Minute, "")
	put, errPut := p.PresignPut(t.Context(), "a/b.mp4", "video/mp4", time.Minute)
	if err := errors.Join(errGet, errPut); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{get, put} {
		if !strings.HasPrefix(url, origin+"/") {
			t.Errorf("a signed URL begins %.60s; want %s/", url, origin)
		}
	}
}

func presignBadKeys(t *testing.T, s blob.Store) {
	p := presigner(t, s)
	for _, key := range badKeys {
		if _, err := p.PresignGet(t.Context(), key, time.Minute, ""); !errors.Is(err, blob.ErrBadKey) {
			t.Errorf("PresignGet(%.20q) = %v; want ErrBadKey", key, err)
		}
		if _, err := p.PresignPut(t.Context(), key, "video/mp4", time.Minute); !errors.Is(err, blob.ErrBadKey) {
			t.Errorf("PresignPut(%.20q) = %v; want ErrBadKey", key, err)
		}
	}
}

func freeSpace(t *testing.T, s blob.Store) {
	measure := s.Capabilities().Free
	if measure == nil {
		t.Skip("this store does not know")
	}
	if free, err := measure(); err != nil || free == 0 {
		t.Errorf("Free = %d, %v; want some", free, err)
	}
}
