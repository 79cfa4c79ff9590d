package clientcmd

import (
	"context"
	"fmt"
)

// Sessions is spool sessions.
type Sessions struct {
	List   SessionList   `cmd:"" name:"ls" default:"withargs" help:"List who is signed in."`
	Remove SessionRemove `cmd:"" name:"rm" help:"Sign somebody out."`
}

// Help is shown by --help.
func (Sessions) Help() string {
	return `People sign in to the console with an OpenID provider. The key needs the scope admin.

    spool sessions ls
    spool sessions rm 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e
`
}

// SessionList is spool sessions ls.
type SessionList struct{ Connection }

// Help is shown by --help.
func (SessionList) Help() string { return "Example:\n\n    spool sessions ls --json\n" }

// Run lists sessions.
func (c *SessionList) Run(ctx context.Context, env *Environment) error {
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	rows := [][]string{{"ID", "PERSON", "NAME", "TENANT", "SINCE", "UNTIL", "ADDRESS"}}
	for s, err := range api.Sessions(ctx) {
		if err != nil {
			return c.fail(env, err)
		}
		if c.JSON {
			if err := printJSON(env.Stdout, s); err != nil {
				return err
			}
			continue
		}
		row := []string{s.ID, s.Person.ID, s.Person.Name, s.Tenant, s.CreatedAt.Local().Format("2006-01-02 15:04"), s.ExpiresAt.Local().Format("2006-01-02 15:04"), s.Address}
		for i := range row {
			row[i] = forTerminal(row[i])
		}
		rows = append(rows, row)
	}
	if c.JSON {
		return nil
	}
	return printTable(env.Stdout, rows)
}

// SessionRemove is spool sessions rm.
type SessionRemove struct {
	Connection
	ID string `arg:"" help:"The session."`
}

// Help is shown by --help.
func (SessionRemove) Help() string {
	return "Example:\n\n    spool sessions rm 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e\n"
}

// Run ends a session.
func (c *SessionRemove) Run(ctx context.Context, env *Environment) error {
	api, err := c.client(env, short)
	if err == nil {
		err = api.EndSession(ctx, c.ID)
	}
	if err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, map[string]string{"ended": c.ID})
	}
	_, err = fmt.Fprintf(env.Stdout, "Session %s has ended.\n", forTerminal(c.ID))
	return err
}
