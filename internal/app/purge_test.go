package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/queue"
	"github.com/spool-video/spool/internal/video"
)

func TestAPurgeRemovesWhatATaskLeftAfterTheDeletion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{IsPublic: true})
	b.must(b.DeleteVideo(t.Context(), b.by, v.ID))
	piece := "work/" + string(v.ID) + "/chunk-0-0.mp4"
	if _, err := b.blobs.Put(t.Context(), piece, strings.NewReader("late")); err != nil {
		t.Fatal(err)
	}

	_, wanted, err := b.Working(t.Context(), queue.Task{Kind: queue.Purge, Video: v.ID})
	if err != nil || !wanted {
		t.Errorf("the purge of a video that is gone is wanted: %t, %v; want true", wanted, err)
	}
	b.must(b.Purge(t.Context(), v.ID))
	if keys := b.keys(); len(keys) != 0 {
		t.Errorf("objects left: %v", keys)
	}
}

func TestAPurgeKeepsTheVerifiedSourceAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{IsPublic: true})
	stray := "source/" + string(v.ID) + "/stray"
	if _, err := b.blobs.Put(t.Context(), stray, strings.NewReader("of a complete-upload that was cut short")); err != nil {
		t.Fatal(err)
	}
	b.must(b.GiveUp(t.Context(), v.ID, video.Failf(video.Corrupt, "Broken.")))
	b.must(b.Purge(t.Context(), v.ID))
	source := b.video(v.ID).Source.Key
	if keys := b.keys(); !slices.Equal(keys, []string{source}) {
		t.Errorf("objects %v; want the source %s alone", keys, source)
	}
}
