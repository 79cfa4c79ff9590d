package api

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/system"
)

// busySystem is a service at work.
func busySystem() system.Status {
	return system.Status{
		Version: "1.2.3",
		Workers: []queue.Worker{{
			About: queue.About{Version: "1.2.2", Sandbox: "landlock", Cores: 8}, ID: "m-1", Host: "m", Slots: 4,
			Age: time.Minute, Silent: 1500 * time.Millisecond, Done: 9, Failed: 1,
			Running: []queue.RunningTask{{Task: queue.Task{Kind: queue.Encode, Video: testID, Number: 3, Attempt: 2}, For: 5 * time.Second}, {Task: queue.Task{Kind: queue.Purge, Attempt: 1}}},
		}},
		Queue:  []system.KindStat{{Kind: queue.Encode, Stat: queue.Stat{Waiting: 7, Running: 1, Oldest: 90 * time.Second}}},
		Disk:   system.Disk{Free: 5, Size: 10},
		Stored: []system.Stored{{Area: "source", Objects: 2, Bytes: 1 << 40, CountedAt: time.Date(2030, 1, 2, 11, 0, 0, 0, time.UTC)}, {Area: "work"}},
	}
}

// What the whole service does is the operator's to see, not every tenant's.
func TestOnlyTheOperatorSeesTheSystem(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	if w := r.ask("GET", "/api/system", ""); w.Code != 200 {
		t.Errorf("the operator gets %d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/api/system", "/api/tenant"} {
		wantProblem(t, r.askAs(r.newKeyOf("acme"), "GET", path, ""), 403, "operator_only")
	}
}

func TestSystem(t *testing.T) {
	t.Parallel()
	var got, want any
	_ = json.Unmarshal([]byte(wire(t, viewSystem(busySystem()))), &got)
	_ = json.Unmarshal([]byte(`{"version": "1.2.3", "workers": [{"id": "m-1", "host": "m", "version": "1.2.2", "sandbox": "landlock", "cores": 8, "slots": 4,
		"upSeconds": 60, "silentSeconds": 1.5, "done": 9, "retried": 1, "tasks": [
			{"kind": "encode", "videoId": "`+testID+`", "number": 3, "attempt": 2, "seconds": 5}, {"kind": "purge", "number": 0, "attempt": 1, "seconds": 0}]}],
		"queue": [{"kind": "encode", "waiting": 7, "running": 1, "oldestSeconds": 90}], "disk": {"freeBytes": 5, "sizeBytes": 10},
		"storage": [{"area": "source", "objects": 2, "bytes": 1099511627776, "countedAt": "2030-01-02T11:00:00Z"}, {"area": "work", "objects": 0, "bytes": 0}]}`), &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the system (-want +got):\n%s", diff)
	}
}
