package e2e

import (
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/client"
)

// found returns what a form finds in a page.
func found(t testing.TB, page []byte, form string) string {
	t.Helper()
	m := regexp.MustCompile(form).FindSubmatch(page)
	if m == nil {
		t.Fatalf("the page has no %s: %.2000s", form, page)
	}
	return html.UnescapeString(string(m[1]))
}

// TestAShare watches a private video without a key, and ends with its share.
func TestAShare(t *testing.T) {
	t.Parallel()
	s := shared(t)
	c, ctx := s.client(), t.Context()
	w := s.publish(newVideo{Filename: "film.mp4", Resolutions: []string{"144p"}}, clip(t, miniClip))
	made, err := c.CreateShare(ctx, w.ID, client.NewShare{Label: "Press", Download: true})
	if err != nil {
		t.Fatal(err)
	}
	page := s.get(made.URL)
	if page.status != http.StatusOK {
		t.Fatalf("the page is %d %s", page.status, page.body)
	}
	hls := found(t, page.body, ` hls="([^"]+)"`)
	at := hls[:strings.LastIndex(hls, "/")+1]
	list := found(t, s.get(hls).body, `(?m)^(\S*144p\S*\.m3u8)`)
	segment := found(t, s.get(at+list).body, `(?m)^(\S+\.m4s)`)
	file := found(t, page.body, ` mp4="([^"]+)"`)
	for _, address := range []string{hls, at + list, at + segment, file, made.URL + "/download"} {
		if r := s.get(address); r.status != http.StatusOK || len(r.body) == 0 {
			t.Errorf("%s answers %d", address, r.status)
		}
	}
	if err := c.DeleteShare(ctx, w.ID, made.ID); err != nil {
		t.Fatal(err)
	}
	if r := s.get(made.URL); r.status != http.StatusNotFound {
		t.Errorf("the page of a share that was deleted answers %d", r.status)
	}
	for _, address := range []string{hls, at + list, at + segment, file} {
		for deadline := time.Now().Add(time.Minute); s.get(address).status != http.StatusForbidden; time.Sleep(500 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("a minute later %s still answers %d", address, s.get(address).status)
			}
		}
	}
}

// TestAShareWithAPassword opens a share as a browser without scripts does.
func TestAShareWithAPassword(t *testing.T) {
	t.Parallel()
	s := shared(t)
	v := s.create(newVideo{Filename: "film.mp4", Resolutions: []string{"144p"}})
	made, err := s.client().CreateShare(t.Context(), v.ID, client.NewShare{Password: "hush"})
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	for _, password := range []string{"wrong", "hush"} {
		res, err := browser.PostForm(made.URL, url.Values{"password": {password}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		want := map[string]int{"wrong": http.StatusForbidden, "hush": http.StatusOK}[password]
		if res.StatusCode != want || res.Request.URL.String() != made.URL {
			t.Errorf("the password %s leads to %s with %d; want %d", password, res.Request.URL, res.StatusCode, want)
		}
	}
	if len(jar.Cookies(mustURL(t, s.url))) != 0 {
		t.Error("the cookie is sent to other pages")
	}
}

func mustURL(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
