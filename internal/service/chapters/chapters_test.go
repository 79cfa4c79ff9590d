package chapters_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/chapters"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func list(t *testing.T, text string) chapters.List {
	t.Helper()
	l, err := chapters.ReadText([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestChaptersAreSetAndDeleted(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := b.Processing(video.Draft{IsPublic: true})
	if _, err := b.Chapters.Set(ctx, b.By, v.ID, list(t, "0:00 Mine\n1:00 Behind the end")); err != nil { // nobody knows yet
		t.Fatal(err)
	}
	plan := servicetest.Plan("240p")
	plan.Chapters = []video.Chapter{{Start: 0, Title: "Of the file"}}
	b.Transcode(v.ID, plan)
	b.Publish(v.ID, 0)
	read := func() (titles []string) {
		info, err := b.Catalog.Read(ctx, b.By, v.ID, time.Hour, servicetest.Base)
		b.Must(err)
		for _, c := range info.Chapters {
			titles = append(titles, c.Title)
		}
		return titles
	}
	if got := strings.Join(read(), ","); got != "Mine" {
		t.Errorf("a video of 40 s has the chapters %q", got)
	}
	_, err := b.Chapters.Set(ctx, b.By, v.ID, list(t, "0:00 One\n0:40 Two"))
	servicetest.WantCode(t, err, video.Invalid, "invalid_chapters")
	spans, err := b.Chapters.Set(ctx, b.By, v.ID, list(t, "0:01.5 One\n0:10 <Two> & \"three\""))
	if b.Must(err); len(spans) != 2 || spans[1].End != 40*time.Second {
		t.Errorf("set are %v", spans)
	}
	for file, want := range map[string]string{
		"chapters.vtt":  "WEBVTT\n\n00:00:01.500 --> 00:00:10.000\nOne\n\n00:00:10.000 --> 00:00:40.000\n&lt;Two&gt; &amp; \"three\"\n",
		"chapters.json": `[{"chapter":1,"start-time":1.5,"duration":8.5,"titles":[{"language":"und","title":"One"}]},{"chapter":2,"start-time":10,"duration":30,"titles":[{"language":"und","title":"\u003cTwo\u003e \u0026 \"three\""}]}]`,
	} {
		o, err := b.OpenPublic(ctx, v.ID, file)
		b.Must(err)
		if got := servicetest.ReadAll(t, o); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", file, got, want)
		}
	}
	b.Must(b.Chapters.Delete(ctx, b.By, v.ID))
	if got := read(); got != nil {
		t.Errorf("after the deletion there are %q", got)
	}
	_, err = b.OpenPublic(ctx, v.ID, "chapters.vtt")
	servicetest.WantCode(t, err, video.NotFound, "not_found")
	servicetest.WantCode(t, b.Chapters.Delete(ctx, b.By, v.ID), video.NotFound, "chapters_not_found")
}

func TestWhoMaySetChapters(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	id := b.Create(video.Draft{}).Video.ID
	l := list(t, "0:00 One")
	other, reader := b.Actor(auth.Key{Tenant: "other"}), b.Actor(auth.Key{Scopes: []auth.Scope{auth.Read}})
	_, err := b.Chapters.Set(ctx, other, id, l)
	servicetest.WantCode(t, err, video.NotFound, "video_not_found")
	servicetest.WantCode(t, b.Chapters.Delete(ctx, other, id), video.NotFound, "video_not_found")
	_, err = b.Chapters.Set(ctx, reader, id, l)
	servicetest.WantCode(t, err, video.Forbidden, "insufficient_scope")
	b.Must(b.DeleteVideo(ctx, b.By, id))
	_, err = b.Chapters.Set(ctx, b.By, id, l)
	servicetest.WantCode(t, err, video.NotFound, "video_not_found")
}

func TestChaptersOfAPrivateVideoNeedItsSignature(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := b.Processing(video.Draft{})
	plan := servicetest.Plan("240p")
	plan.Chapters = []video.Chapter{{Start: 0, Title: "One"}}
	b.Transcode(v.ID, plan)
	_, err := b.OpenPublic(ctx, v.ID, "chapters.vtt")
	servicetest.WantCode(t, err, video.NotFound, "not_found")
	info, err := b.Catalog.Read(ctx, b.By, v.ID, time.Minute, servicetest.Base)
	b.Must(err)
	token := strings.Split(strings.TrimPrefix(info.URLs.Chapters, servicetest.Base+"/v/"), "/")[0]
	o, err := b.OpenSigned(ctx, token, v.ID, "chapters.vtt")
	b.Must(err)
	if got := servicetest.ReadAll(t, o); !strings.Contains(got, "One") {
		t.Errorf("the chapters are %q", got)
	}
	b.Advance(2 * time.Minute)
	_, err = b.OpenSigned(ctx, token, v.ID, "chapters.vtt")
	servicetest.WantCode(t, err, video.Forbidden, "url_expired")
}
