package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// address is a signed address taken apart: /v/{token}/{id}/{file}.
type address struct{ base, token, id, file string }

func takeApart(t testing.TB, url string) address {
	t.Helper()
	parts := strings.Split(url, "/")
	if len(parts) != 7 || parts[3] != "v" {
		t.Fatalf("%s is not /v/{token}/{id}/{file}", url)
	}
	return address{strings.Join(parts[:4], "/"), parts[4], parts[5], parts[6]}
}

func (a address) String() string { return strings.Join([]string{a.base, a.token, a.id, a.file}, "/") }

func TestChangedPrivateAddressesAreRefused(t *testing.T) {
	usuallyOneBackend(t, "the server checks them before it asks the bucket")
	t.Parallel()
	s := shared(t)
	ask := newVideo{Filename: "a.mp4", Resolutions: []string{"144p", "240p"}, Thumbnails: []float64{0}}
	u, other := s.submit(ask, clip(t, miniClip)), s.submit(ask, clip(t, miniClip))
	whole := takeApart(t, s.waitReady(u).Resolutions["144p"].VideoURL)
	s.waitReady(other)
	expiry, rest, _ := strings.Cut(whole.token, ".")
	keyID, signature, _ := strings.Cut(rest, ".")
	last := signature[len(signature)-2:]

	tests := map[string]address{
		"another file":              {whole.base, whole.token, whole.id, "240p.mp4"},
		"a thumbnail":               {whole.base, whole.token, whole.id, "144p-0.jpg"},
		"the poster":                {whole.base, whole.token, whole.id, "poster.jpg"},
		"another video":             {whole.base, whole.token, other.ID, whole.file},
		"a later end":               {whole.base, "9" + expiry[1:] + "." + rest, whole.id, whole.file},
		"a longer number":           {whole.base, expiry + "0." + rest, whole.id, whole.file},
		"another signature":         {whole.base, expiry + "." + keyID + "." + swapCase(signature), whole.id, whole.file},
		"a signature cut short":     {whole.base, strings.TrimSuffix(whole.token, last), whole.id, whole.file},
		"no signature":              {whole.base, expiry + "." + keyID + ".", whole.id, whole.file},
		"an unknown key":            {whole.base, expiry + ".deadbeef." + signature, whole.id, whole.file},
		"nonsense instead of token": {whole.base, "nonsense", whole.id, whole.file},
	}
	if !onFleet() { // where a bucket's addresses are nothing like ours
		tests["the token of an upload"] = address{whole.base, strings.Split(u.UploadURL, "/")[4], whole.id, whole.file}
	}
	for name, changed := range tests {
		t.Run(name, func(t *testing.T) {
			s.in(t).get(changed.String()).problem(t, http.StatusForbidden, "url_invalid")
		})
	}
	s.get(whole.base+"/"+whole.id+"/"+whole.file).problem(t, http.StatusNotFound, "not_found")
	if r := s.get(whole.String()); r.status != http.StatusOK {
		t.Errorf("the address as it was answers %d", r.status)
	}
}

// swapCase changes letters such that a signature stays one by its looks.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, s)
}

func TestAPrivateAddressDiesAtItsSecond(t *testing.T) {
	usuallyOneBackend(t, "TestABucketsAddressDiesWithThePrivateOne stands for it")
	t.Parallel()
	s := start(t, proxied())
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}}, clip(t, miniClip))
	s.waitReady(u)

	before := time.Now()
	url := decode[watch](t, s.readPrivate(u.ID, 2), http.StatusOK).Resolutions["144p"].VideoURL
	after := time.Now()
	r := s.get(url)
	if r.status != http.StatusOK {
		t.Fatalf("a fresh address answers %d %s", r.status, r.body)
	}
	if got := r.header.Get("Cache-Control"); got != "private, no-cache" {
		t.Errorf("Cache-Control is %q: a cache would play it after its end", got)
	}
	for {
		r := s.get(url)
		if age := time.Since(before); r.status != http.StatusOK && age < 2*time.Second {
			t.Fatalf("after %s the address answers %d %s, want it to live for 2 s", age, r.status, r.body)
		} else if age >= 2*time.Second {
			break
		}
		time.Sleep(pollPause)
	}
	time.Sleep(time.Until(after.Add(2*time.Second + time.Millisecond)))
	s.get(url).problem(t, http.StatusForbidden, "url_expired")
	known := s.get(url, header{"If-None-Match", r.header.Get("ETag")})
	known.problem(t, http.StatusForbidden, "url_expired")
	if head := s.send("HEAD", url, nil); head.status != http.StatusForbidden {
		t.Errorf("HEAD of an expired address answers %d", head.status)
	}
}
