package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

// Webhooks manages the webhooks of a tenant.
type Webhooks interface {
	Create(ctx context.Context, by auth.Actor, d webhook.Draft) (webhook.Webhook, string, error)
	List(ctx context.Context, by auth.Actor) ([]webhook.Webhook, error)
	Get(ctx context.Context, by auth.Actor, id string) (webhook.Webhook, error)
	Update(ctx context.Context, by auth.Actor, id string, c webhook.Changes) (webhook.Webhook, error)
	Delete(ctx context.Context, by auth.Actor, id string) error
	RotateSecret(ctx context.Context, by auth.Actor, id string) (string, error)
	Test(ctx context.Context, by auth.Actor, id string) error
	Deliveries(ctx context.Context, by auth.Actor, id string, state webhook.State, after video.Cursor, limit int) (webhook.Page, error)
	Replay(ctx context.Context, by auth.Actor, delivery string) error
	Fetch(ctx context.Context, by auth.Actor, id string, limit int) ([]webhook.Fetched, error)
	Report(ctx context.Context, by auth.Actor, delivery, receipt string, a webhook.Attempt) error
}

type (
	webhookPath struct {
		ID string `path:"id" format:"uuid" doc:"The id of the webhook."`
	}
	deliveryPath struct {
		ID string `path:"id" format:"uuid" doc:"The id of the delivery."`
	}
)

// registerWebhooks is the part of the route table for webhooks.
func (a *API) registerWebhooks(h huma.API) {
	r, admin := h.OpenAPI().Components.Schemas, []auth.Scope{auth.Admin}
	op := func(id, route string, status int, summary string, body *huma.RequestBody, also ...int) huma.Operation {
		o := operation(r, id, route, status, summary, body, also...)
		o.Tags = []string{"webhook"}
		return o
	}
	register(h, op("createWebhook", "POST /api/webhook", 201, "Register a webhook", requestBody[newWebhook](r, true), 409, 413, 415), admin, a.createWebhook)
	register(h, op("listWebhooks", "GET /api/webhook", 200, "List webhooks", nil), admin, a.listWebhooks)
	register(h, op("getWebhook", "GET /api/webhook/{id}", 200, "Get a webhook", nil, 404), admin, byWebhook(a.getWebhook))
	register(h, op("updateWebhook", "PATCH /api/webhook/{id}", 200, "Change a webhook", requestBody[webhookChanges](r, true), 404, 413, 415), admin, byWebhook(a.updateWebhook))
	register(h, op("deleteWebhook", "DELETE /api/webhook/{id}", 200, "Delete a webhook and its log", nil, 404), admin, byWebhook(a.deleteWebhook))
	register(h, op("rotateWebhookSecret", "POST /api/webhook/{id}/rotate-secret", 200, "Give a webhook another secret; the former one signs too for 24 hours", nil, 404), admin, byWebhook(a.rotateSecret))
	register(h, op("testWebhook", "POST /api/webhook/{id}/test", 202, "Send an event of the type webhook.test", nil, 404, 409, 507), admin, byWebhook(a.testWebhook))
	register(h, op("fetchWebhookEvents", "POST /api/webhook/{id}/fetch", 200, "Fetch the events of a webhook without a URL", nil, 404, 409), admin, byWebhook(a.fetchEvents))
	deliveries := op("listDeliveries", "GET /api/webhook/{id}/deliveries", 200, "List the deliveries of the last 30 days, newest first", nil, 404)
	deliveries.Parameters = deliveryParameters()
	register(h, deliveries, admin, byWebhook(a.listDeliveries))
	register(h, op("replayDelivery", "POST /api/webhook/delivery/{id}/replay", 202, "Deliver an event once more", nil, 404, 409, 507), admin, byDelivery(a.replayDelivery))
	register(h, op("reportDelivery", "POST /api/webhook/delivery/{id}/report", 200, "Say what became of an event that was fetched",
		requestBody[deliveryReport](r, true), 404, 409, 413, 415), admin, byDelivery(a.reportDelivery))
}

// byWebhook parses the ID of the path for a handler.
func byWebhook[O any](handle func(context.Context, *call, string) (*O, error)) func(context.Context, *call, *webhookPath) (*O, error) {
	return func(ctx context.Context, c *call, in *webhookPath) (*O, error) {
		id, err := video.ParseID("id", in.ID)
		if err != nil {
			return nil, err
		}
		return handle(ctx, c, string(id))
	}
}

// byDelivery is byWebhook for the ID of a delivery.
func byDelivery[O any](handle func(context.Context, *call, string) (*O, error)) func(context.Context, *call, *deliveryPath) (*O, error) {
	return func(ctx context.Context, c *call, in *deliveryPath) (*O, error) {
		id, err := video.ParseID("id", in.ID)
		if err != nil {
			return nil, err
		}
		return handle(ctx, c, string(id))
	}
}

func (a *API) createWebhook(ctx context.Context, c *call, _ *nothing) (*answer[registeredWebhook], error) {
	draft, err := decodeBody(a, c, true, decodeWebhook)
	if err != nil {
		return nil, err
	}
	w, secret, err := a.services.Webhooks.Create(ctx, c.actor, draft)
	if err != nil {
		return nil, err
	}
	return &answer[registeredWebhook]{registeredWebhook{WebhookBasics: viewWebhook(w).WebhookBasics, Secret: secret}}, nil
}

func (a *API) listWebhooks(ctx context.Context, c *call, _ *nothing) (*answer[webhookList], error) {
	all, err := a.services.Webhooks.List(ctx, c.actor)
	if err != nil {
		return nil, err
	}
	out := webhookList{Webhooks: make([]webhookView, len(all))}
	for i, w := range all {
		out.Webhooks[i] = viewWebhook(w)
	}
	return &answer[webhookList]{out}, nil
}

func (a *API) getWebhook(ctx context.Context, c *call, id string) (*answer[webhookView], error) {
	w, err := a.services.Webhooks.Get(ctx, c.actor, id)
	if err != nil {
		return nil, err
	}
	return &answer[webhookView]{viewWebhook(w)}, nil
}

func (a *API) updateWebhook(ctx context.Context, c *call, id string) (*answer[webhookView], error) {
	changes, err := decodeBody(a, c, true, decodeWebhookChanges)
	if err != nil {
		return nil, err
	}
	w, err := a.services.Webhooks.Update(ctx, c.actor, id, changes)
	if err != nil {
		return nil, err
	}
	return &answer[webhookView]{viewWebhook(w)}, nil
}

func (a *API) deleteWebhook(ctx context.Context, c *call, id string) (*nothing, error) {
	return nil, a.services.Webhooks.Delete(ctx, c.actor, id)
}

func (a *API) rotateSecret(ctx context.Context, c *call, id string) (*answer[newSecret], error) {
	secret, err := a.services.Webhooks.RotateSecret(ctx, c.actor, id)
	if err != nil {
		return nil, err
	}
	return &answer[newSecret]{newSecret{secret}}, nil
}

func (a *API) testWebhook(ctx context.Context, c *call, id string) (*nothing, error) {
	return nil, a.services.Webhooks.Test(ctx, c.actor, id)
}

func (a *API) replayDelivery(ctx context.Context, c *call, id string) (*nothing, error) {
	return nil, a.services.Webhooks.Replay(ctx, c.actor, id)
}

func (a *API) listDeliveries(ctx context.Context, c *call, id string) (*answer[deliveryList], error) {
	q, err := decodeDeliveryList(c.request)
	if err != nil {
		return nil, err
	}
	page, err := a.services.Webhooks.Deliveries(ctx, c.actor, id, q.state, q.after, q.limit)
	if err != nil {
		return nil, err
	}
	out := deliveryList{Deliveries: make([]deliveryView, len(page.Deliveries))}
	for i, d := range page.Deliveries {
		out.Deliveries[i] = viewDelivery(d)
	}
	if page.Next != (video.Cursor{}) {
		out.NextCursor = page.Next.String()
	}
	return &answer[deliveryList]{out}, nil
}

func (a *API) fetchEvents(ctx context.Context, c *call, id string) (*answer[fetchedList], error) {
	all, err := a.services.Webhooks.Fetch(ctx, c.actor, id, webhook.MaxFetch)
	if err != nil {
		return nil, err
	}
	out := fetchedList{Events: make([]fetchedView, len(all))}
	for i, f := range all {
		out.Events[i] = fetchedView{DeliveryID: f.DeliveryID, Type: string(f.Type), Receipt: f.Receipt, Body: string(f.Body),
			Headers: fetchedHeaders{ID: f.ID, Timestamp: f.Timestamp, Signature: f.Signature}}
	}
	return &answer[fetchedList]{out}, nil
}

func (a *API) reportDelivery(ctx context.Context, c *call, id string) (*nothing, error) {
	report, err := decodeBody(a, c, true, decodeReport)
	if err != nil {
		return nil, err
	}
	return nil, a.services.Webhooks.Report(ctx, c.actor, id, report.receipt, report.attempt)
}

// deliveryQuery is a decoded request for the log.
type deliveryQuery struct {
	listQuery
	state webhook.State
}

func decodeDeliveryList(r *http.Request) (deliveryQuery, error) {
	q := deliveryQuery{listQuery: listQuery{limit: video.DefaultPage}}
	err := decodeQuery(r, func(values url.Values) []video.Fault {
		return slices.Concat(
			decodeParameter(values, "limit", q.decodeLimit),
			decodeParameter(values, "cursor", q.decodeCursor),
			decodeParameter(values, "status", q.decodeState),
		)
	})
	if err != nil {
		return deliveryQuery{}, err
	}
	return q, nil
}

func deliveryParameters() []*huma.Param {
	first, last := 1.0, float64(video.MaxPage)
	return []*huma.Param{
		{Name: "limit", In: "query", Description: "How many deliveries at most.",
			Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: &first, Maximum: &last, Default: video.DefaultPage}},
		{Name: "cursor", In: "query", Description: "The nextCursor of the page before; absent: the newest deliveries.", Schema: &huma.Schema{Type: huma.TypeString}},
		{Name: "status", In: "query", Description: "Only deliveries in this state.", Schema: &huma.Schema{Type: huma.TypeString, Enum: enum(webhook.States)}},
	}
}
