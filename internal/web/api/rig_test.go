package api

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/system"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/web/problem"
)

// rig is the API on real services, a real database and a clock that the test turns.
type rig struct {
	*servicetest.Rig
	webhooks *webhook.Service
	api      *API
	handler  http.Handler
	key      string // has all scopes
}

// newRig returns a rig whose API has these settings.
func newRig(t *testing.T, c Config, options ...func(*servicetest.Config)) *rig {
	t.Helper()
	r := &rig{Rig: servicetest.New(t, options...)}
	guard, err := outbound.NewGuard()
	r.Must(err)
	r.webhooks = webhook.New(r.Store, guard, WebhookBody, webhook.Config{}, r.Now, nil)
	disk := func() (system.Disk, error) { return system.Disk{Free: 1 << 30, Size: 1 << 40}, nil }
	r.api = New(Services{
		Keys: r.Keys, Catalog: r.Catalog, Uploads: r.Uploads, Deleter: r.Deleter, Tenants: r.Tenants, Webhooks: r.webhooks,
		Tokens: r.Tokens, Captions: r.Captions, System: system.New("1.2.3", r.Store, r.Queue, disk),
	}, c)
	mux := http.NewServeMux()
	r.api.Register(mux)
	r.handler = problem.RequestID(slog.New(slog.DiscardHandler), problem.Recover(r.api.InFrontOf(problem.Mux(mux))))
	r.key = r.newKey(auth.Key{})
	return r
}

// newKey makes a key and returns its secret.
func (r *rig) newKey(k auth.Key) string {
	r.T.Helper()
	secret, _, err := r.Keys.Create(r.T.Context(), k)
	r.Must(err)
	return secret
}
