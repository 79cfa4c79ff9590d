package playback

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/engine/webvtt"
	"github.com/spool-video/spool/internal/service/chapters"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// hasChapters reports whether viewers see chapters. They can do without, so a database that does not answer stops no
// viewer.
func (p *Player) hasChapters(ctx context.Context, at place) bool {
	all, err := chapters.Published(ctx, p.store.Queries, at.video, at.area == objects.Public)
	return err == nil && len(all) > 0
}

// findChapters finds the chapters of a video. Like the list of renditions, they have no modification time.
func (p *Player) findChapters(ctx context.Context, at place, f stream.File) (*document, error) {
	all, err := chapters.Published(ctx, p.store.Queries, at.video, at.area == objects.Public)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, noSuchFile()
	}
	if all[len(all)-1].End == 0 {
		return nil, notReady()
	}
	write := chaptersVTT
	if f.Kind == stream.ChaptersJSON {
		write = chaptersJSON
	}
	return p.document(newDocumentID(f, at.prefix(), all), time.Time{}, func(context.Context) (func() ([]byte, error), error) {
		return func() ([]byte, error) { return write(all) }, nil
	}), nil
}

func chaptersVTT(all []video.ChapterSpan) ([]byte, error) {
	cues := make([]webvtt.Cue, len(all))
	for i, c := range all {
		cues[i] = webvtt.Cue{Start: c.Start, End: c.End, Lines: []string{webvtt.Escape(c.Title)}}
	}
	return webvtt.Encode(cues), nil
}

// appleChapter is a chapter in the session data com.apple.hls.chapters ("Providing JSON chapters" in Apple's
// documentation of HLS).
type appleChapter struct {
	Number   int          `json:"chapter"`
	Start    float64      `json:"start-time"`
	Duration float64      `json:"duration"`
	Titles   []appleTitle `json:"titles"`
}

type appleTitle struct {
	Language string `json:"language"`
	Title    string `json:"title"`
}

func chaptersJSON(all []video.ChapterSpan) ([]byte, error) {
	list := make([]appleChapter, len(all))
	for i, c := range all {
		list[i] = appleChapter{i + 1, c.Start.Seconds(), (c.End - c.Start).Seconds(), []appleTitle{{"und", c.Title}}}
	}
	return json.Marshal(list)
}
