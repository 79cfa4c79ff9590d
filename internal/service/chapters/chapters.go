// Package chapters sets the chapters of videos and removes them. A file may bring its own, which count until a client
// sets or removes them.
//
// What is stored is a list of times and titles. Their WebVTT and JSON for players are made when they are asked for
// (service/playback), because the end of the last one is the end of the video.
package chapters

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// MaxSize is how many bytes of chapters are accepted.
const MaxSize = 1 << 20

// maxStart is far behind the end of the longest video.
const maxStart = 100 * time.Hour

// Service sets and removes chapters.
type Service struct {
	store *store.Store
	space func() error
}

// New returns the service. space says whether there is space for a small change.
func New(s *store.Store, space func() error) *Service { return &Service{s, space} }

// List is the chapters that a client sends.
type List struct {
	Chapters []video.Chapter
	lines    []int // on which they are in a text; nil: they are not from a text
}

// Set replaces the chapters of a video, and returns them as viewers see them. With an empty list, the chapters of the
// file do not come back.
func (s *Service) Set(ctx context.Context, by auth.Actor, id video.ID, l List) ([]video.ChapterSpan, error) {
	v, err := auth.VisibleVideo(ctx, s.store, by, auth.Write, id)
	if err != nil {
		return nil, err
	}
	l = l.tidy()
	if err := l.refusal(l.flaws(v.Duration)); err != nil {
		return nil, err
	}
	if err := s.space(); err != nil {
		return nil, err
	}
	err = s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, id); err != nil {
			return err
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionChaptersPut, Video: id}); err != nil {
			return err
		}
		return put(ctx, tx, id, video.Uploaded, l.Chapters)
	})
	return video.ChapterSpans(l.Chapters, v.Duration), err
}

// Delete removes the chapters of a video.
func (s *Service) Delete(ctx context.Context, by auth.Actor, id video.ID) error {
	if _, err := auth.VisibleVideo(ctx, s.store, by, auth.Write, id); err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, id); err != nil {
			return err
		}
		all, err := Of(ctx, tx.Queries, id)
		if err == nil && len(all) == 0 {
			err = &video.Error{Kind: video.NotFound, Code: "chapters_not_found", Msg: "The video has no chapters."}
		}
		if err != nil {
			return err
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionChaptersDelete, Video: id}); err != nil {
			return err
		}
		return put(ctx, tx, id, video.Uploaded, nil)
	})
}

// Embed stores the chapters that a file brings, in the transaction that stores its plan. Their times count from the
// beginning of the video. The chapters of an earlier file go, also if the new one has none.
func Embed(ctx context.Context, tx *store.Tx, id video.ID, p *video.Plan) error {
	before, err := Of(ctx, tx.Queries, id)
	if err != nil || len(before) == 0 && len(p.Chapters) == 0 {
		return err
	}
	return put(ctx, tx, id, video.Embedded, p.Chapters)
}

// tidy returns the list with titles in one line, and times as players know them.
func (l List) tidy() List {
	out := List{make([]video.Chapter, len(l.Chapters)), l.lines}
	for i, c := range l.Chapters {
		out.Chapters[i] = video.Chapter{Start: c.Start.Round(time.Millisecond), Title: strings.Join(strings.Fields(c.Title), " ")}
	}
	return out
}

// flaw is what is wrong with a chapter, or with the list.
type flaw struct {
	chapter      int // -1: the list
	member, code string
	says         string
}

// Faults returns what is wrong with the list, whatever video it is for.
func (l List) Faults() []video.Fault { return faults(l.tidy().flaws(0)) }

// flaws returns what is wrong with the list for a video of a length, which is 0 while it is not known.
func (l List) flaws(length time.Duration) (all []flaw) {
	if n := len(l.Chapters); n > video.MaxChapters {
		return []flaw{{-1, "", "out_of_range", fmt.Sprintf("must be at most %d, there are %d", video.MaxChapters, n)}}
	}
	before := time.Duration(-1)
	for i, c := range l.Chapters {
		if says := startFlaw(c.Start, before, length); says != "" {
			all = append(all, flaw{i, "startSeconds", "out_of_range", says})
		}
		if says := titleFlaw(c.Title); says != "" {
			all = append(all, flaw{i, "title", "out_of_range", says})
		}
		before = max(before, c.Start)
	}
	return all
}

func startFlaw(start, before, length time.Duration) string {
	switch {
	case start < 0 || start > maxStart:
		return fmt.Sprintf("must be from 0 to %.0f seconds", maxStart.Seconds())
	case start <= before:
		return fmt.Sprintf("must be later than the chapter before, which begins at %s", clock(before))
	case length > 0 && start >= length:
		return fmt.Sprintf("must be before the end of the video at %s", clock(length))
	}
	return ""
}

func titleFlaw(title string) string {
	if n := utf8.RuneCountInString(title); n < 1 || n > video.MaxChapterTitle {
		return fmt.Sprintf("must have 1 to %d characters, has %d", video.MaxChapterTitle, n)
	}
	if !utf8.ValidString(title) || strings.ContainsFunc(title, unicode.IsControl) {
		return "must be UTF-8 without control characters"
	}
	return ""
}

// refusal returns the error for a list with flaws, or nil. A list from a text is refused in the words of that text.
func (l List) refusal(all []flaw) error {
	switch {
	case len(all) == 0:
		return nil
	case l.lines == nil:
		return video.InvalidFields(faults(all)...)
	}
	first := all[0]
	if first.chapter < 0 {
		return invalid("The chapters " + first.says + ".")
	}
	thing := map[string]string{"startSeconds": "time", "title": "title"}[first.member]
	return invalid(fmt.Sprintf("Line %d: the %s %s.", l.lines[first.chapter], thing, first.says))
}

func faults(all []flaw) []video.Fault {
	out := make([]video.Fault, len(all))
	for i, f := range all {
		field := "chapters"
		if f.chapter >= 0 {
			field = fmt.Sprintf("chapters[%d].%s", f.chapter, f.member)
		}
		out[i] = video.Fault{Field: field, Code: f.code, Message: f.says}
	}
	return out
}

func invalid(msg string) error {
	return &video.Error{Kind: video.Invalid, Code: "invalid_chapters", Msg: msg}
}

// clock returns a time as players show it: 1:02:03.
func clock(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
