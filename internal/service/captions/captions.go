// Package captions adds timed text to videos and removes it: what clients upload, and what tracks of
// a source hold. Whatever comes in is read, and written anew as WebVTT (engine/webvtt).
//
// A video has one text for each language; one that a client uploaded goes before one of the source.
// The file is stored under the lock of its video, in the transaction that lists it, because a sweep
// removes what is not listed. A text that is replaced gets another name, and the old file goes after the
// commit; if the process dies in between, or a backup runs, the sweep removes it.
package captions

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/webvtt"
	"github.com/spool-video/spool/internal/language"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/cdn"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/words"
	"github.com/spool-video/spool/internal/video"
)

// MaxSize is how many bytes of text are accepted.
const MaxSize = webvtt.MaxSize

// storeTimeout is how long a video stays locked for a storage that does not store its text.
const storeTimeout = 10 * time.Second

// Service adds and removes captions.
type Service struct {
	store  *store.Store
	blobs  blob.Store
	purges *cdn.Recorder
	space  func() error
}

// New returns the service. space says whether there is space for a small file. A CDN is told by way of
// purges.
func New(s *store.Store, blobs blob.Store, purges *cdn.Recorder, space func() error) *Service {
	return &Service{store: s, blobs: blobs, purges: purges, space: space}
}

// Upload is a text that a client sends.
type Upload struct {
	Language string         // BCP 47, in any spelling
	Label    string         // for people; "": the name of the language
	Kind     video.FileKind // "": subtitles
	Text     []byte         // WebVTT or SubRip
}

// Put adds a text to a video, or replaces the text of the same language. It returns the changed video,
// and whether the language is new.
func (s *Service) Put(ctx context.Context, by auth.Actor, id video.ID, u Upload) (v video.Video, f video.File, created bool, err error) {
	if _, err := auth.VisibleVideo(ctx, s.store, by, auth.Write, id); err != nil {
		return v, f, false, err
	}
	if f, err = u.check(); err != nil {
		return v, f, false, err
	}
	text, err := convert(u.Text)
	if err != nil {
		return v, f, false, err
	}
	if err := s.space(); err != nil {
		return v, f, false, err
	}
	f.Name, f.ContentType, f.Size = objects.CaptionsFile(f.Language, text), "text/vtt; charset=utf-8", int64(len(text))
	var replaced string
	err = s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, id); err != nil {
			return err
		}
		v, err = tx.Video(ctx, id)
		if err != nil {
			return err
		}
		old, had := v.CaptionsIn(f.Language)
		if !had && len(v.Captions()) >= video.MaxCaptions {
			return &video.Error{Kind: video.Conflict, Code: "too_many_captions", Msg: fmt.Sprintf("A video has captions in at most %d languages.", video.MaxCaptions)}
		}
		if err := s.putLocked(ctx, tx, objects.Playback(v, f.Name), text); err != nil {
			return err
		}
		if replaced = ""; had && old.Name != f.Name {
			replaced, v.Files = old.Name, v.WithoutFile(old.Name)
			if err := errors.Join(s.purges.File(ctx, tx, v, cdn.CaptionsRemoved, old.Name), words.Remove(ctx, tx, id, old.Name)); err != nil {
				return err
			}
		}
		if err := words.Add(ctx, tx, v, f, text); err != nil {
			return err
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionCaptionsPut, Video: id, Target: f.Language}); err != nil {
			return err
		}
		created, v.Files = !had, v.WithFiles(f)
		return tx.SetFindings(ctx, id, store.Findings{Files: v.Files})
	})
	if err != nil || replaced == "" {
		return v, f, created, err
	}
	return v, f, created, s.removeUnlisted(ctx, v, replaced, unlessBackup)
}

func (s *Service) putLocked(ctx context.Context, tx *store.Tx, key string, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return tx.KeepAliveWhile(ctx, func(ctx context.Context) error {
		if _, err := s.blobs.Put(ctx, key, bytes.NewReader(text)); err != nil {
			return blob.ServiceError("store captions", err)
		}
		return nil
	})
}

// Delete removes the text of a language from a video.
func (s *Service) Delete(ctx context.Context, by auth.Actor, id video.ID, name string) error {
	if _, err := auth.VisibleVideo(ctx, s.store, by, auth.Write, id); err != nil {
		return err
	}
	name, err := checkLanguage(name)
	if err != nil {
		return err
	}
	var v video.Video
	var gone video.File
	err = s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, id); err != nil {
			return err
		}
		if v, err = tx.Video(ctx, id); err != nil {
			return err
		}
		var has bool
		if gone, has = v.CaptionsIn(name); !has {
			return &video.Error{Kind: video.NotFound, Code: "captions_not_found", Msg: "The video has no captions in this language."}
		}
		if err := errors.Join(s.purges.File(ctx, tx, v, cdn.CaptionsRemoved, gone.Name), words.Remove(ctx, tx, id, gone.Name)); err != nil {
			return err
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionCaptionsDelete, Video: id, Target: name}); err != nil {
			return err
		}
		return tx.SetFindings(ctx, id, store.Findings{Files: v.WithoutFile(gone.Name)})
	})
	if err != nil {
		return err
	}
	return s.removeUnlisted(ctx, v, gone.Name, always)
}

// removal says when a file is removed that is not listed any more.
type removal bool

const (
	always       removal = true  // a client's deletion does not wait for a backup
	unlessBackup removal = false // a backup that runs may have read the old list: the sweep removes it later
)

// removeUnlisted removes a file, unless another request has listed it again.
func (s *Service) removeUnlisted(ctx context.Context, v video.Video, name string, when removal) error {
	ctx = context.WithoutCancel(ctx) // what was promised is done
	if err := pipeline.CheckStorage(ctx, s.store, s.blobs); err != nil {
		return err
	}
	return s.store.WithVideoLock(ctx, v.ID, func(tx *store.Tx) error {
		now, err := tx.Video(ctx, v.ID)
		if _, listed := now.File(name); err != nil || listed {
			return err
		}
		if when == unlessBackup {
			if runs, err := pipeline.RemovalsHeld(ctx, tx); err != nil || runs {
				return err
			}
		}
		return pipeline.RemoveLocked(ctx, tx, s.blobs, objects.Places(now, name))
	})
}

// convert returns a text as WebVTT.
func convert(text []byte) ([]byte, error) {
	if len(text) > MaxSize {
		return nil, &video.Error{Kind: video.TooLarge, Code: "body_too_large", Msg: fmt.Sprintf("Captions must have at most %d bytes.", MaxSize)}
	}
	cues, err := webvtt.Parse(text)
	if e, ok := errors.AsType[*webvtt.Error](err); ok {
		return nil, invalid(fmt.Sprintf("Line %d: %s.", e.Line, e.Reason))
	} else if err != nil {
		return nil, err
	}
	out := webvtt.Encode(cues)
	if len(out) > MaxSize {
		return nil, invalid(fmt.Sprintf("Line 1: as WebVTT the text would have %d bytes, more than %d.", len(out), MaxSize))
	}
	return out, nil
}

func invalid(msg string) error {
	return &video.Error{Kind: video.Invalid, Code: "invalid_captions", Msg: msg}
}

// check returns how a text will be listed. All faults are reported at once.
func (u Upload) check() (video.File, error) {
	f := video.File{Kind: u.Kind, Source: video.Uploaded}
	var faults []video.Fault
	name, ok := language.Parse(u.Language)
	if !ok {
		faults = append(faults, languageFault())
	}
	if f.Kind == "" {
		f.Kind = video.SubtitlesKind
	}
	if !f.IsCaptions() {
		faults = append(faults, video.Fault{Field: "kind", Code: "out_of_range", Message: "must be subtitles or captions"})
	}
	if !language.IsLabel(u.Label) {
		faults = append(faults, video.Fault{Field: "label", Code: "out_of_range", Message: fmt.Sprintf("must be one line of at most %d characters", language.MaxLabel)})
	}
	if len(faults) > 0 {
		return f, video.InvalidFields(faults...)
	}
	f.Language, f.Label = name, strings.TrimSpace(u.Label)
	if f.Label == "" {
		f.Label = language.NameOf(f.Language)
	}
	return f, nil
}

func checkLanguage(s string) (string, error) {
	name, ok := language.Parse(s)
	if !ok {
		return "", video.InvalidFields(languageFault())
	}
	return name, nil
}

func languageFault() video.Fault {
	return video.Fault{Field: "language", Code: "out_of_range", Message: "must be a language as BCP 47 names it, such as en, de-AT or zh-Hant"}
}

// Track is a text track of a source.
type Track struct {
	Stream video.Stream
	Cues   []webvtt.Cue
}

// Text is a text that is ready to be published.
type Text struct {
	video.File
	Content []byte
}

// FromTracks returns the texts of a source: one for each language. Of several tracks in a language it
// takes the default one, else the first. Forced subtitles and comments come last.
func FromTracks(tracks []Track) []Text {
	var all []Text
	seen := map[string]bool{}
	tracks = slices.Clone(tracks)
	slices.SortStableFunc(tracks, func(a, b Track) int { return trackOrder(a) - trackOrder(b) })
	for _, t := range tracks {
		name, ok := language.Parse(t.Stream.Language)
		if !ok {
			name = language.Undetermined
		}
		content := webvtt.Encode(t.Cues)
		if len(t.Cues) == 0 || len(content) > MaxSize || seen[name] {
			continue
		}
		seen[name] = true
		f := video.File{Kind: video.SubtitlesKind, Source: video.Embedded, Language: name, Label: cmp.Or(language.Title(t.Stream.Title), language.NameOf(name))}
		if t.Stream.Is("hearing_impaired") || t.Stream.Is("captions") || t.Stream.Codec == "eia_608" {
			f.Kind = video.CaptionsKind
		}
		f.Name = objects.CaptionsFile(name, content)
		all = append(all, Text{f, content})
	}
	return all
}

func trackOrder(t Track) int {
	switch {
	case t.Stream.Is("forced"), t.Stream.Is("comment"):
		return 2
	case t.Stream.Is("default"):
		return 0
	}
	return 1
}
