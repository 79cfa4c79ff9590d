package clientcmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spool-video/spool/client"
)

// Webhooks is spool webhooks.
type Webhooks struct {
	List         WebhookList         `cmd:"" help:"List webhooks."`
	Add          WebhookAdd          `cmd:"" help:"Register a webhook, and print its secret."`
	Get          WebhookGet          `cmd:"" help:"Show a webhook."`
	Set          WebhookSet          `cmd:"" help:"Change a webhook."`
	Remove       WebhookRemove       `cmd:"" name:"rm" help:"Delete webhooks and their logs."`
	RotateSecret WebhookRotateSecret `cmd:"" name:"rotate-secret" help:"Give a webhook another secret."`
	Test         WebhookTest         `cmd:"" help:"Send a test event."`
	Deliveries   WebhookDeliveries   `cmd:"" help:"Show what was sent to a webhook, and what became of it."`
	Replay       WebhookReplay       `cmd:"" help:"Send events once more."`
	Listen       WebhookListen       `cmd:"" help:"Receive events on this machine, without a public address."`
}

// Help is shown by --help.
func (Webhooks) Help() string {
	return `The key needs the scope admin; listen also needs read.

    spool webhooks add https://example.com/hooks/spool --events=video.ready,video.failed
    spool webhooks listen --forward=http://localhost:3000/hook
`
}

// print prints a webhook.
func (c *Connection) print(env *Environment, h client.Webhook) error {
	if c.JSON {
		return printJSON(env.Stdout, h)
	}
	rows := [][]string{
		{"id", forTerminal(h.ID)}, {"url", target(h)}, {"events", eventNames(h)}, {"description", forTerminal(h.Description)},
		{"enabled", enabled(h)}, {"created", h.CreatedAt.Local().Format("2006-01-02 15:04")},
	}
	if h.Secret != "" {
		rows = append(rows, []string{"secret", forTerminal(h.Secret)})
	}
	return printTable(env.Stdout, rows)
}

func target(h client.Webhook) string {
	if h.Pull {
		return "(fetched)"
	}
	return forTerminal(h.URL)
}

func eventNames(h client.Webhook) string {
	if len(h.Events) == 0 {
		return "all"
	}
	return forTerminal(strings.Join(h.Events, ","))
}

func enabled(h client.Webhook) string {
	if !h.Enabled && h.DisabledReason != "" {
		return "no: " + forTerminal(h.DisabledReason)
	}
	return yesNo(h.Enabled)
}

// WebhookList is spool webhooks list.
type WebhookList struct{ Connection }

// Help is shown by --help.
func (WebhookList) Help() string {
	return `Example:

    spool webhooks list
`
}

// Run lists webhooks.
func (c *WebhookList) Run(ctx context.Context, env *Environment) error {
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	all, err := api.Webhooks(ctx)
	if err != nil {
		return c.fail(env, err)
	}
	rows := [][]string{{"ID", "ENABLED", "EVENTS", "URL", "DESCRIPTION"}}
	for _, h := range all {
		if c.JSON {
			if err := printJSON(env.Stdout, h); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{forTerminal(h.ID), yesNo(h.Enabled), eventNames(h), target(h), forTerminal(h.Description)})
	}
	if c.JSON {
		return nil
	}
	return printTable(env.Stdout, rows)
}

// WebhookAdd is spool webhooks add.
type WebhookAdd struct {
	Connection
	URL         string   `arg:"" help:"Where events are sent."`
	Events      []string `placeholder:"TYPE" help:"Only these events, such as video.ready,video.failed."`
	Description string   `placeholder:"TEXT" help:"A note for people."`
}

// Help is shown by --help.
func (WebhookAdd) Help() string {
	return `Prints the secret that signs the messages. It is shown this once.

    spool webhooks add https://example.com/hooks/spool --events=video.ready,video.failed
`
}

// Run registers a webhook.
func (c *WebhookAdd) Run(ctx context.Context, env *Environment) error {
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	h, err := api.CreateWebhook(ctx, client.NewWebhook{URL: c.URL, Events: c.Events, Description: c.Description})
	if err != nil {
		return c.fail(env, err)
	}
	return c.print(env, h)
}

// WebhookGet is spool webhooks get.
type WebhookGet struct {
	Connection
	ID string `arg:"" help:"The webhook."`
}

// Help is shown by --help.
func (WebhookGet) Help() string {
	return `Shows a webhook without its secret.

    spool webhooks get 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e
`
}

// Run shows a webhook.
func (c *WebhookGet) Run(ctx context.Context, env *Environment) error {
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	h, err := api.Webhook(ctx, c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	return c.print(env, h)
}

// WebhookSet is spool webhooks set.
type WebhookSet struct {
	Connection
	ID          string    `arg:"" help:"The webhook."`
	URL         *string   `name:"url" placeholder:"URL" help:"Where events are sent."`
	Events      *[]string `placeholder:"TYPE" help:"Only these events; all means all."`
	Description *string   `placeholder:"TEXT" help:"A note for people."`
	Enabled     *bool     `negatable:"" help:"Send events. --no-enabled stops that, and fails the deliveries that still wait."`
}

// Help is shown by --help.
func (WebhookSet) Help() string {
	return `Options that you leave out stay as they are.

    spool webhooks set 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --events=all
    spool webhooks set 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --no-enabled
`
}

// Run changes a webhook.
func (c *WebhookSet) Run(ctx context.Context, env *Environment) error {
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	if c.Events != nil && len(*c.Events) == 1 && (*c.Events)[0] == "all" {
		c.Events = &[]string{}
	}
	h, err := api.UpdateWebhook(ctx, c.ID, client.WebhookChanges{URL: c.URL, Events: c.Events, Description: c.Description, Enabled: c.Enabled})
	if err != nil {
		return c.fail(env, err)
	}
	return c.print(env, h)
}

// WebhookRemove is spool webhooks rm.
type WebhookRemove struct {
	Connection
	IDs []string `arg:"" name:"id" help:"The webhooks."`
	Yes bool     `short:"y" help:"Do not ask."`
}

// Help is shown by --help.
func (WebhookRemove) Help() string {
	return `On a terminal it asks first.

    spool webhooks rm 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --yes
`
}

// Run deletes webhooks.
func (c *WebhookRemove) Run(ctx context.Context, env *Environment) error {
	if env.Interactive && !c.Yes && !env.confirm(fmt.Sprintf("Delete %d webhooks with their logs?", len(c.IDs))) {
		fmt.Fprintln(env.Stderr, "Nothing was deleted.")
		return &Ended{Code: failed}
	}
	return c.forEach(env, withoutDuplicates(c.IDs), func(api *client.Client, id string) error { return api.DeleteWebhook(ctx, id) })
}

// forEach does something with several webhooks or deliveries, and says which failed.
func (c *Connection) forEach(env *Environment, ids []string, do func(*client.Client, string) error) error {
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	var count tally
	for _, id := range ids {
		err := do(api, id)
		count.add(err)
		if isKeyless(err) {
			return c.fail(env, err)
		} else if err != nil {
			fmt.Fprintf(env.Stderr, "spool: %s: %s\n", forTerminal(id), c.explain(err))
		} else if c.JSON {
			if err := printJSON(env.Stdout, map[string]any{"id": id, "done": true}); err != nil {
				return err
			}
		}
	}
	return count.outcome(len(ids))
}

// WebhookRotateSecret is spool webhooks rotate-secret.
type WebhookRotateSecret struct {
	Connection
	ID string `arg:"" help:"The webhook."`
}

// Help is shown by --help.
func (WebhookRotateSecret) Help() string {
	return `Prints the new secret. For 24 hours, messages are signed with both secrets.

    spool webhooks rotate-secret 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e
`
}

// Run rotates the secret.
func (c *WebhookRotateSecret) Run(ctx context.Context, env *Environment) error {
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	secret, err := api.RotateWebhookSecret(ctx, c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, map[string]string{"secret": secret})
	}
	_, err = fmt.Fprintln(env.Stdout, forTerminal(secret))
	return err
}

// WebhookTest is spool webhooks test.
type WebhookTest struct {
	Connection
	ID string `arg:"" help:"The webhook."`
}

// Help is shown by --help.
func (WebhookTest) Help() string {
	return `The event has the type webhook.test. A webhook gets it whatever events it asked for.

    spool webhooks test 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e
`
}

// Run sends a test event.
func (c *WebhookTest) Run(ctx context.Context, env *Environment) error {
	err := c.forEach(env, []string{c.ID}, func(api *client.Client, id string) error { _, err := api.TestWebhook(ctx, id); return err })
	if err != nil || c.JSON {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "A test event is on its way. What became of it shows: spool webhooks deliveries %s\n", forTerminal(c.ID))
	return err
}

// WebhookDeliveries is spool webhooks deliveries.
type WebhookDeliveries struct {
	Connection
	ID     string `arg:"" help:"The webhook."`
	Status string `placeholder:"STATE" help:"Only deliveries that are pending, delivered or failed."`
	Limit  int    `short:"n" default:"20" placeholder:"N" help:"How many to list at most; 0 means all of the last 30 days. Default: 20."`
}

// Help is shown by --help.
func (WebhookDeliveries) Help() string {
	return `Shows the log of the last 30 days, the newest first.

    spool webhooks deliveries 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --status=failed
`
}

// Run shows the log.
func (c *WebhookDeliveries) Run(ctx context.Context, env *Environment) error {
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	rows, n := [][]string{{"ID", "EVENT", "VIDEO", "STATE", "TRIES", "LAST TRY", "NEXT TRY"}}, 0
	for d, err := range api.Deliveries(ctx, c.ID, c.Status) {
		if err != nil {
			return c.fail(env, err)
		}
		if c.JSON {
			if err := printJSON(env.Stdout, d); err != nil {
				return err
			}
		} else {
			rows = append(rows, deliveryRow(d))
		}
		if n++; n == c.Limit {
			break
		}
	}
	if c.JSON {
		return nil
	}
	return printTable(env.Stdout, rows)
}

func deliveryRow(d client.Delivery) []string {
	last, next := "-", "-"
	if n := len(d.Attempts); n > 0 {
		a := d.Attempts[n-1]
		last = a.At.Local().Format("2006-01-02 15:04:05")
		if a.Error != "" {
			last += " " + forTerminal(a.Error)
		} else {
			last += " " + strconv.Itoa(a.Status)
		}
	}
	if d.NextAttemptAt != nil {
		next = d.NextAttemptAt.Local().Format("2006-01-02 15:04:05")
	}
	return []string{forTerminal(d.ID), forTerminal(d.Type), forTerminal(d.VideoID), forTerminal(d.State), strconv.Itoa(len(d.Attempts)), last, next}
}

// WebhookReplay is spool webhooks replay.
type WebhookReplay struct {
	Connection
	IDs []string `arg:"" name:"delivery" help:"The deliveries; spool webhooks deliveries lists them."`
}

// Help is shown by --help.
func (WebhookReplay) Help() string {
	return `An event that is sent again keeps its webhook-id.

    spool webhooks replay 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e
`
}

// Run sends events once more.
func (c *WebhookReplay) Run(ctx context.Context, env *Environment) error {
	return c.forEach(env, withoutDuplicates(c.IDs), func(api *client.Client, id string) error { return api.ReplayDelivery(ctx, id) })
}
