package client

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestRequests wants each operation to be sent as the API describes it. What servers make of them is
// tested in test/e2e.
func TestRequests(t *testing.T) {
	t.Parallel()
	title, no := "New", false
	for want, do := range map[string]func(context.Context, *Client) error{
		`POST /api/video/v1/complete-upload `: func(ctx context.Context, c *Client) error { _, err := c.Complete(ctx, "v1"); return err },
		`GET /api/video/v1?expiresIn=2 `: func(ctx context.Context, c *Client) error {
			_, err := c.Video(ctx, "v1", 1500*time.Millisecond)
			return err
		},
		`GET /api/video/v1/private/2 `: func(ctx context.Context, c *Client) error {
			_, err := c.PrivateVideo(ctx, "v1", 1500*time.Millisecond)
			return err
		},
		`PATCH /api/video/v1 {"title":"New"}`: func(ctx context.Context, c *Client) error {
			_, err := c.Update(ctx, "v1", Changes{Title: &title})
			return err
		},
		`PATCH /api/video/v1 {"customMetadata":{"a":1}}`: func(ctx context.Context, c *Client) error {
			_, err := c.Update(ctx, "v1", Changes{Metadata: Metadata{"a": 1}})
			return err
		},
		`PATCH /api/video/v1 {"isPublic":false}`: func(ctx context.Context, c *Client) error {
			_, err := c.Update(ctx, "v1", Changes{Public: &no})
			return err
		},
		`PATCH /api/video/v1 {"allowedOrigins":null,"allowNoOrigin":false}`: func(ctx context.Context, c *Client) error {
			_, err := c.Update(ctx, "v1", Changes{AllowedOrigins: new([]string), AllowNoOrigin: &no})
			return err
		},
		`POST /api/video/v1/token {"expiresIn":3600}`: func(ctx context.Context, c *Client) error {
			_, err := c.Token(ctx, "v1", time.Hour)
			return err
		},
		`POST /api/video/v1/share {"label":"a","download":true}`: func(ctx context.Context, c *Client) error {
			_, err := c.CreateShare(ctx, "v1", NewShare{Label: "a", Download: true})
			return err
		},
		`GET /api/video/v1/share `:       func(ctx context.Context, c *Client) error { _, err := c.Shares(ctx, "v1"); return err },
		`DELETE /api/video/v1/share/s1 `: func(ctx context.Context, c *Client) error { return c.DeleteShare(ctx, "v1", "s1") },
		`POST /api/video/v1/original {"expiresIn":3600}`: func(ctx context.Context, c *Client) error {
			_, err := c.Original(ctx, "v1", time.Hour)
			return err
		},
		`GET /api/key `: func(ctx context.Context, c *Client) error { _, err := c.Key(ctx); return err },
		`POST /api/video {"isPublic":false,"sourceUrl":"https://a.example/b.mp4"}`: func(ctx context.Context, c *Client) error {
			_, err := c.Create(ctx, NewVideo{SourceURL: "https://a.example/b.mp4"})
			return err
		},
		`POST /api/video {"isPublic":false,"clip":{"videoId":"v1","startSeconds":1.5,"endSeconds":9}}`: func(ctx context.Context, c *Client) error {
			_, err := c.Create(ctx, NewVideo{Clip: &Clip{VideoID: "v1", Start: 1.5, End: 9}})
			return err
		},
		`POST /api/video/v1/import `: func(ctx context.Context, c *Client) error { _, err := c.RetryImport(ctx, "v1"); return err },
		`POST /api/video/resolution/r1/retry `: func(ctx context.Context, c *Client) error {
			_, err := c.RetryResolution(ctx, "r1")
			return err
		},
		`PUT /api/video/v1/captions/pt-BR?kind=captions&label=Brasil WEBVTT text/vtt`: func(ctx context.Context, c *Client) error {
			return c.SetCaptions(ctx, "v1", "pt-BR", strings.NewReader("WEBVTT"), CaptionOptions{Label: "Brasil", Kind: "captions"})
		},
		`PUT /api/video/v1/captions/en 1 application/x-subrip`: func(ctx context.Context, c *Client) error {
			return c.SetCaptions(ctx, "v1", "en", strings.NewReader("1"), CaptionOptions{})
		},
		"PUT /api/video/v1/poster \xff\xd8\xff image/jpeg": func(ctx context.Context, c *Client) error {
			return c.SetPoster(ctx, "v1", strings.NewReader("\xff\xd8\xff"))
		},
		`PUT /api/video/v1/poster {"timeSeconds":12.5}`: func(ctx context.Context, c *Client) error {
			return c.SetPosterTime(ctx, "v1", 12500*time.Millisecond)
		},
		`DELETE /api/video/v1/poster `:      func(ctx context.Context, c *Client) error { return c.ResetPoster(ctx, "v1") },
		`DELETE /api/video/v1/captions/en `: func(ctx context.Context, c *Client) error { return c.DeleteCaptions(ctx, "v1", "en") },
		`POST /api/webhook {"url":"https://a.example","events":["video.ready"]}`: func(ctx context.Context, c *Client) error {
			_, err := c.CreateWebhook(ctx, NewWebhook{URL: "https://a.example", Events: []string{EventReady}})
			return err
		},
		`GET /api/webhook `:    func(ctx context.Context, c *Client) error { _, err := c.Webhooks(ctx); return err },
		`GET /api/webhook/w1 `: func(ctx context.Context, c *Client) error { _, err := c.Webhook(ctx, "w1"); return err },
		`PATCH /api/webhook/w1 {"events":[],"enabled":false}`: func(ctx context.Context, c *Client) error {
			_, err := c.UpdateWebhook(ctx, "w1", WebhookChanges{Events: &[]string{}, Enabled: &no})
			return err
		},
		`DELETE /api/webhook/w1 `: func(ctx context.Context, c *Client) error { return c.DeleteWebhook(ctx, "w1") },
		`POST /api/webhook/w1/rotate-secret `: func(ctx context.Context, c *Client) error {
			_, err := c.RotateWebhookSecret(ctx, "w1")
			return err
		},
		`POST /api/webhook/w1/test `:            func(ctx context.Context, c *Client) error { _, err := c.TestWebhook(ctx, "w1"); return err },
		`GET /api/webhook/delivery/d1/message `: func(ctx context.Context, c *Client) error { _, _, err := c.DeliveryMessage(ctx, "d1"); return err },
		`POST /api/webhook/delivery/d1/replay `: func(ctx context.Context, c *Client) error { return c.ReplayDelivery(ctx, "d1") },
		`GET /api/webhook/w1/deliveries?status=failed `: func(ctx context.Context, c *Client) error {
			for _, err := range c.Deliveries(ctx, "w1", "failed") {
				return err
			}
			return nil
		},
	} {
		wantRequest(t, want, do)
	}
}

// TestRequestsOfAdministration is TestRequests for the audit log and the people who are signed in.
func TestRequestsOfAdministration(t *testing.T) {
	t.Parallel()
	for want, do := range map[string]func(context.Context, *Client) error{
		`GET /api/audit?action=key.create&actor=k1&limit=100 `: func(ctx context.Context, c *Client) error {
			for _, err := range c.Audit(ctx, AuditFilter{Actor: "k1", Action: "key.create"}) {
				return err
			}
			return nil
		},
		`GET /api/session?limit=100 `: func(ctx context.Context, c *Client) error {
			for _, err := range c.Sessions(ctx) {
				return err
			}
			return nil
		},
		`DELETE /api/session/s1 `: func(ctx context.Context, c *Client) error { return c.EndSession(ctx, "s1") },
	} {
		wantRequest(t, want, do)
	}
}

// TestRequestsOfOrganising is TestRequests for tags, expiry, previews, changes of many videos, and new files.
func TestRequestsOfOrganising(t *testing.T) {
	t.Parallel()
	title := "New"
	for want, do := range map[string]func(context.Context, *Client) error{
		`POST /api/video/v1/replace {"filename":"b.mp4","resolutions":["720p"]}`: func(ctx context.Context, c *Client) error {
			_, err := c.Replace(ctx, "v1", NewFile{Filename: "b.mp4", Resolutions: []string{"720p"}})
			return err
		},
		`DELETE /api/video/v1/replace `: func(ctx context.Context, c *Client) error { return c.GiveUpReplace(ctx, "v1") },
		`PATCH /api/video/v1 {"tags":[]}`: func(ctx context.Context, c *Client) error {
			_, err := c.Update(ctx, "v1", Changes{Tags: &[]string{}})
			return err
		},
		`PATCH /api/video/v1 {"title":"New","expiresAt":null}`: func(ctx context.Context, c *Client) error {
			_, err := c.Update(ctx, "v1", Changes{Title: &title, ExpiresAt: new(time.Time)})
			return err
		},
		`PATCH /api/video/v1 {"expiresAt":"2030-01-02T12:00:00Z"}`: func(ctx context.Context, c *Client) error {
			_, err := c.Update(ctx, "v1", Changes{ExpiresAt: new(time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC))})
			return err
		},
		`PATCH /api/video {"ids":["v1","v2"],"tags":{"add":["a"]},"expiresAt":null}`: func(ctx context.Context, c *Client) error {
			_, err := c.UpdateMany(ctx, []string{"v1", "v2"}, ManyChanges{AddTags: []string{"a"}, ExpiresAt: new(time.Time)})
			return err
		},
		"POST /api/watermark?name=Logo \x89PNG\r\n\x1a\n image/png": func(ctx context.Context, c *Client) error {
			_, err := c.AddWatermark(ctx, "Logo", strings.NewReader("\x89PNG\r\n\x1a\n"))
			return err
		},
		`GET /api/watermark `: func(ctx context.Context, c *Client) error {
			_, err := c.Watermarks(ctx)
			return err
		},
		`DELETE /api/watermark/w1 `: func(ctx context.Context, c *Client) error { return c.DeleteWatermark(ctx, "w1") },
		`GET /api/video/v1/private/60?end=9&start=1.5 `: func(ctx context.Context, c *Client) error {
			_, err := c.PreviewVideo(ctx, "v1", time.Minute, 1.5, 9)
			return err
		},
		`GET /api/tag?limit=100 `: func(ctx context.Context, c *Client) error {
			for _, err := range c.Tags(ctx) {
				return err
			}
			return nil
		},
		`GET /api/video?limit=100&tag=a+b&tag=c `: func(ctx context.Context, c *Client) error {
			for _, err := range c.Videos(ctx, Filter{Tags: []string{"a b", "c"}}) {
				return err
			}
			return nil
		},
	} {
		wantRequest(t, want, do)
	}
}

// wantRequest wants an operation to send one request: its method, address and body.
func wantRequest(t *testing.T, want string, do func(context.Context, *Client) error) {
	t.Helper()
	got := make(chan string, 1)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what came is compared below
		line := r.Method + " " + r.URL.RequestURI() + " " + string(body)
		if kind := r.Header.Get("Content-Type"); kind != "" && kind != "application/json" {
			line += " " + kind
		}
		if r.Header.Get("X-API-KEY") != "sp_key" {
			line += " without the key"
		}
		got <- line
		io.WriteString(w, `{}`)
	})
	if err := do(t.Context(), c); err != nil {
		t.Errorf("%s: %v", want, err)
	}
	if line := <-got; line != want {
		t.Errorf("sent %q, want %q", line, want)
	}
}

func TestRequestsAboutChapters(t *testing.T) {
	t.Parallel()
	for want, do := range map[string]func(context.Context, *Client) error{
		`PUT /api/video/v1/chapters {"chapters":[{"startSeconds":1.5,"title":"One"}]}`: func(ctx context.Context, c *Client) error {
			_, err := c.SetChapters(ctx, "v1", []Chapter{{StartSeconds: 1.5, EndSeconds: 9, Title: "One"}})
			return err
		},
		`PUT /api/video/v1/chapters {"chapters":[]}`: func(ctx context.Context, c *Client) error {
			_, err := c.SetChapters(ctx, "v1", nil)
			return err
		},
		`PUT /api/video/v1/chapters WEBVTT text/vtt`: func(ctx context.Context, c *Client) error {
			_, err := c.SetChaptersText(ctx, "v1", strings.NewReader("WEBVTT"))
			return err
		},
		`PUT /api/video/v1/chapters 0:00 One text/plain`: func(ctx context.Context, c *Client) error {
			_, err := c.SetChaptersText(ctx, "v1", strings.NewReader("0:00 One"))
			return err
		},
		`DELETE /api/video/v1/chapters `: func(ctx context.Context, c *Client) error { return c.DeleteChapters(ctx, "v1") },
	} {
		wantRequest(t, want, do)
	}
}

func TestRequestsForTheAudience(t *testing.T) {
	t.Parallel()
	for want, do := range map[string]func(context.Context, *Client) error{
		`GET /api/video/v1/audience?from=2030-01-02T12%3A00%3A00Z `: func(ctx context.Context, c *Client) error {
			_, err := c.VideoAudience(ctx, "v1", time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC), time.Time{})
			return err
		},
		`GET /api/audience `: func(ctx context.Context, c *Client) error {
			_, err := c.Audience(ctx, time.Time{}, time.Time{})
			return err
		},
	} {
		wantRequest(t, want, do)
	}
}
