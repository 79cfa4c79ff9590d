// Package speech has captions made of what is said in videos, and translations of captions, by programs of the operator.
//
// What was asked for is part of the video's row (video.Speech), and one task makes all of it, after everything that somebody
// waits for. Each text is published by itself: the file is stored and listed, its words are indexed, and the row says that it is
// ready, in one transaction under the lock of the video. So a task that is interrupted goes on with the text that it was at.
// Captions that a client has uploaded, or that came with the file, go before these in their language.
package speech

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
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

// storeTimeout is how long a video stays locked for a storage that does not store its text.
const storeTimeout = 10 * time.Second

// Config says which programs the operator has, and what is made without being asked for.
type Config struct {
	Transcriber, Translator bool
	Default                 video.Transcribe
}

// Service asks for texts and publishes them.
type Service struct {
	config Config
	store  *store.Store
	blobs  blob.Store
	passes *pipeline.Passes
	purges *cdn.Recorder
}

// New returns a Service. A CDN is told by way of purges.
func New(c Config, s *store.Store, blobs blob.Store, p *pipeline.Passes, purges *cdn.Recorder) *Service {
	return &Service{config: c, store: s, blobs: blobs, passes: p, purges: purges}
}

// For returns what a new video gets, or what is wrong with what its client asks for.
func (c Config) For(d video.Draft) (*video.Speech, []video.Fault) {
	asked := c.Default
	if d.Transcribe != nil {
		asked = *d.Transcribe
	}
	var faults []video.Fault
	if d.Transcribe != nil && asked.Wanted && !c.Transcriber {
		faults = append(faults, video.Fault{Field: "transcribe", Code: "not_available", Message: "is not available: this server has no transcriber"})
	}
	var s video.Speech
	if asked.Wanted && c.Transcriber {
		language, ok := languageOr(asked.Language, "")
		if !ok {
			faults = append(faults, languageFault("transcribe"))
		}
		s.Transcription = &video.MadeText{Language: language, Status: video.Processing}
	}
	if len(d.Translate) > 0 {
		if !c.Translator {
			faults = append(faults, video.Fault{Field: "translate", Code: "not_available", Message: "is not available: this server has no translator"})
		} else if s.Transcription == nil {
			faults = append(faults, video.Fault{Field: "translate", Code: "not_allowed", Message: "needs transcribe: it translates what is said"})
		}
		to, more := languages("translate", d.Translate)
		faults = append(faults, more...)
		if made, err := s.AddTranslations("", to); err == nil {
			s = *made
		} else {
			faults = append(faults, video.Fault{Field: "translate", Code: "out_of_range", Message: "must have at most 20 languages"})
		}
	}
	if len(faults) > 0 || s.Transcription == nil {
		return nil, faults
	}
	return &s, nil
}

// languages returns the canonical names of languages, each once.
func languages(field string, all []string) (names []string, faults []video.Fault) {
	for _, one := range all {
		name, ok := language.Parse(one)
		if !ok {
			return nil, []video.Fault{languageFault(field)}
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// languageOr returns the canonical name of a language, or what stands for none.
func languageOr(name, none string) (string, bool) {
	if name == "" {
		return none, true
	}
	return language.Parse(name)
}

func languageFault(field string) video.Fault {
	return video.Fault{Field: field, Code: "out_of_range", Message: "must be a language as BCP 47 names it, such as en, de-AT or zh-Hant"}
}

// Transcribe has what is said in a video written down, again if that was done. Without a language the program finds it out.
func (s *Service) Transcribe(ctx context.Context, by auth.Actor, id video.ID, language string) (video.Video, error) {
	if !s.config.Transcriber {
		return video.Video{}, &video.Error{Kind: video.Conflict, Code: "no_transcriber", Msg: "This server has no transcriber. Its operator can set one (docs/transcription.md)."}
	}
	language, ok := languageOr(language, "")
	if !ok {
		return video.Video{}, video.InvalidFields(languageFault("language"))
	}
	act := video.Act{Action: video.ActionCaptionsTranscribe, Video: id, Target: language}
	return s.ask(ctx, by, act, func(v video.Video) (*video.Speech, error) {
		return speechOf(v).With(-1, video.MadeText{Language: language, Status: video.Processing}), nil
	})
}

// Translate has captions of a video translated into other languages.
func (s *Service) Translate(ctx context.Context, by auth.Actor, id video.ID, from string, to []string) (video.Video, error) {
	if !s.config.Translator {
		return video.Video{}, &video.Error{Kind: video.Conflict, Code: "no_translator", Msg: "This server has no translator. Its operator can set one (docs/transcription.md)."}
	}
	from, ok := language.Parse(from)
	if !ok {
		return video.Video{}, video.InvalidFields(languageFault("language"))
	}
	names, faults := languages("to", to)
	if len(names) == 0 && faults == nil || slices.Contains(names, from) {
		faults = append(faults, video.Fault{Field: "to", Code: "out_of_range", Message: "must have languages other than the one of the captions"})
	}
	if faults != nil {
		return video.Video{}, video.InvalidFields(faults...)
	}
	act := video.Act{Action: video.ActionCaptionsTranslate, Video: id, Target: strings.Join(names, ",")}
	return s.ask(ctx, by, act, func(v video.Video) (*video.Speech, error) {
		if _, has := v.CaptionsIn(from); !has {
			return nil, &video.Error{Kind: video.NotFound, Code: "captions_not_found", Msg: "The video has no captions in this language."}
		}
		return speechOf(v).AddTranslations(from, names)
	})
}

func speechOf(v video.Video) video.Speech {
	if v.Speech == nil {
		return video.Speech{}
	}
	return *v.Speech
}

// ask records what is asked for, with the task that makes it.
func (s *Service) ask(ctx context.Context, by auth.Actor, act video.Act, change func(video.Video) (*video.Speech, error)) (v video.Video, err error) {
	id := act.Video
	if _, err := auth.VisibleVideo(ctx, s.store, by, auth.Write, id); err != nil {
		return v, err
	}
	err = s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, id); err != nil {
			return err
		}
		if v, err = tx.Video(ctx, id); err != nil {
			return err
		}
		if v.Status == video.Fail {
			return &video.Error{Kind: video.Conflict, Code: "video_failed", Msg: "The video has failed: nothing is said in it."}
		}
		if v.Speech, err = change(v); err != nil {
			return err
		}
		if err := tx.StoreFields(ctx, &v, "speech"); err != nil {
			return err
		}
		if err := tx.Did(ctx, act); err != nil {
			return err
		}
		return s.passes.StartTexts(ctx, tx, v)
	})
	return v, err
}

// Next returns a video as it is now, and what is to be made of it next: the transcription (-1), or a translation by its number.
func (s *Service) Next(ctx context.Context, id video.ID) (v video.Video, m video.MadeText, n int, open bool, err error) {
	v, err = s.store.Video(ctx, id)
	m, n, open = v.Speech.Next()
	return v, m, n, open, err
}

// Made is a text that a program has made.
type Made struct {
	Task     queue.Task
	Wanted   video.MadeText // as Next said
	Number   int            // likewise
	Language string         // what it turned out to be; "": as wanted
	Cues     []webvtt.Cue
}

// Publish lists a text as captions of its video, unless a client has uploaded captions in that language or the file had some.
// It does nothing if the text is not wanted any more.
func (s *Service) Publish(ctx context.Context, m Made) error {
	spoken, ok := languageOr(m.Language, m.Wanted.Language)
	if !ok || spoken == "" {
		spoken = language.Undetermined
	}
	f := video.File{Kind: video.SubtitlesKind, Source: video.FromSpeech, Language: spoken, Label: language.NameOf(spoken), ContentType: "text/vtt; charset=utf-8"}
	if m.Number >= 0 {
		f.Source = video.Translated
	}
	text := webvtt.Encode(m.Cues)
	f.Name, f.Size = objects.CaptionsFile(spoken, text), int64(len(text))
	return s.record(ctx, m.Task, m.Wanted, m.Number, func(tx *store.Tx, v *video.Video) (video.MadeText, error) {
		done := video.MadeText{Language: spoken, From: m.Wanted.From, Status: video.Ready}
		old, had := v.CaptionsIn(spoken)
		if had && old.Source != video.FromSpeech && old.Source != video.Translated {
			return done, nil
		}
		if had {
			v.Files = v.WithoutFile(old.Name) // the sweep removes it
			if err := words.Remove(ctx, tx, v.ID, old.Name); err != nil {
				return done, err
			}
			if err := s.purges.File(ctx, tx, *v, cdn.CaptionsRemoved, old.Name); err != nil {
				return done, err
			}
		} else if len(v.Captions()) >= video.MaxCaptions {
			return failed(m.Wanted, video.Failf(video.ProgramError, "The video has captions in %d languages already.", video.MaxCaptions)), nil
		}
		if err := s.putLocked(ctx, tx, objects.Playback(*v, f.Name), text); err != nil {
			return done, err
		}
		if err := words.Add(ctx, tx, *v, f, text); err != nil {
			return done, err
		}
		v.Files = v.WithFiles(f)
		tx.EmitCaptionsReady(v.ID)
		return done, tx.SetFindings(ctx, v.ID, store.Findings{Files: v.Files})
	})
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

// Fail records that a text could not be made. The video is as it was.
func (s *Service) Fail(ctx context.Context, t queue.Task, m video.MadeText, number int, f *video.Failure) error {
	return s.record(ctx, t, m, number, func(*store.Tx, *video.Video) (video.MadeText, error) { return failed(m, f), nil })
}

func failed(m video.MadeText, f *video.Failure) video.MadeText {
	m.Status, m.Failure = video.Fail, f
	return m
}

// record stores what became of a text, if it is still wanted in the same way.
func (s *Service) record(ctx context.Context, t queue.Task, m video.MadeText, number int, change func(*store.Tx, *video.Video) (video.MadeText, error)) error {
	if err := pipeline.CheckStorage(ctx, s.store, s.blobs); err != nil {
		return err
	}
	return s.store.WithVideoLock(ctx, t.Video, func(tx *store.Tx) error {
		v, err := tx.Video(ctx, t.Video)
		if err != nil || !v.DeletedAt.IsZero() {
			return err
		}
		now, n, open := v.Speech.Next()
		if !open || n != number || now != m {
			return nil
		}
		done, err := change(tx, &v)
		if err != nil {
			return err
		}
		v.Speech = v.Speech.With(number, done)
		return tx.StoreFields(ctx, &v, "speech")
	})
}

// Source returns the file that a translation is made of, in the languages of a video as it is now.
func Source(v video.Video, m video.MadeText) (video.File, bool) {
	from := m.From
	if from == "" && v.Speech.Transcription != nil {
		from = v.Speech.Transcription.Language
	}
	f, has := v.CaptionsIn(from)
	return f, has && !strings.EqualFold(from, m.Language)
}
