package store

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store/explaintest"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/need"
)

func openHere(t *testing.T) *Store {
	t.Helper()
	s, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "spool.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Each of these settings, left out, would show only when it is too late: after
// a power cut, or with rows that belong to nobody.
func TestCheckFindsMissingSettings(t *testing.T) {
	t.Parallel()
	all := []string{"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"}
	for name, pragmas := range map[string][]string{
		"journal_mode=delete": {all[0], all[2], all[3]},
		"synchronous=1":       {all[0], all[1], "synchronous(NORMAL)", all[3]},
		"foreign_keys=0":      {all[0], all[1], all[2]},
		"":                    all,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := openSQLite(filepath.Join(t.TempDir(), "spool.db"), url.Values{"_pragma": pragmas})
			if err != nil {
				t.Fatal(err)
			}
			db.SetMaxOpenConns(1)
			s := &Store{Queries: Queries{db}, write: db, read: db}
			t.Cleanup(func() { s.Close() })
			err = s.check(t.Context(), migrations)
			if name == "" && err != nil {
				t.Errorf("check = %v with every setting in place", err)
			}
			if name != "" && (err == nil || !strings.Contains(err.Error(), name)) {
				t.Errorf("check = %v, want it to say %s", err, name)
			}
		})
	}
}

func TestReadersCannotWrite(t *testing.T) {
	t.Parallel()
	s := openHere(t)
	tx := &Tx{Queries: Queries{s.read}, querier: s.read}
	if err := tx.RemoveVideo(t.Context(), "a"); video.KindOf(err) != video.Unavailable {
		t.Errorf("a write through the readers = %v, want it refused", err)
	}
}

// Whatever runs for each request or each task has to cost the same with ten
// videos and with ten million: it finds its rows by an index. Lists of keys and
// of deleted videos may read everything; they are short or rare.
func TestNoStatementReadsAWholeTable(t *testing.T) {
	t.Parallel()
	s, ctx := openHere(t), t.Context()
	var scans []string
	err := s.InTx(ctx, func(tx *Tx) error {
		spy := explaintest.Spy{Querier: tx.querier, T: t, Scans: &scans}
		q := Queries{spy}
		everyStatement(ctx, &Store{Queries: q}, &Tx{Queries: q, querier: spy, now: time.Now})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, scan := range scans {
		t.Error(scan)
	}
}

// everyStatement calls all that runs often. What the calls answer is tested
// elsewhere.
func everyStatement(ctx context.Context, s *Store, tx *Tx) {
	now := time.UnixMilli(1)
	_ = tx.InsertVideo(ctx, video.Video{ID: "a", Status: video.PendingUpload, CreatedAt: now, UploadExpiresAt: now, Tags: []string{"t"}, Metadata: []byte(`{"k":"v","l":"v","m":"v"}`),
		Resolutions: []video.Resolution{{ID: "r", Name: "720p", Status: video.PendingUpload}}})
	_, _ = tx.Video(ctx, "a")
	_ = tx.StoreFields(ctx, &video.Video{ID: "a"}, "title", "tags")
	_, _ = s.VideoOf(ctx, "r")
	_ = tx.Lock(ctx, "a")
	_, _ = tx.AcceptUpload(ctx, "a", video.Source{}, now)
	_, _ = tx.RefuseUpload(ctx, "a", video.Failf(video.UploadEmpty, "Empty."))
	_ = tx.MoveVideo(ctx, "a", video.Ready, nil)
	_ = tx.MoveResolution(ctx, "r", video.Ready, nil)
	_ = tx.SetFindings(ctx, "a", Findings{Plan: new(video.Plan), Playable: now})
	_ = tx.SetOutput(ctx, video.Resolution{ID: "r"})
	_ = tx.InsertSteps(ctx, "a", []Step{{Kind: "encode"}})
	_, _ = tx.Steps(ctx, "a")
	_, _ = s.StepTotals(ctx, []video.ID{"a", "b"}, "assemble")
	_, _ = tx.SelectVideos(ctx, `WHERE id = $1`, "a")
	_, _ = tx.FinishStep(ctx, "a", Step{Kind: "encode", Frames: 1}, now)
	_, _ = tx.setProgress(ctx, "a", "encode", 0, 1)
	_, _ = tx.CountFault(ctx, "a", "encode", 0)
	_ = tx.DropSteps(ctx, "a")
	_, _ = s.AbandonedUploads(ctx, now, 100)
	_, _ = s.ExpiredVideos(ctx, now, 100)
	_, _ = tx.TellExpiring(ctx, now, 100)
	_ = tx.TellExpiringVideo(ctx, "a", now)
	_ = tx.MarkDeleted(ctx, "a", now)
	_ = tx.RemoveResolution(ctx, "r")
	_ = tx.RemoveVideo(ctx, "a")
	_ = tx.ExtendUpload(ctx, "a", now)
	_ = tx.CountUpload(ctx, "a", 1)
	_, _ = tx.ReopenUpload(ctx, "a", now)
	_ = tx.SetImportProgress(ctx, "a", 0.5)
}

// TestManyOpenANewFile opens new databases from several sides at once, as a server and a command do.
func TestManyOpenANewFile(t *testing.T) {
	t.Parallel()
	dir, rounds := t.TempDir(), 5
	if need.Long() {
		rounds = 100
	}
	for i := range rounds {
		path := filepath.Join(dir, fmt.Sprint(i))
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				s, err := OpenSQLite(t.Context(), path)
				if err == nil {
					err = s.Close()
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}
