package system_test

import (
	"context"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/system"
	"github.com/spool-video/spool/internal/video"
)

// crowd is a queue with a worker that runs tasks of two tenants.
type crowd struct{ queue.Queue }

func (crowd) Workers(context.Context) ([]queue.Worker, error) {
	return []queue.Worker{{ID: "w", Running: []queue.RunningTask{
		{Task: queue.Task{Kind: queue.Encode, Video: "mine", Number: 4, Tenant: video.DefaultTenant}},
		{Task: queue.Task{Kind: queue.Audio, Video: "theirs", Number: 5, Tenant: "b"}},
		{Task: queue.Task{Kind: queue.AV1, Video: "mine", Number: 6, Tenant: video.DefaultTenant}},
		{Task: queue.Task{Kind: queue.AV1, Video: "theirs", Number: 7, Tenant: "b"}},
	}}}, nil
}

func TestStatus(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	b.Processing(video.Draft{})
	b.Must(system.RecordStored(t.Context(), b.Store, system.Stored{Area: "source", Objects: 1, Bytes: 9, CountedAt: time.Now()}))
	s := system.New("1.2.3", b.Store, crowd{b.Queue}, func() (system.Disk, error) { return system.Disk{Free: 1, Size: 2}, nil })
	a := auth.Actor{Tenant: video.DefaultTenant, Scopes: []auth.Scope{auth.Admin}}
	for range 2 { // the shared answer must stay whole
		got, err := s.Status(t.Context(), a)
		b.Must(err)
		running := got.Workers[0].Running
		if running[0].Video != "mine" || running[0].Number != 4 || running[1].Kind != queue.Audio || running[1].Video != "" || running[1].Number != 0 {
			t.Errorf("the operator sees %+v, want its own video only", running)
		}
		if running[2].Video != "mine" || running[2].Number != 6 || running[3].Video != "" || running[3].Number != 0 {
			t.Errorf("of what runs in spare time, the operator sees %+v, want its own video only", running[2:])
		}
		if got.Version != "1.2.3" || got.Disk.Size != 2 || len(got.Queue) != len(pipeline.Kinds()) || len(got.Stored) != 5 {
			t.Errorf("the status is %+v", got)
		}
		for _, k := range got.Queue {
			if k.Kind == queue.Inspect && k.Waiting != 1 {
				t.Errorf("%d videos wait to be inspected, want 1", k.Waiting)
			}
		}
		for _, c := range got.Stored {
			if want := map[string]int64{"source": 9}[c.Area]; c.Bytes != want {
				t.Errorf("%s has %d bytes, want %d", c.Area, c.Bytes, want)
			}
		}
	}
	got, err := s.Status(t.Context(), auth.Actor{Tenant: "b", Scopes: auth.Scopes})
	servicetest.WantCode(t, err, video.Forbidden, "operator_only")
	if len(got.Workers)+len(got.Queue)+len(got.Stored) > 0 {
		t.Errorf("tenant b sees %+v", got)
	}
	_, err = s.Status(t.Context(), auth.Actor{Tenant: video.DefaultTenant, Scopes: []auth.Scope{auth.Read, auth.Write, auth.Delete}})
	servicetest.WantCode(t, err, video.Forbidden, "insufficient_scope")
}
