// Package sound adds sound tracks to videos, names them, removes them, and says which one players begin with. The tracks of a
// file itself are made with the video (service/pipeline).
//
// The list of tracks is part of the row of a video. What is added is stored first and recorded afterwards, with the task that
// makes the track of it; a file that was not recorded is removed by the request that stored it, or by a sweep. The MP4 files hold the
// default track: when that changes, a task makes all of them again and replaces them in one transaction.
package sound

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/language"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/cdn"
	"github.com/spool-video/spool/internal/service/imports"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

// Service adds, changes and removes sound tracks.
type Service struct {
	store   *store.Store
	blobs   blob.Store
	uploads *uploads.Service
	imports *imports.Service // nil in a worker
	passes  *pipeline.Passes
	purges  *cdn.Recorder
}

// New returns the service. A CDN is told by way of purges.
func New(s *store.Store, blobs blob.Store, u *uploads.Service, i *imports.Service, passes *pipeline.Passes, purges *cdn.Recorder) *Service {
	return &Service{store: s, blobs: blobs, uploads: u, imports: i, passes: passes, purges: purges}
}

// Names are what people know a track by.
type Names struct {
	Language string // BCP 47, in any spelling; "": not known
	Label    string // "": the name of the language
	Kind     video.TrackKind
}

// Faults returns what is wrong with names, all at once.
func (n Names) Faults() []video.Fault {
	var faults []video.Fault
	if _, ok := language.Parse(n.Language); !ok && n.Language != "" {
		faults = append(faults, video.Fault{Field: "language", Code: "out_of_range", Message: "must be a language as BCP 47 names it, such as en, de-AT or zh-Hant"})
	}
	switch n.Kind {
	case "", video.MainTrack, video.Dub, video.Commentary, video.Description:
	default:
		faults = append(faults, video.Fault{Field: "kind", Code: "out_of_range", Message: "must be main, dub, commentary or description"})
	}
	if !language.IsLabel(n.Label) {
		faults = append(faults, video.Fault{Field: "label", Code: "out_of_range", Message: fmt.Sprintf("must be one line of at most %d characters", language.MaxLabel)})
	}
	return faults
}

// Add adds a track that is made of a file, which is read from body. length is -1 where it is not known.
func (s *Service) Add(ctx context.Context, by auth.Actor, id video.ID, n Names, body io.Reader, length int64) (video.Video, video.AudioTrack, error) {
	v, err := s.admit(ctx, by, id, n)
	if err != nil {
		return v, video.AudioTrack{}, err
	}
	key, err := s.uploads.StoreTrack(ctx, v, body, length)
	if err != nil {
		return v, video.AudioTrack{}, err
	}
	ctx = context.WithoutCancel(ctx) // the file is there, whether or not its client still is
	v, t, err := s.insert(ctx, v, n, key, func(*store.Tx, int) error { return nil })
	if err != nil {
		s.uploads.DiscardTrack(ctx, key)
	}
	return v, t, err
}

// Fetch adds a track that is made of the file at an address.
func (s *Service) Fetch(ctx context.Context, by auth.Actor, id video.ID, n Names, address string) (video.Video, video.AudioTrack, error) {
	v, err := s.admit(ctx, by, id, n)
	if err == nil {
		err = s.imports.Check(address)
	}
	if err != nil {
		return v, video.AudioTrack{}, err
	}
	return s.insert(ctx, v, n, "", func(tx *store.Tx, number int) error { return s.imports.InsertTrack(ctx, tx, v, number, address) })
}

// admit returns the video that a track is added to, or why there can be none.
func (s *Service) admit(ctx context.Context, by auth.Actor, id video.ID, n Names) (video.Video, error) {
	v, err := auth.VisibleVideo(ctx, s.store, by, auth.Write, id)
	if err != nil {
		return v, err
	}
	if faults := n.Faults(); len(faults) > 0 {
		return v, video.InvalidFields(faults...)
	}
	return v, checkRoom(v)
}

// checkRoom returns an error if a video can get no more tracks.
func checkRoom(v video.Video) error {
	switch {
	case v.Sound == nil:
		return &video.Error{Kind: video.Conflict, Code: "not_inspected", Msg: "The file of this video has not been inspected yet, so its length is not known. Add the track when durationSeconds is there."}
	case v.Status == video.Fail:
		return &video.Error{Kind: video.Conflict, Code: "not_inspected", Msg: "This video has failed, so it can get no sound track."}
	case len(v.Sound.Tracks) >= video.MaxTracks:
		return &video.Error{Kind: video.Conflict, Code: "limit_reached", Msg: fmt.Sprintf("A video has at most %d sound tracks. Delete one first.", video.MaxTracks)}
	}
	return nil
}

// insert records a track, with what makes it. before is the video as it was when its file began to arrive.
func (s *Service) insert(ctx context.Context, before video.Video, n Names, key string, more func(tx *store.Tx, number int) error) (v video.Video, t video.AudioTrack, err error) {
	err = s.change(ctx, before.ID, func(tx *store.Tx, now *video.Video) error {
		if err := checkRoom(*now); err != nil {
			return err
		}
		if now.Folder() != before.Folder() {
			return &video.Error{Kind: video.Conflict, Code: "file_replaced", Msg: "The file of this video was replaced while the track arrived. Send it again."}
		}
		id := uuid.Must(uuid.NewV7()).String()
		t = video.AudioTrack{
			ID: id, Number: now.Sound.Last + 1, Name: video.TrackName(id), Kind: cmp.Or(n.Kind, video.Dub),
			Source: video.Uploaded, Status: video.Processing, Upload: key,
		}
		named(&t, now.Sound, n.language(), n.Label)
		now.Sound = now.Sound.With(t)
		if err := tx.SetFindings(ctx, now.ID, store.Findings{Sound: now.Sound}); err != nil {
			return err
		}
		if err := more(tx, t.Number); err != nil {
			return err
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionAudioAdd, Video: now.ID, Target: id}); err != nil {
			return err
		}
		v = *now
		return s.passes.StartSound(ctx, tx, now.ID)
	})
	return v, t, err
}

// language returns the canonical name of the language.
func (n Names) language() string {
	name, ok := language.Parse(n.Language)
	if !ok {
		return language.Undetermined
	}
	return name
}

// change changes a video in a transaction that holds its lock.
func (s *Service) change(ctx context.Context, id video.ID, change func(tx *store.Tx, v *video.Video) error) error {
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, id); err != nil {
			return err
		}
		v, err := tx.Video(ctx, id)
		if err != nil {
			return err
		}
		return change(tx, &v)
	})
}

// Edit is a change of a track; nil members stay as they are.
type Edit struct {
	Language, Label *string
	Kind            *video.TrackKind
	Default         bool
}

// Edit changes a track.
func (s *Service) Edit(ctx context.Context, by auth.Actor, id video.ID, track string, e Edit) (v video.Video, t video.AudioTrack, err error) {
	if _, err := auth.VisibleVideo(ctx, s.store, by, auth.Write, id); err != nil {
		return v, t, err
	}
	n := Names{Language: *cmp.Or(e.Language, new("")), Label: *cmp.Or(e.Label, new("")), Kind: *cmp.Or(e.Kind, new(video.TrackKind("")))}
	if faults := n.Faults(); len(faults) > 0 {
		return v, t, video.InvalidFields(faults...)
	}
	err = s.change(ctx, id, func(tx *store.Tx, now *video.Video) error {
		var ok bool
		if t, ok = now.Sound.ByID(track); !ok {
			return notFound()
		}
		if e.Default && t.Status != video.Ready {
			return &video.Error{Kind: video.Conflict, Code: "track_not_ready", Msg: "Only a track that is ready can become the default one."}
		}
		if e.Kind != nil {
			t.Kind = cmp.Or(n.Kind, t.Kind)
		}
		if lang, label := t.Language, t.Label; e.Language != nil || e.Label != nil {
			if e.Language != nil {
				lang = n.language()
			}
			if e.Label != nil {
				label = n.Label
			}
			named(&t, now.Sound, lang, label)
		}
		now.Sound = now.Sound.With(t)
		if e.Default && !t.Default {
			now.Sound = now.Sound.WithDefault(t.Number)
			t, _ = now.Sound.Track(t.Number)
		}
		if err := tx.SetFindings(ctx, id, store.Findings{Sound: now.Sound}); err != nil {
			return err
		}
		if err := s.purges.Sound(ctx, tx, *now, cdn.SoundChanged); err != nil {
			return err
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionAudioEdit, Video: id, Target: track}); err != nil {
			return err
		}
		v = *now
		return s.passes.StartSound(ctx, tx, id)
	})
	return v, t, err
}

func notFound() error {
	return &video.Error{Kind: video.NotFound, Code: "track_not_found", Msg: "The video has no such sound track."}
}

// Delete removes a track from a video.
func (s *Service) Delete(ctx context.Context, by auth.Actor, id video.ID, track string) error {
	if _, err := auth.VisibleVideo(ctx, s.store, by, auth.Write, id); err != nil {
		return err
	}
	var v video.Video
	var gone video.AudioTrack
	err := s.change(ctx, id, func(tx *store.Tx, now *video.Video) error {
		var ok bool
		if gone, ok = now.Sound.ByID(track); !ok {
			return notFound()
		}
		if gone.Default && gone.Status != video.Fail {
			return &video.Error{Kind: video.Conflict, Code: "default_track", Msg: "This is the default track. Make another one the default first."}
		}
		if !gone.Status.Finished() && gone.Source == video.Embedded {
			return &video.Error{Kind: video.Conflict, Code: "track_not_ready", Msg: "This track of the file is just being made. Delete it when that is done."}
		}
		v = *now
		if err := s.purges.File(ctx, tx, v, cdn.SoundRemoved, gone.File()); err != nil {
			return err
		}
		if err := imports.ForgetTrack(ctx, tx, id, gone.Number); err != nil {
			return err
		}
		if err := tx.Did(ctx, video.Act{Action: video.ActionAudioDelete, Video: id, Target: track}); err != nil {
			return err
		}
		return tx.SetFindings(ctx, id, store.Findings{Sound: now.Sound.Without(gone.Number), Files: now.WithoutFile(gone.File())})
	})
	if err != nil {
		return err
	}
	return s.remove(context.WithoutCancel(ctx), v, gone) // what was promised is done
}

// remove removes the objects of a track that was deleted.
func (s *Service) remove(ctx context.Context, v video.Video, gone video.AudioTrack) error {
	if err := pipeline.CheckStorage(ctx, s.store, s.blobs); err != nil {
		return err
	}
	return s.store.WithVideoLock(ctx, v.ID, func(tx *store.Tx) error {
		now, err := tx.Video(ctx, v.ID)
		if err != nil || now.Folder() != v.Folder() {
			return err
		}
		keys := objects.Places(now, gone.File())
		if gone.Upload != "" {
			keys = append(keys, gone.Upload)
		}
		return pipeline.RemoveLocked(ctx, tx, s.blobs, keys)
	})
}

// Announce tells a CDN that the MP4 files of a video are others, in the transaction that replaces them.
func (s *Service) Announce(ctx context.Context, tx *store.Tx, v video.Video) error {
	return s.purges.Sound(ctx, tx, v, cdn.SoundChanged)
}

// named gives a track a language and a label that no other track of the video has; "": what the language and the kind say.
func named(t *video.AudioTrack, among *video.Sound, lang, label string) {
	t.Language = lang
	t.Label = video.UniqueLabel(cmp.Or(strings.TrimSpace(label), language.TrackLabel(lang, string(t.Kind))), among.Labels(t.Number))
}
