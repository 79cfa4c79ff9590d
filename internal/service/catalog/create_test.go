package catalog_test

import (
	"testing"

	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestNothingIsCreatedOnAFullDisk(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, func(c *servicetest.Config) { c.MinFree = 1 << 60 })
	_, err := b.Catalog.Create(t.Context(), b.By, video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"240p"}}, servicetest.Base)
	servicetest.WantCode(t, err, video.InsufficientStorage, "insufficient_storage")
}

func TestAClientMayRefuseUpscaling(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	for _, want := range []bool{true, false} {
		if got := b.Create(video.Draft{Upscale: &want}).Video.Upscale; got != want {
			t.Errorf("upscale asked for as %t is %t", want, got)
		}
	}
	if b.Create(video.Draft{}).Video.Upscale {
		t.Error("upscaling without anybody asking for it")
	}
}

func TestContentTypeFollowsTheExtension(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	for name, want := range map[string]string{
		"a.mp4": "video/mp4", "HOLIDAY.MOV": "video/quicktime", "x.MkV": "video/x-matroska", "clip.m2ts": "video/mp2t",
		"noextension": "application/octet-stream", "odd.xyz": "application/octet-stream", "../../etc/passwd": "application/octet-stream",
	} {
		if got := b.Create(video.Draft{Filename: name}).Video.ContentType; got != want {
			t.Errorf("%s: %s; want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{"a.mp3": "audio/mpeg", "B.FLAC": "audio/flac", "c.ogg": "audio/ogg", "d.mp4": "video/mp4", "e.xyz": "application/octet-stream"} {
		if got := b.Create(video.Draft{Filename: name, AcceptAudio: new(true)}).Video.ContentType; got != want {
			t.Errorf("%s, where sound is accepted: %s; want %s", name, got, want)
		}
	}
}
