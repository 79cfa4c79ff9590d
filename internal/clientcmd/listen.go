package clientcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spool-video/spool/client"
)

// WebhookListen is spool webhooks listen.
type WebhookListen struct {
	Connection
	Forward string   `placeholder:"URL" help:"The address of your program, such as http://localhost:3000/hook. Default: events are only printed."`
	Events  []string `placeholder:"TYPE" help:"Only these events."`
}

// Help is shown by --help.
func (WebhookListen) Help() string {
	return `Prints each event on a line; --json prints it whole. With --forward, your program gets
the events too, signed as the server signs them. The secret is printed first. For this
the command creates a webhook, which it removes when you press Ctrl-C.

    spool webhooks listen
    spool webhooks listen --json
    spool webhooks listen --forward=http://localhost:3000/hook
`
}

const (
	fetchPause   = time.Second
	forwardLimit = 15 * time.Second
	// removalTimeout is how long the webhook's removal may take.
	removalTimeout = 5 * time.Second
)

// Run passes events on until Ctrl-C.
func (c *WebhookListen) Run(ctx context.Context, env *Environment) error {
	if u, err := url.Parse(c.Forward); c.Forward != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return &UsageError{Text: "--forward must be an address such as http://localhost:3000/hook"}
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	signal.Ignore(syscall.SIGPIPE)     // a reader that leaves must not leave the webhook behind: the next write is an error
	first, err := c.client(env, short) // a person waits for the first answer
	if err != nil {
		return c.fail(env, err)
	}
	api, err := c.client(env, long)
	if err != nil {
		return c.fail(env, err)
	}
	host, _ := os.Hostname() // only for people
	h, err := first.CreateWebhook(ctx, client.NewWebhook{Pull: true, Events: c.Events, Description: strings.TrimSpace("spool webhooks listen " + host)})
	if err != nil {
		return c.fail(env, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalTimeout)
		defer cancel()
		if err := api.DeleteWebhook(ctx, h.ID); err != nil {
			fmt.Fprintf(env.Stderr, "spool: the webhook %s is still there: %s\n", forTerminal(h.ID), c.explain(err))
		}
	}()
	err = c.printIntroduction(env, h)
	if err == nil {
		err = c.listen(ctx, env, api, h)
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil // the reader of the output has closed it
	}
	return err
}

func (c *WebhookListen) printIntroduction(env *Environment, h client.Webhook) error {
	if c.JSON {
		return printJSON(env.Stdout, h)
	}
	if c.Forward == "" {
		_, err := fmt.Fprintf(env.Stdout, "Webhook %s prints events. Ctrl-C ends it.\n", forTerminal(h.ID))
		return err
	}
	_, err := fmt.Fprintf(env.Stdout, "Webhook %s forwards to %s. Its secret:\n\n    %s\n\nCtrl-C ends it.\n", forTerminal(h.ID), withoutPassword(c.Forward), forTerminal(h.Secret))
	return err
}

// listen passes events on.
func (c *WebhookListen) listen(ctx context.Context, env *Environment, api *client.Client, h client.Webhook) error {
	for ctx.Err() == nil {
		events, err := api.FetchEvents(ctx, h.ID)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return c.fail(env, err)
		}
		for _, e := range events {
			o := client.DeliveryOutcome{Status: http.StatusNoContent} // printed, which is what was asked for
			if c.Forward != "" {
				o = c.forward(ctx, e)
			}
			if ctx.Err() != nil {
				return nil // the next listener fetches it again
			}
			if err := api.ReportDelivery(ctx, e, o); err != nil && ctx.Err() == nil {
				fmt.Fprintf(env.Stderr, "spool: %s\n", c.explain(err))
			}
			if err := c.printOutcome(env, e, o); err != nil {
				return err
			}
		}
		if len(events) == 0 {
			select {
			case <-time.After(fetchPause):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// forward sends an event to the program.
func (c *WebhookListen) forward(ctx context.Context, e client.FetchedEvent) client.DeliveryOutcome {
	ctx, cancel := context.WithTimeout(ctx, forwardLimit)
	defer cancel()
	began := time.Now()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Forward, strings.NewReader(e.Body))
	if err != nil {
		return client.DeliveryOutcome{Error: "The address to forward to is not valid."}
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range e.Headers {
		r.Header.Set(name, value)
	}
	noRedirects := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := noRedirects.Do(r)
	if err != nil {
		return client.DeliveryOutcome{Error: "The program that events are forwarded to did not answer.", Took: time.Since(began)}
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)) // only the status counts
	return client.DeliveryOutcome{Status: res.StatusCode, Took: time.Since(began)}
}

// subject says in a few words which video an event is about, and how it is.
func subject(e client.FetchedEvent) string {
	var body struct {
		Data struct {
			ID, Filename, Title string
			Status              string
		}
	}
	if err := json.Unmarshal([]byte(e.Body), &body); err != nil || body.Data.ID == "" {
		return e.Body
	}
	return fmt.Sprintf("%s  %s  %s", body.Data.ID, body.Data.Status, cmp.Or(body.Data.Title, body.Data.Filename))
}

// printOutcome prints what became of an event.
func (c *WebhookListen) printOutcome(env *Environment, e client.FetchedEvent, o client.DeliveryOutcome) error {
	if c.JSON {
		return printJSON(env.Stdout, struct {
			client.FetchedEvent
			Status int    `json:"status,omitempty"`
			Error  string `json:"error,omitempty"`
		}{e, o.Status, o.Error})
	}
	at := time.Now().Format("15:04:05")
	if c.Forward == "" {
		_, err := fmt.Fprintf(env.Stdout, "%s  %-24s  %s\n", at, forTerminal(e.Type), forTerminal(subject(e)))
		return err
	}
	result := fmt.Sprint(o.Status)
	if o.Error != "" {
		result = o.Error
	}
	_, err := fmt.Fprintf(env.Stdout, "%s  %-24s  %s  %s (%d ms)\n", at, forTerminal(e.Type), forTerminal(e.DeliveryID), result, o.Took.Milliseconds())
	return err
}
