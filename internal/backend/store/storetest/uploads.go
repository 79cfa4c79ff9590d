package storetest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func uploadTests() []test {
	return []test{
		{"only a video that waits for its upload waits longer", uploadIsExtended},
		{"a video that may still get its file is kept open", uploadIsKeptOpen},
		{"an upload is accepted", uploadIsAccepted},
		{"an upload is accepted once", uploadIsAcceptedOnce},
		{"a refused upload can be repaired", refusedUploadIsRepaired},
		{"an upload is refused again and again", uploadIsRefusedAgain},
		{"an accepted upload is never refused", acceptedIsNotRefused},
		{"a video that ended after its upload accepts no other", endedAcceptsNoOther},
		{"a video that is being deleted takes no upload", deletedTakesNoUpload},
		{"an unknown video takes no upload", unknownTakesNoUpload},
		{"abandoned uploads are listed", abandonedAreListed},
		{"an abandoned upload expires once", uploadExpiresOnce},
		{"an upload that was extended does not expire", extendedDoesNotExpire},
		{"only a waiting upload expires", onlyWaitingExpires},
		{"videos whose upload failed are marked deleted", failedAreMarked},
		{"a failed upload is marked deleted once", failedAreMarkedOnce},
	}
}

var someSource = video.Source{Key: "source/a/b", Size: 6 << 30, ETag: `"f00"`}

// accept calls AcceptUpload and checks its answer.
func accept(t *testing.T, st *store.Store, id video.ID, s video.Source, want bool) {
	t.Helper()
	Change(t, st, func(tx *store.Tx) error {
		got, err := tx.AcceptUpload(t.Context(), id, s, noon)
		if got != want {
			t.Errorf("AcceptUpload = %t, want %t", got, want)
		}
		return err
	})
}

// refuse calls RefuseUpload and checks its answer.
func refuse(t *testing.T, st *store.Store, id video.ID, f *video.Failure, want bool) {
	t.Helper()
	Change(t, st, func(tx *store.Tx) error {
		got, err := tx.RefuseUpload(t.Context(), id, f)
		if got != want {
			t.Errorf("RefuseUpload = %t, want %t", got, want)
		}
		return err
	})
}

// expire calls ExpireUpload for those whose URL expired before noon, and checks its
// answer.
func expire(t *testing.T, st *store.Store, id video.ID, want bool) {
	t.Helper()
	Change(t, st, func(tx *store.Tx) error {
		got, err := tx.ExpireUpload(t.Context(), id, noon, tooLate)
		if got != want {
			t.Errorf("ExpireUpload = %t, want %t", got, want)
		}
		return err
	})
}

var tooLate = video.Failf(video.UploadExpired, "Too late.")

// expired stores a video whose upload URL has just expired at noon.
func expired(t *testing.T, st *store.Store, s video.Status, names ...video.Name) video.Video {
	t.Helper()
	v := withResolutions(NewVideo(names...), s, nil)
	v.Status, v.UploadExpiresAt = s, noon.Add(-time.Millisecond)
	insert(t, st, v)
	return v
}

// accepted is what AcceptUpload makes of v.
func accepted(v video.Video) video.Video {
	v.Status, v.Failure, v.CompletedAt, v.Source = video.Processing, nil, noon, someSource
	return withResolutions(v, video.Processing, nil)
}

// refused is what RefuseUpload makes of v.
func refused(v video.Video, f *video.Failure) video.Video {
	v.Status, v.Failure = video.Fail, f
	return withResolutions(v, video.Fail, f)
}

func withResolutions(v video.Video, s video.Status, f *video.Failure) video.Video {
	all := make([]video.Resolution, len(v.Resolutions))
	for i, r := range v.Resolutions {
		r.Status, r.Failure = s, f
		all[i] = r
	}
	v.Resolutions = all
	return v
}

func uploadIsAccepted(t *testing.T, st *store.Store) {
	v, other := Stored(t, st, video.PendingUpload, "720p", "144p"), Stored(t, st, video.PendingUpload, "720p")
	accept(t, st, v.ID, someSource, true)
	wantVideo(t, st, accepted(v))
	wantVideo(t, st, other)
}

func uploadIsAcceptedOnce(t *testing.T, st *store.Store) {
	v := Stored(t, st, video.PendingUpload, "720p")
	accept(t, st, v.ID, someSource, true)
	accept(t, st, v.ID, video.Source{Key: "another", Size: 1, ETag: "2"}, false)
	wantVideo(t, st, accepted(v))
}

func refusedUploadIsRepaired(t *testing.T, st *store.Store) {
	v := Stored(t, st, video.PendingUpload, "720p", "144p")
	f := video.Failf(video.NotAVideo, "This is a picture of a cat.")
	refuse(t, st, v.ID, f, true)
	wantVideo(t, st, refused(v, f))
	accept(t, st, v.ID, someSource, true)
	wantVideo(t, st, accepted(v))
}

func uploadIsRefusedAgain(t *testing.T, st *store.Store) {
	v, other := Stored(t, st, video.PendingUpload, "720p"), Stored(t, st, video.PendingUpload, "720p")
	refuse(t, st, v.ID, video.Failf(video.UploadMissing, "Nothing was uploaded."), true)
	last := video.Failf(video.UploadEmpty, "The file is empty.")
	refuse(t, st, v.ID, last, true)
	wantVideo(t, st, refused(v, last))
	wantVideo(t, st, other)
}

func acceptedIsNotRefused(t *testing.T, st *store.Store) {
	v := Stored(t, st, video.PendingUpload, "720p")
	accept(t, st, v.ID, someSource, true)
	refuse(t, st, v.ID, video.Failf(video.UploadExpired, "Too late."), false)
	wantVideo(t, st, accepted(v))
}

// endedAcceptsNoOther checks that a failure of the work is final: the upload had been accepted.
func endedAcceptsNoOther(t *testing.T, st *store.Store) {
	for _, end := range []video.Status{video.Ready, video.Fail} {
		v := Stored(t, st, video.PendingUpload, "720p")
		accept(t, st, v.ID, someSource, true)
		Change(t, st, func(tx *store.Tx) error { return tx.MoveVideo(t.Context(), v.ID, end, nil) })
		want := accepted(v)
		want.Status = end
		accept(t, st, v.ID, video.Source{Key: "another"}, false)
		refuse(t, st, v.ID, video.Failf(video.UploadEmpty, "The file is empty."), false)
		wantVideo(t, st, want)
	}
}

func deletedTakesNoUpload(t *testing.T, st *store.Store) {
	v := Stored(t, st, video.PendingUpload, "720p")
	Change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(t.Context(), v.ID, noon) })
	v.DeletedAt = noon
	accept(t, st, v.ID, someSource, false)
	refuse(t, st, v.ID, video.Failf(video.UploadEmpty, "The file is empty."), false)
	wantVideo(t, st, v)
}

func unknownTakesNoUpload(t *testing.T, st *store.Store) {
	v := NewVideo("720p")
	accept(t, st, v.ID, someSource, false)
	refuse(t, st, v.ID, video.Failf(video.UploadEmpty, "The file is empty."), false)
	wantNoVideo(t, st, v.ID)
}

func abandonedAreListed(t *testing.T, st *store.Store) {
	ctx := t.Context()
	expiring := func(after time.Duration, s video.Status) video.ID {
		v := NewVideo("720p")
		v.Status, v.UploadExpiresAt = s, noon.Add(after)
		insert(t, st, v)
		return v.ID
	}
	second, first, third := expiring(-2*time.Hour, video.PendingUpload), expiring(-3*time.Hour, video.PendingUpload), expiring(-time.Millisecond, video.PendingUpload)
	expiring(0, video.PendingUpload) // the cut-off itself is not before it
	expiring(time.Hour, video.PendingUpload)
	for _, s := range []video.Status{video.Processing, video.Ready, video.Fail} {
		expiring(-time.Hour, s)
	}
	// A video that is being deleted cannot be expired: if it were listed, the list
	// would never become empty.
	gone := expiring(-4*time.Hour, video.PendingUpload)
	Change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(ctx, gone, noon) })

	ids, err := st.AbandonedUploads(ctx, noon, 100)
	wantIDs(t, ids, err, first, second, third)
	ids, err = st.AbandonedUploads(ctx, noon, 2)
	wantIDs(t, ids, err, first, second)
	ids, err = st.AbandonedUploads(ctx, noon.Add(-3*time.Hour), 100)
	wantIDs(t, ids, err)

	refuse(t, st, first, video.Failf(video.UploadExpired, "Too late."), true)
	ids, err = st.AbandonedUploads(ctx, noon, 100)
	wantIDs(t, ids, err, second, third)
}

func uploadExpiresOnce(t *testing.T, st *store.Store) {
	v, other := expired(t, st, video.PendingUpload, "720p", "144p"), expired(t, st, video.PendingUpload, "720p")
	expire(t, st, v.ID, true)
	wantVideo(t, st, refused(v, tooLate))
	expire(t, st, v.ID, false)
	wantVideo(t, st, refused(v, tooLate))
	wantVideo(t, st, other)
}

// extendedDoesNotExpire extends an upload after the list of abandoned uploads was read.
func extendedDoesNotExpire(t *testing.T, st *store.Store) {
	v := expired(t, st, video.PendingUpload, "720p")
	if err := st.KeepUploadOpen(t.Context(), v.ID, noon); err != nil {
		t.Fatal(err)
	}
	v.UploadExpiresAt = noon // the cut-off itself is not before it
	expire(t, st, v.ID, false)
	wantVideo(t, st, v)
}

func onlyWaitingExpires(t *testing.T, st *store.Store) {
	for _, s := range []video.Status{video.Processing, video.Ready, video.Fail} {
		v := expired(t, st, s, "720p")
		expire(t, st, v.ID, false)
		wantVideo(t, st, v)
	}
	v := expired(t, st, video.PendingUpload, "720p")
	Change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(t.Context(), v.ID, noon) })
	v.DeletedAt = noon
	expire(t, st, v.ID, false)
	wantVideo(t, st, v)
	expire(t, st, NewVideo("720p").ID, false)
}

// markFailed marks what failed before noon, and checks which videos these are.
func markFailed(t *testing.T, st *store.Store, limit int, want ...video.ID) {
	t.Helper()
	ids, err := st.MarkFailedUploads(t.Context(), noon, noon.Add(time.Hour), limit)
	slices.Sort(ids)
	slices.Sort(want)
	wantIDs(t, ids, err, want...)
}

func failedAreMarked(t *testing.T, st *store.Store) {
	for _, s := range []video.Status{video.PendingUpload, video.Processing, video.Ready} {
		expired(t, st, s, "720p")
	}
	last := NewVideo("720p")
	last.Status, last.UploadExpiresAt = video.Fail, noon // the cut-off itself is not before it
	insert(t, st, last)
	worked := expired(t, st, video.PendingUpload, "720p") // it failed later, and was paid for
	accept(t, st, worked.ID, someSource, true)
	Change(t, st, func(tx *store.Tx) error { return tx.MoveVideo(t.Context(), worked.ID, video.Fail, nil) })
	markFailed(t, st, 100)

	never, wrong := expired(t, st, video.PendingUpload, "720p", "144p"), expired(t, st, video.PendingUpload, "720p")
	expire(t, st, never.ID, true)
	notVideo := video.Failf(video.NotAVideo, "This is a picture of a cat.")
	refuse(t, st, wrong.ID, notVideo, true)
	markFailed(t, st, 100, never.ID, wrong.ID)
	want := refused(never, tooLate)
	want.DeletedAt = noon.Add(time.Hour)
	wantVideo(t, st, want)
	markFailed(t, st, 100) // they are being deleted
	wantVideo(t, st, last)
}

// failedAreMarkedOnce marks videos from several processes at the same time.
func failedAreMarkedOnce(t *testing.T, st *store.Store) {
	want := make(map[video.ID]int)
	for range 30 {
		v := expired(t, st, video.PendingUpload, "720p")
		expire(t, st, v.ID, true)
		want[v.ID] = 0
	}
	var mu sync.Mutex
	mark := func() (n int) {
		ids, err := st.MarkFailedUploads(t.Context(), noon, noon, 5)
		if err != nil || len(ids) > 5 {
			t.Errorf("MarkFailedUploads = %v, %v; want at most 5", ids, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, id := range ids {
			want[id]++
		}
		return len(ids)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 5 {
				mark() // none, if others were faster
			}
		})
	}
	all.Wait()
	for mark() > 0 {
	}
	for id, n := range want {
		if n != 1 {
			t.Errorf("%s was marked %d times", id, n)
		}
	}
}

func uploadIsExtended(t *testing.T, st *store.Store) {
	waiting, working := Stored(t, st, video.PendingUpload, "720p"), Stored(t, st, video.Processing, "720p")
	later := noon.Add(1000 * time.Hour)
	for v, want := range map[video.ID]time.Time{waiting.ID: later, working.ID: working.UploadExpiresAt} {
		Change(t, st, func(tx *store.Tx) error { return tx.ExtendUpload(t.Context(), v, later) })
		got, err := st.Video(t.Context(), v)
		if err != nil || !got.UploadExpiresAt.Equal(want) {
			t.Errorf("waits until %v, %v; want %v", got.UploadExpiresAt, err, want)
		}
	}
}

func uploadIsKeptOpen(t *testing.T, st *store.Store) {
	waiting, failed := Stored(t, st, video.PendingUpload, "720p"), Stored(t, st, video.PendingUpload, "720p")
	givenUp, accepted := Stored(t, st, video.PendingUpload, "720p"), Stored(t, st, video.PendingUpload, "720p")
	accept(t, st, accepted.ID, someSource, true)
	refuse(t, st, failed.ID, video.Failf(video.UploadMissing, "nothing"), true)
	refuse(t, st, givenUp.ID, video.Failf(video.UploadExpired, "too late"), true)
	later, before := noon.Add(1000*time.Hour), noon.Add(-1000*time.Hour)
	for v, want := range map[video.ID]time.Time{
		waiting.ID: later, failed.ID: later, givenUp.ID: givenUp.UploadExpiresAt, accepted.ID: accepted.UploadExpiresAt,
	} {
		for _, until := range []time.Time{later, before} {
			if err := st.KeepUploadOpen(t.Context(), v, until); err != nil {
				t.Fatal(err)
			}
		}
		got, err := st.Video(t.Context(), v)
		if err != nil || !got.UploadExpiresAt.Equal(want) {
			t.Errorf("waits until %v, %v; want %v", got.UploadExpiresAt, err, want)
		}
	}
}
