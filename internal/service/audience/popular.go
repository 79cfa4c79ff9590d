package audience

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// popularDays is within how many days a video has to be watched much.
const popularDays = 7

// Reward gives the codecs for popular videos to those that are. Within minutes a check of all ready videos
// (pipeline.Passes.Reconcile) finds what they lack and has it made, behind everything else.
func (s *Service) Reward(ctx context.Context) error {
	if len(s.config.Popular) == 0 {
		return nil
	}
	now := s.now()
	mine, err := s.store.AcquireRunOnce(ctx, "reward popular videos", cleanEvery-time.Minute, now)
	if err != nil || !mine {
		return err
	}
	ids, err := popularVideos(ctx, s.store.Queries, now.Truncate(day).AddDate(0, 0, 1-popularDays), s.config.PopularAfter)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.store.WithVideoLock(ctx, id, func(tx *store.Tx) error { return s.reward(ctx, tx, id) }); err != nil {
			return err
		}
	}
	return nil
}

// reward gives a ready video the codecs that it does not have. Without the uploaded file nothing can be made.
func (s *Service) reward(ctx context.Context, tx *store.Tx, id video.ID) error {
	v, err := tx.Video(ctx, id)
	if err != nil || v.Status != video.Ready || v.Source.Key == "" {
		return err
	}
	var fresh []video.Codec
	for _, c := range s.config.Popular {
		if !slices.Contains(v.Codecs, c) {
			fresh = append(fresh, c)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return setCodecs(ctx, tx, id, slices.Concat(v.Codecs, fresh), slices.Concat(v.Popular, fresh))
}

// popularVideos returns the videos that were watched for so long since a day.
func popularVideos(ctx context.Context, q store.Queries, since time.Time, watched time.Duration) ([]video.ID, error) {
	return store.Collect(ctx, q, "find popular videos", func(row *sql.Rows) (id video.ID, err error) {
		err = row.Scan(&id)
		return id, err
	}, `
		SELECT video_id FROM audience_video WHERE span = 'day' AND at >= $1
		 GROUP BY video_id HAVING SUM(watched_ms) >= $2 ORDER BY video_id`, since.UnixMilli(), watched.Milliseconds())
}

func setCodecs(ctx context.Context, tx *store.Tx, id video.ID, all, popular []video.Codec) error {
	codecs, err := json.Marshal(all)
	if err != nil {
		return err
	}
	because, err := json.Marshal(popular)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "give codecs to a popular video", `UPDATE video SET codecs = $1, popular_codecs = $2 WHERE id = $3`, string(codecs), string(because), id)
	return err
}
