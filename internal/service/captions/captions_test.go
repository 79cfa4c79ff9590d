package captions_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/webvtt"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func text(s string) []byte { return []byte("WEBVTT\n\n00:01.000 --> 00:02.000\n" + s + "\n") }

func put(b *servicetest.Rig, id video.ID, u captions.Upload) (video.File, bool) {
	b.T.Helper()
	_, f, created, err := b.Captions.Put(b.T.Context(), b.By, id, u)
	b.Must(err)
	return f, created
}

// stored returns the names of the captions in the storage.
func stored(b *servicetest.Rig, id video.ID, area string) []string {
	b.T.Helper()
	var names []string
	for info, err := range b.Blobs.List(b.T.Context(), area+"/"+string(id)+"/captions") {
		b.Must(err)
		names = append(names, strings.TrimPrefix(info.Key, area+"/"+string(id)+"/"))
	}
	return names
}

func TestCaptionsAreAddedReplacedAndRemoved(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := b.Create(video.Draft{IsPublic: true}).Video.ID // before its upload
	first, created := put(b, id, captions.Upload{Language: "eng", Text: text("one")})
	if !created || first.Language != "en" || first.Label != "English" || first.Kind != video.SubtitlesKind || first.Source != video.Uploaded {
		t.Fatalf("the captions are %+v, new: %v", first, created)
	}
	second, created := put(b, id, captions.Upload{Language: "EN", Label: " For you ", Kind: video.CaptionsKind, Text: text("two")})
	if created || second.Name == first.Name || second.Label != "For you" {
		t.Errorf("the captions are replaced by %+v, new: %v", second, created)
	}
	german, created := put(b, id, captions.Upload{Language: "de", Text: text("two")})
	if !created {
		t.Error("another language is not new")
	}
	if got := stored(b, id, "public"); !slices.Equal(got, []string{german.Name, second.Name}) {
		t.Errorf("stored are %v", got)
	}
	v := b.Video(id)
	if all := v.Captions(); len(all) != 2 || all[0].Name != second.Name || all[0].Size == 0 {
		t.Errorf("listed are %+v", all)
	}
	o, err := b.OpenPublic(t.Context(), id, second.Name)
	b.Must(err)
	if got := servicetest.ReadAll(t, o); got != "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\ntwo\n" {
		t.Errorf("the captions are %q", got)
	}
	b.Must(b.Captions.Delete(t.Context(), b.By, id, "en"))
	_, err = b.OpenPublic(t.Context(), id, second.Name)
	servicetest.WantCode(t, err, video.NotFound, "not_found")
	servicetest.WantCode(t, b.Captions.Delete(t.Context(), b.By, id, "eng"), video.NotFound, "captions_not_found")
	b.Must(b.Captions.Delete(t.Context(), b.By, id, "de"))
	if got := stored(b, id, "public"); len(got) != 0 || len(b.Video(id).Files) != 0 {
		t.Errorf("stored are still %v", got)
	}
}

func TestWhatIsNotCaptionsIsRefused(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := b.Create(video.Draft{}).Video.ID
	good := captions.Upload{Language: "en", Text: text("x")}
	for _, tt := range []struct {
		change     func(*captions.Upload)
		kind       video.Kind
		code, says string
	}{
		{func(u *captions.Upload) { u.Text = []byte("WEBVTT\n\n1\n00:02.000 --> 00:01.000\nx") }, video.Invalid, "invalid_captions", "Line 4: the text ends"},
		{func(u *captions.Upload) { u.Text = []byte("no captions") }, video.Invalid, "invalid_captions", "Line 1: "},
		{func(u *captions.Upload) { u.Text = make([]byte, captions.MaxSize+1) }, video.TooLarge, "body_too_large", ""},
		{func(u *captions.Upload) { u.Language, u.Kind, u.Label = "klingonisch", "chapters", "a\nb" }, video.Invalid, "invalid_request", ""},
	} {
		u := good
		tt.change(&u)
		_, _, _, err := b.Captions.Put(t.Context(), b.By, id, u)
		servicetest.WantCode(t, err, tt.kind, tt.code)
		e, _ := errors.AsType[*video.Error](err)
		if !strings.Contains(e.Msg, tt.says) || tt.code == "invalid_request" && len(e.Faults) != 3 {
			t.Errorf("the refusal says %q, %v", e.Msg, e.Faults)
		}
	}
	other, reader := b.Actor(auth.Key{Tenant: "other"}), b.Actor(auth.Key{Scopes: []auth.Scope{auth.Read}})
	_, _, _, err := b.Captions.Put(t.Context(), other, id, good)
	servicetest.WantCode(t, err, video.NotFound, "video_not_found")
	servicetest.WantCode(t, b.Captions.Delete(t.Context(), other, id, "en"), video.NotFound, "video_not_found")
	_, _, _, err = b.Captions.Put(t.Context(), reader, id, good)
	servicetest.WantCode(t, err, video.Forbidden, "insufficient_scope")
	b.Must(b.DeleteVideo(t.Context(), b.By, id))
	_, _, _, err = b.Captions.Put(t.Context(), b.By, id, good)
	servicetest.WantCode(t, err, video.NotFound, "video_not_found")
	if got := stored(b, id, "private"); len(got) != 0 {
		t.Errorf("stored are %v", got)
	}
}

func TestCaptionsAreKeptAsLongAsTheirVideo(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Ready(servicetest.Plan("720p", "240p"))
	f, _ := put(b, v.ID, captions.Upload{Language: "fr", Text: text("x")})
	b.Must(b.Purge(t.Context(), v.ID))
	if got := stored(b, v.ID, "public"); !slices.Equal(got, []string{f.Name}) {
		t.Errorf("after a purge there are %v", got)
	}
	// What a dead process left behind is listed nowhere.
	_, err := b.Blobs.Put(t.Context(), "public/"+string(v.ID)+"/captions-en-0123456789ab.vtt", strings.NewReader("x"))
	b.Must(err)
	b.Must(b.Purge(t.Context(), v.ID))
	if got := stored(b, v.ID, "public"); !slices.Equal(got, []string{f.Name}) {
		t.Errorf("after another purge there are %v", got)
	}
	b.Must(b.DeleteVideo(t.Context(), b.By, v.ID))
	if got := stored(b, v.ID, "public"); len(got) != 0 {
		t.Errorf("after the deletion there are %v", got)
	}
}

// A backup that runs may have read the list before a text was replaced. A deletion waits for nobody.
func TestAReplacedTextStaysForABackup(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := b.Create(video.Draft{IsPublic: true}).Video.ID
	first, _ := put(b, id, captions.Upload{Language: "en", Text: text("one")})
	hold, err := pipeline.HoldRemovals(t.Context(), b.Store, "backup", time.Hour)
	b.Must(err)
	second, _ := put(b, id, captions.Upload{Language: "en", Text: text("two")})
	if got := stored(b, id, "public"); len(got) != 2 || !slices.Contains(got, first.Name) {
		t.Errorf("while a backup runs, stored are %v; want %s and %s", got, first.Name, second.Name)
	}
	b.Must(b.Captions.Delete(t.Context(), b.By, id, "en"))
	if got := stored(b, id, "public"); !slices.Equal(got, []string{first.Name}) {
		t.Errorf("after the deletion, stored are %v", got)
	}
	b.Must(hold.Release(t.Context()))
	_, err = b.Sweep(t.Context())
	b.Must(err)
	if got := stored(b, id, "public"); len(got) != 0 {
		t.Errorf("after the backup and a sweep, stored are %v", got)
	}
}

// embed plays the part of the worker that reads text tracks.
func embed(b *servicetest.Rig, id video.ID, tracks ...captions.Track) {
	b.T.Helper()
	var files []pipeline.NewFile
	for _, t := range captions.FromTracks(tracks) {
		files = append(files, pipeline.NewFile{File: t.File, Path: b.File(string(t.Content))})
	}
	b.Must(b.PublishMissing(b.T.Context(), queue.Task{Kind: queue.Captions, Video: id}, b.Video(id), files))
}

func track(language string, dispositions ...string) captions.Track {
	return captions.Track{
		Stream: video.Stream{Type: "subtitle", Codec: "subrip", Language: language, Dispositions: dispositions},
		Cues:   []webvtt.Cue{{End: time.Second, Lines: []string{language + strings.Join(dispositions, " ")}}},
	}
}

func TestAnUploadGoesBeforeATrackOfTheSource(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{IsPublic: true})
	mine, _ := put(b, v.ID, captions.Upload{Language: "de", Text: text("mine")})
	p := servicetest.Plan("720p", "240p")
	p.Streams = []video.Stream{{Index: 2, Type: "subtitle", Codec: "subrip", Language: "ger"}}
	b.Transcode(v.ID, p)
	b.WantStatuses(v.ID, "processing: 720p processing, 240p processing") // the text tracks are missing
	embed(b, v.ID, track("ger"), track("eng", "forced"), track("eng", "hearing_impaired"), track("fre"), track("fre", "default"), track(""))
	for n := range p.Renditions {
		b.Publish(v.ID, n)
	}
	var got []string
	ready := b.Video(v.ID)
	for _, f := range ready.Captions() {
		got = append(got, f.Language+" "+string(f.Kind)+" "+string(f.Source))
	}
	want := []string{"de subtitles uploaded", "fr subtitles embedded", "en captions embedded", "und subtitles embedded"}
	if !slices.Equal(got, want) || ready.Captions()[0].Name != mine.Name || ready.Status != video.Ready {
		t.Errorf("the captions are %v, want %v; the video is %s", got, want, ready.Status)
	}
	if names := stored(b, v.ID, "public"); len(names) != 4 {
		t.Errorf("stored are %v", names)
	}
	// Another pass does not bring back what was removed.
	b.Must(b.Captions.Delete(t.Context(), b.By, v.ID, "fr"))
	b.Add(v.ID, "144p")
	next := servicetest.Plan("144p")
	next.Streams = p.Streams
	b.Transcode(v.ID, next)
	b.Publish(v.ID, 2)
	b.WantStatuses(v.ID, "ready: 720p ready, 240p ready, 144p ready")
}

// Of requests for the same language, one is the last: its text is listed, and no other is stored.
func TestOneTextOfALanguageIsLeft(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := b.Create(video.Draft{IsPublic: true}).Video.ID
	var sending sync.WaitGroup
	for i := range 8 {
		sending.Go(func() {
			if _, _, _, err := b.Captions.Put(t.Context(), b.By, id, captions.Upload{Language: "en", Text: text(fmt.Sprint(i % 3))}); err != nil {
				t.Error(err)
			}
		})
	}
	sending.Wait()
	v := b.Video(id)
	if all := v.Captions(); len(all) != 1 || !slices.Equal(stored(b, id, "public"), []string{all[0].Name}) {
		t.Errorf("listed are %+v, stored %v", all, stored(b, id, "public"))
	}
}
