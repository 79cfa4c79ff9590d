package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// The cost of one read or one write must not depend on how much is stored:
//
//	go test -run '^$' -bench . ./internal/backend/store
func BenchmarkStore(b *testing.B) {
	for _, videos := range []int{1_000, 20_000} {
		b.Run(fmt.Sprintf("videos=%d", videos), func(b *testing.B) {
			st := open(b, fresh(b))
			fill(b, st, videos)
			b.Run("read", func(b *testing.B) { benchmarkRead(b, st, videos) })
			b.Run("progress", func(b *testing.B) { benchmarkProgress(b, st, videos) })
			// The same without waiting for the disk, which hides everything else.
			run(b, st, `PRAGMA synchronous = OFF`)
			b.Run("progress-unsynced", func(b *testing.B) { benchmarkProgress(b, st, videos) })
			b.Run("insert-unsynced", func(b *testing.B) { benchmarkInsert(b, st) })
		})
	}
}

func videoNumber(n int) video.ID { return video.ID(fmt.Sprintf("00000000-0000-7000-8000-%012d", n)) }

// fill stores n videos with two resolutions and three steps each.
func fill(b *testing.B, st *store.Store, n int) {
	b.Helper()
	ctx := b.Context()
	steps := []store.Step{{Kind: "encode", Number: 0}, {Kind: "encode", Number: 1}, {Kind: "audio"}}
	err := st.InTx(ctx, func(tx *store.Tx) error {
		for i := range n {
			if err := tx.InsertVideo(ctx, someVideo(videoNumber(i))); err != nil {
				return err
			}
			if err := tx.InsertSteps(ctx, videoNumber(i), steps); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

func benchmarkRead(b *testing.B, st *store.Store, videos int) {
	for b.Loop() {
		if _, err := st.Video(b.Context(), videoNumber(rand.IntN(videos))); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkProgress writes what a worker writes every few seconds.
func benchmarkProgress(b *testing.B, st *store.Store, videos int) {
	ctx := b.Context()
	for b.Loop() {
		if _, err := st.SetProgress(ctx, videoNumber(rand.IntN(videos)), "encode", rand.IntN(2), rand.Float64()); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkInsert writes what the creation of a video and its inspection write, each in a transaction.
func benchmarkInsert(b *testing.B, st *store.Store) {
	ctx, steps := b.Context(), []store.Step{{Kind: "encode"}, {Kind: "audio"}}
	for b.Loop() {
		v := someVideo(video.ID(uuid.NewString()))
		err := insert(ctx, st, v)
		if err == nil {
			err = st.InTx(ctx, func(tx *store.Tx) error { return tx.InsertSteps(ctx, v.ID, steps) })
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVideo reads a finished video of ten hours. Its plan has thousands of
// chunks; players and lists do not need it.
func BenchmarkVideo(b *testing.B) {
	st, ctx, id := open(b, fresh(b)), b.Context(), videoNumber(1)
	plan := &video.Plan{Duration: 10 * time.Hour, Timescale: 90_000}
	for i := range 3600 {
		plan.Chunks = append(plan.Chunks, video.Chunk{Frames: 250, Spans: []video.Span{{From: int64(i) << 20, To: int64(i+1) << 20}}})
	}
	err := st.InTx(ctx, func(tx *store.Tx) error {
		v := someVideo(id)
		v.Status = video.Ready
		return errors.Join(tx.InsertVideo(ctx, v), tx.SetFindings(ctx, id, store.Findings{Plan: plan}))
	})
	if err != nil {
		b.Fatal(err)
	}
	for name, read := range map[string]func(context.Context, video.ID) (video.Video, error){"plain": st.Video, "with-plan": st.VideoWithPlan} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := read(ctx, id); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
