package audience_test

import (
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestWhatIsWatchedMuchGetsMoreCodecs(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *servicetest.Rig) {
		ctx := t.Context()
		popular, quiet := r.Ready(servicetest.Plan("720p", "240p")).ID, r.Ready(servicetest.Plan("720p", "240p")).ID
		s, err := audience.New(audience.Config{On: true, Days: 400, Popular: []video.Codec{video.AV1}, PopularAfter: 20 * time.Hour},
			audience.Parts{Store: r.Store, Player: r.Player, Tokens: r.Tokens, Now: r.Now})
		r.Must(err)
		watch := func(id video.ID, hours time.Duration) {
			of := hours * time.Hour
			_, err := r.Store.Writer().ExecContext(ctx, `INSERT INTO audience_video (video_id, tenant, span, at, watched_ms) VALUES ($1, $2, 'day', $3, $4)`,
				id, r.By.Tenant, r.Now().UTC().Truncate(24*time.Hour).UnixMilli(), of.Milliseconds())
			r.Must(err)
		}
		watch(popular, 21)
		watch(quiet, 19)
		r.Must(s.Reward(ctx))
		v := r.Video(popular)
		if !slices.Equal(v.Codecs, []video.Codec{video.AV1}) || v.ReasonFor(video.AV1) != video.Popular || !v.LacksAny(video.AV1) {
			t.Errorf("the popular video is made in %v, of which %v are popular", v.Codecs, v.Popular)
		}
		if v := r.Video(quiet); len(v.Codecs) != 0 {
			t.Errorf("the other one is made in %v", v.Codecs)
		}
		if _, err := r.Passes.Reconcile(ctx); err != nil {
			t.Fatal(err)
		}
		steps, err := r.Store.Steps(ctx, popular)
		if err != nil || len(steps) == 0 {
			t.Errorf("nothing is to be made of it: %v, %v", steps, err)
		}
		r.Advance(time.Hour)
		r.Must(s.Reward(ctx)) // changes nothing
		if v := r.Video(popular); len(v.Codecs) != 1 || len(v.Popular) != 1 {
			t.Errorf("a second time it is made in %v", v.Codecs)
		}
	})
}
