package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

// webhookRoutes are the operations on the webhooks of a tenant, and on their deliveries.
type webhookRoutes struct{ webhooks *webhook.Service }

func (r webhookRoutes) register(t *table) {
	id, admin := pathID("The id of the webhook."), []auth.Scope{auth.Admin}
	op := func(id, route, summary string, status int, parameters []*huma.Param, errors ...int) operation {
		return operation{id: id, route: route, summary: summary, tag: "webhook", scopes: admin, status: status, parameters: parameters, errors: errors}
	}
	one := []*huma.Param{id}
	addWithBody(t, op("createWebhook", "POST /api/webhook", "Register a webhook", 201, nil, 409, 413, 415), r.create)
	add(t, op("listWebhooks", "GET /api/webhook", "List webhooks", 200, nil), r.list)
	add(t, op("getWebhook", "GET /api/webhook/{id}", "Get a webhook", 200, one, 404), r.get)
	addWithBody(t, op("updateWebhook", "PATCH /api/webhook/{id}", "Change a webhook", 200, one, 404, 413, 415), r.update)
	add(t, op("deleteWebhook", "DELETE /api/webhook/{id}", "Delete a webhook and its log", 200, one, 404), r.delete)
	add(t, op("rotateWebhookSecret", "POST /api/webhook/{id}/rotate-secret", "Give a webhook another secret; the former one signs too for 24 hours", 200, one, 404), r.rotateSecret)
	add(t, op("testWebhook", "POST /api/webhook/{id}/test", "Send an event of the type webhook.test", 202, one, 404, 409, 507), r.test)
	fetch := op("fetchWebhookEvents", "POST /api/webhook/{id}/fetch", "Fetch the events of a webhook without a URL", 200, one, 404, 409)
	fetch.costly = true
	fetch.scopes = []auth.Scope{auth.Admin, auth.Read} // an event tells of a video
	add(t, fetch, r.fetch)
	deliveries := op("listDeliveries", "GET /api/webhook/{id}/deliveries", "List the deliveries of the last 30 days, newest first", 200,
		append(described(new(deliveryQuery).parameters()), id), 404)
	deliveries.costly = true
	add(t, deliveries, r.deliveries)
	delivery := []*huma.Param{pathID("The id of the delivery.")}
	details := op("getMessage", "GET /api/webhook/delivery/{id}/message", "Get a delivery with the message that it carries", 200, delivery, 404)
	details.scopes = []auth.Scope{auth.Admin, auth.Read} // a message tells of a video
	add(t, details, r.delivery)
	add(t, op("replayDelivery", "POST /api/webhook/delivery/{id}/replay", "Deliver an event once more", 202, delivery, 404, 409, 507), r.replay)
	addWithBody(t, op("reportDelivery", "POST /api/webhook/delivery/{id}/report", "Say what became of an event that was fetched", 200, delivery, 404, 409, 413, 415), r.report)
}

func (r webhookRoutes) create(ctx context.Context, c *call, in *newWebhook) (*registeredWebhook, error) {
	w, secret, err := r.webhooks.Create(ctx, c.actor, webhook.Draft{URL: in.URL, Pull: in.Pull, Events: convertAll[video.EventType](in.Events), Description: in.Description})
	if err != nil {
		return nil, err
	}
	return &registeredWebhook{WebhookView: viewWebhook(w), Secret: secret}, nil
}

func (r webhookRoutes) list(ctx context.Context, c *call) (*webhookList, error) {
	all, err := r.webhooks.List(ctx, c.actor)
	if err != nil {
		return nil, err
	}
	out := &webhookList{Webhooks: make([]WebhookView, len(all))}
	for i, w := range all {
		out.Webhooks[i] = viewWebhook(w)
	}
	return out, nil
}

func (r webhookRoutes) get(ctx context.Context, c *call) (*WebhookView, error) {
	w, err := r.webhooks.Get(ctx, c.actor, string(c.id))
	if err != nil {
		return nil, err
	}
	return new(viewWebhook(w)), nil
}

func (r webhookRoutes) update(ctx context.Context, c *call, in *webhookChanges) (*WebhookView, error) {
	changes := webhook.Changes{URL: in.URL, Description: in.Description, Enabled: in.Enabled}
	if in.Events != nil {
		changes.Events = new(convertAll[video.EventType](*in.Events))
	}
	w, err := r.webhooks.Update(ctx, c.actor, string(c.id), changes)
	if err != nil {
		return nil, err
	}
	return new(viewWebhook(w)), nil
}

func (r webhookRoutes) delete(ctx context.Context, c *call) (*nothing, error) {
	return nil, r.webhooks.Delete(ctx, c.actor, string(c.id))
}

func (r webhookRoutes) rotateSecret(ctx context.Context, c *call) (*newSecret, error) {
	secret, err := r.webhooks.RotateSecret(ctx, c.actor, string(c.id))
	if err != nil {
		return nil, err
	}
	return &newSecret{secret}, nil
}

func (r webhookRoutes) test(ctx context.Context, c *call) (*testEvent, error) {
	event, err := r.webhooks.Test(ctx, c.actor, string(c.id))
	if err != nil {
		return nil, err
	}
	return &testEvent{event}, nil
}

func (r webhookRoutes) delivery(ctx context.Context, c *call) (*deliveryDetails, error) {
	d, body, err := r.webhooks.Delivery(ctx, c.actor, string(c.id))
	if err != nil {
		return nil, err
	}
	return &deliveryDetails{viewDelivery(d), string(body)}, nil
}

func (r webhookRoutes) replay(ctx context.Context, c *call) (*nothing, error) {
	return nil, r.webhooks.Replay(ctx, c.actor, string(c.id))
}

// deliveryQuery is what the log is asked for.
type deliveryQuery struct {
	page
	state webhook.State
}

func (q *deliveryQuery) parameters() []parameter {
	return append(q.page.parameters("deliveries", "the newest deliveries"), oneOf("status", "Only deliveries in this state.", &q.state, webhook.States))
}

func (r webhookRoutes) deliveries(ctx context.Context, c *call) (*deliveryList, error) {
	q := deliveryQuery{page: newPage()}
	if err := c.query(q.parameters()); err != nil {
		return nil, err
	}
	found, err := r.webhooks.Deliveries(ctx, c.actor, string(c.id), q.state, q.after, q.limit)
	if err != nil {
		return nil, err
	}
	out := &deliveryList{Deliveries: make([]DeliveryView, len(found.Deliveries)), NextCursor: nextCursor(found.Next)}
	for i, d := range found.Deliveries {
		out.Deliveries[i] = viewDelivery(d)
	}
	return out, nil
}

func (r webhookRoutes) fetch(ctx context.Context, c *call) (*fetchedList, error) {
	all, err := r.webhooks.Fetch(ctx, c.actor, string(c.id), webhook.MaxFetch)
	if err != nil {
		return nil, err
	}
	out := &fetchedList{Events: make([]fetchedView, len(all))}
	for i, f := range all {
		out.Events[i] = fetchedView{DeliveryID: f.DeliveryID, Type: string(f.Type), Receipt: f.Receipt, Body: string(f.Body),
			Headers: fetchedHeaders{ID: f.ID, Timestamp: f.Timestamp, Signature: f.Signature}}
	}
	return out, nil
}

func (r webhookRoutes) report(ctx context.Context, c *call, in *deliveryReport) (*nothing, error) {
	attempt := webhook.Attempt{Status: int(in.Status), Error: in.Error, Duration: time.Duration(in.Milliseconds) * time.Millisecond}
	return nil, r.webhooks.Report(ctx, c.actor, string(c.id), in.Receipt, attempt)
}
