package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/service/audit"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// notAudited are the operations with other methods than GET that leave no entry, and why.
var notAudited = map[string]string{
	"token":            "it hands out a token for playback",
	"original":         "it hands out a URL for a file",
	"report delivery":  "a program that receives events does it for each of them",
	"fetch events":     "a program that receives events does it all the time",
	"import":           "the one of the scene goes on, so nothing changes; TestImports tries the other case",
	"retry resolution": "the one of the scene has not failed, so nothing changes; see TestAuditOfRetries",
}

// audited are the actions that operations leave entries of.
var audited = map[string]video.Action{
	"create": video.ActionVideoCreate, "complete": video.ActionVideoComplete, "replace": video.ActionVideoReplace,
	"give up replace": video.ActionVideoKeep, "edit": video.ActionVideoEdit, "edit many": video.ActionVideoEdit, "share": video.ActionShareCreate,
	"delete share": video.ActionShareDelete, "add resolution": video.ActionResolutionAdd, "put captions": video.ActionCaptionsPut,
	"replace captions": video.ActionCaptionsPut, "put chapters": video.ActionChaptersPut, "delete chapters": video.ActionChaptersDelete,
	"transcribe": video.ActionCaptionsTranscribe, "translate captions": video.ActionCaptionsTranslate, "add audio": video.ActionAudioAdd, "change audio": video.ActionAudioEdit, "delete audio": video.ActionAudioDelete, "delete captions": video.ActionCaptionsDelete, "put poster": video.ActionPosterPut, "delete poster": video.ActionPosterDelete,
	"add watermark": video.ActionWatermarkAdd, "delete watermark": video.ActionWatermarkDelete, "create key": video.ActionKeyCreate,
	"choose tenant": video.ActionSessionTenant, "end session": video.ActionSessionEnd,
	"revoke key": video.ActionKeyRevoke, "create webhook": video.ActionWebhookCreate, "update webhook": video.ActionWebhookUpdate,
	"rotate secret": video.ActionWebhookRotate, "replay delivery": video.ActionWebhookReplay, "test webhook": video.ActionWebhookTest,
	"delete webhook": video.ActionWebhookDelete, "delete resolution": video.ActionResolutionDelete, "delete video": video.ActionVideoDelete,
}

// entries returns the newest entries of the log.
func (r *rig) entries() []video.AuditEntry {
	r.T.Helper()
	p, err := audit.New(r.Store, r.Now).List(r.T.Context(), auth.Actor{Tenant: video.DefaultTenant, Scopes: auth.Scopes}, audit.Filter{}, video.Cursor{}, 100)
	r.Must(err)
	return p.Entries
}

// Every operation that changes something leaves its entry, and no other one does. A new operation has to be in one of the
// two lists.
func TestEveryChangeIsAudited(t *testing.T) {
	t.Parallel()
	s := newScene(t, Config{})
	me, err := s.Keys.Authenticate(t.Context(), s.key)
	s.Must(err)
	for _, op := range everyOperation {
		before := s.entries()
		q := s.request(op.name, op.method, op.path, op.body)
		q.RemoteAddr = "192.0.2.7:1234"
		if w := s.send(q); w.Code != op.status {
			t.Fatalf("%s: answer is %d %s, want %d", op.name, w.Code, w.Body, op.status)
		}
		fresh := freshOf(s.entries(), before)
		want, listed := audited[op.name]
		if _, none := notAudited[op.name]; !listed && !none && op.method != http.MethodGet {
			t.Errorf("%s leaves no entry in the audit log: see audited", op.name)
		}
		if !listed {
			if len(fresh) > 0 {
				t.Errorf("%s leaves the entries %+v, want none", op.name, fresh)
			}
			continue
		}
		if len(fresh) == 0 {
			t.Errorf("%s leaves no entry", op.name)
		}
		for _, e := range fresh {
			by := video.Doer{Kind: video.DoerKey, ID: me.KeyID}
			if op.name == "choose tenant" {
				by = video.Doer{Kind: video.DoerPerson, ID: "boss@example.com"}
			}
			if e.Action != want || e.Doer.Kind != by.Kind || e.Doer.ID != by.ID || e.Doer.Address != "192.0.2.7" || e.Tenant != me.Tenant {
				t.Errorf("%s leaves the entry %+v, want %s by %s", op.name, e, want, by.ID)
			}
			if e.Video == "" && e.Target == "" {
				t.Errorf("%s does not say what was changed: %+v", op.name, e)
			}
		}
	}
}

// freshOf returns the entries that are not among those before.
func freshOf(all, before []video.AuditEntry) []video.AuditEntry {
	return slices.DeleteFunc(slices.Clone(all), func(e video.AuditEntry) bool {
		return slices.ContainsFunc(before, func(b video.AuditEntry) bool { return b.ID == e.ID })
	})
}

// Each action that an operation can cause is in the list that clients choose from.
func TestActionsAreListed(t *testing.T) {
	t.Parallel()
	for name, action := range audited {
		if !slices.Contains(video.Actions, action) {
			t.Errorf("%s: %s is not in video.Actions", name, action)
		}
	}
}

func TestAuditOfRetries(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	v := r.Processing(video.Draft{Resolutions: []video.Name{"720p"}})
	r.Must(r.GiveUpVideo(t.Context(), v.ID, &video.Failure{Code: video.Corrupt, Message: "The file is damaged."}))
	rid := string(v.Resolutions[0].ID)
	if w := r.ask("POST", "/api/video/resolution/"+rid+"/retry", ""); w.Code != 200 {
		t.Fatalf("answer is %d %s", w.Code, w.Body)
	}
	if e := r.entries()[0]; e.Action != video.ActionResolutionRetry || e.Video != v.ID || e.Target != rid {
		t.Errorf("the entry is %+v", e)
	}
}

// What was refused has changed nothing, and a repeated request nothing more.
func TestNothingIsAuditedThatDidNotHappen(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	create := func() *http.Request {
		q := request("POST", "/api/video", validDraft)
		q.Header.Set("Idempotency-Key", "once")
		return q
	}
	r.send(create())
	before := r.entries()
	r.send(create())
	r.ask("POST", "/api/video", `{"filename":1}`)
	r.ask("DELETE", "/api/video/"+testID, "")
	r.ask("DELETE", "/api/key/"+testID, "")
	r.askAs(r.newKeyOf("other"), "DELETE", "/api/video/"+string(before[0].Video), "")
	if fresh := freshOf(r.entries(), before); len(fresh) > 0 {
		t.Errorf("entries of changes that were not made: %+v", fresh)
	}
}

func TestAuditIsOfOneTenant(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	r.ask("POST", "/api/video", validDraft)
	other := r.newKeyOf("other")
	r.askAs(other, "POST", "/api/video", `{"filename":"b.mp4","resolutions":["720p"],"isPublic":true}`)
	var log struct {
		Entries []struct {
			Action string
			Actor  struct{ Kind, ID, Name string }
		}
		NextCursor string
	}
	r.decode(r.askAs(other, "GET", "/api/audit?limit=1", ""), &log)
	if len(log.Entries) != 1 || log.Entries[0].Action != "video.create" || log.NextCursor == "" {
		t.Errorf("the first page is %+v, want one entry and another page", log)
	}
	mine := log.Entries[0].Actor.ID
	r.decode(r.askAs(other, "GET", "/api/audit?actor="+mine, ""), &log)
	if len(log.Entries) != 1 {
		t.Errorf("by the key of the tenant: %+v, want one entry", log)
	}
	log.Entries = nil
	r.decode(r.askAs(other, "GET", "/api/audit?action=key.create&cursor="+log.NextCursor, ""), &log)
	if len(log.Entries) != 1 || log.Entries[0].Actor.Kind != "system" {
		t.Errorf("the creation of the key: %+v, want one entry by the system", log)
	}
	wantProblem(t, r.ask("GET", "/api/audit?action=video.watch", ""), 400, "invalid_request")
	wantProblem(t, r.ask("GET", "/api/audit?actor="+strings.Repeat("a", maxActor+1), ""), 400, "invalid_request")
}
