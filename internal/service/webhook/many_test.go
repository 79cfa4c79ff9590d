package webhook_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/need"
)

// A thousand webhooks, half of which never answer; fifty tenants get an event each second. The healthy
// ones get theirs as if the others did not exist.
func TestAThousandEndpointsHalfOfThemDead(t *testing.T) {
	need.TimeFor(t, "half a minute; TestADeadEndpointDelaysNobody stands for it")
	for _, on := range []string{"SQLite", "PostgreSQL"} {
		t.Run(on, func(t *testing.T) { thousandEndpoints(t, on == "PostgreSQL") })
	}
}

func thousandEndpoints(t *testing.T, postgres bool) {
	const tenants, perTenant, rounds = 50, 20, 5
	l := onDatabase(t, webhook.Config{}, postgres)
	l.places = 1024
	hang := make(chan struct{})
	var mu sync.Mutex
	recorded, late := map[string]time.Time{}, []time.Duration{}
	arrived := 0
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/dead" {
			<-hang
			return
		}
		mu.Lock()
		defer mu.Unlock()
		late = append(late, time.Since(recorded[r.URL.Query().Get("tenant")]))
		arrived++
	}))
	defer server.Close()
	defer close(hang)
	for i := range tenants {
		tenant := video.Tenant(fmt.Sprint("t", i))
		by := auth.Actor{Tenant: tenant, Scopes: auth.Scopes}
		for j := range perTenant {
			path := "/healthy"
			if j%2 == 0 {
				path = "/dead"
			}
			_, _, err := l.Create(t.Context(), by, webhook.Draft{URL: fmt.Sprintf("%s%s?tenant=%s", server.URL, path, tenant)})
			l.must(err)
		}
	}
	defer l.run()()
	for round := range rounds {
		for i := range tenants {
			tenant := video.Tenant(fmt.Sprint("t", i))
			mu.Lock()
			recorded[string(tenant)] = time.Now()
			mu.Unlock()
			l.readyOf(tenant)
		}
		want := (round + 1) * tenants * perTenant / 2
		eventually(t, "the healthy ones have theirs", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return arrived >= want
		})
	}
	slices.Sort(late)
	p50, p95, p99 := late[len(late)/2], late[len(late)*95/100], late[len(late)*99/100]
	t.Logf("%d deliveries to healthy webhooks: p50 %s, p95 %s, p99 %s, longest %s", len(late), p50, p95, p99, late[len(late)-1])
	if p95 > 2*time.Second {
		t.Errorf("p95 is %s; want at most 2 s", p95)
	}
}
