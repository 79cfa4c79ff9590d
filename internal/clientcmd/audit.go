package clientcmd

import (
	"context"
	"strings"

	"github.com/spool-video/spool/client"
)

// Audit is spool audit.
type Audit struct {
	Connection
	Actor  string `placeholder:"ID" help:"Only what this actor did: the ID of a key, or the address of a person."`
	Action string `placeholder:"ACTION" help:"Only these changes, such as video.delete."`
	Limit  int    `default:"50" help:"How many changes to list. 0: all of them."`
}

// Help is shown by --help.
func (Audit) Help() string {
	return `Lists who changed what in the tenant of the key, newest first. The log keeps 400
days. The key needs the scope admin.

    spool audit
    spool audit --action=video.delete --limit=0
    spool audit --actor=alice@example.com --json
`
}

// Run lists changes.
func (c *Audit) Run(ctx context.Context, env *Environment) error {
	if c.Limit < 0 {
		return &UsageError{Text: "--limit must not be negative"}
	}
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	rows := [][]string{{"AT", "BY", "ACTION", "VIDEO", "TARGET", "ADDRESS"}}
	listed := 0
	for e, err := range api.Audit(ctx, client.AuditFilter{Actor: c.Actor, Action: c.Action}) {
		if err != nil {
			return c.fail(env, err)
		}
		if c.JSON {
			err = printJSON(env.Stdout, e)
		} else {
			rows = append(rows, auditRow(e))
		}
		if listed++; err != nil || listed == c.Limit {
			break
		}
	}
	if c.JSON {
		return err
	}
	return printTable(env.Stdout, rows)
}

// auditRow is a change as a line of a table.
func auditRow(e client.AuditEntry) []string {
	by := e.Actor.Kind + " " + strings.TrimSpace(e.Actor.Name+" ("+e.Actor.ID+")")
	row := []string{e.At.Local().Format("2006-01-02 15:04:05"), by, e.Action, e.VideoID, e.Target, e.Address}
	for i := range row {
		row[i] = forTerminal(row[i])
	}
	return row
}
