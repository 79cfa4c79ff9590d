package clientcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spool-video/spool/client"
)

// Edit is spool edit.
type Edit struct {
	Connection
	ID string `arg:"" help:"The video."`
}

// Help is shown by --help.
func (Edit) Help() string {
	return `Opens what is said about a video, as JSON, in an editor: VISUAL, EDITOR, or else vi. What you change there is
changed when the editor ends. Close it without a change to leave everything as it is.

Examples:

    spool edit 0198c5b6-7d5e-7c3a
`
}

// editable is what the editor shows.
type editable struct {
	Title          string          `json:"title"`
	Tags           []string        `json:"tags"`
	Metadata       client.Metadata `json:"customMetadata"`
	Public         bool            `json:"isPublic"`
	ExpiresAt      *time.Time      `json:"expiresAt"`      // null: never
	AllowedOrigins []string        `json:"allowedOrigins"` // null: everywhere
	AllowNoOrigin  bool            `json:"allowNoOrigin"`
}

func editableOf(v client.Video) editable {
	e := editable{Title: v.Title, Tags: append([]string{}, v.Tags...), Metadata: v.Metadata, Public: v.Public,
		AllowedOrigins: v.AllowedOrigins, AllowNoOrigin: v.AllowNoOrigin}
	if !v.ExpiresAt.IsZero() {
		e.ExpiresAt = &v.ExpiresAt
	}
	return e
}

// Run changes a video.
func (c *Edit) Run(ctx context.Context, env *Environment) error {
	if !env.Interactive {
		return &UsageError{Text: "spool edit needs a terminal; spool set changes videos in scripts"}
	}
	api, err := c.clientFor(ctx, env, short, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	v, err := api.State(ctx, c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	before := editableOf(v)
	changed := false
	err = c.edit(ctx, env, before, func(after editable) error {
		var changes client.Changes
		if changes, changed = before.changesTo(after); !changed {
			return nil
		}
		v, err = api.Update(ctx, c.ID, changes)
		return err
	})
	if err != nil {
		return c.fail(env, err)
	}
	if !changed {
		fmt.Fprintln(env.Stderr, "Nothing was changed.")
		return nil
	}
	if c.JSON {
		return printJSON(env.Stdout, v)
	}
	_, err = fmt.Fprintf(env.Stdout, "%s  changed\n", forTerminal(v.ID))
	return err
}

// edit has a person change e, and stores it. What cannot be read, or is refused, may be mended.
func (c *Edit) edit(ctx context.Context, env *Environment, e editable, update func(editable) error) error {
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp("", "spool-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	for {
		if err := env.runEditor(ctx, f.Name()); err != nil {
			return err
		}
		changed, err := readEditable(f.Name())
		if err == nil {
			err = update(changed)
		}
		if err == nil {
			return nil
		}
		if !env.confirm(fmt.Sprintf("That cannot be stored: %s. Edit it again?", c.explain(err))) {
			return errors.New("nothing was changed")
		}
	}
}

func readEditable(file string) (e editable, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return e, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := decodeOne(d, &e); err != nil {
		return e, err
	}
	var there map[string]json.RawMessage
	if err := json.Unmarshal(text, &there); err != nil {
		return e, err
	}
	for _, name := range []string{"title", "tags", "customMetadata", "isPublic", "expiresAt", "allowedOrigins", "allowNoOrigin"} {
		if _, is := there[name]; !is {
			return e, fmt.Errorf("%q is gone: leave what is not to be changed", name)
		}
	}
	return e, nil
}

// runEditor runs the editor of this person. The variable may have arguments, as git allows it: the shell parts them.
func (env *Environment) runEditor(ctx context.Context, file string) error {
	editor := "vi"
	for _, name := range []string{"EDITOR", "VISUAL"} { // the last one that is set
		if named, _ := env.Environ(name); named != "" {
			editor = named
		}
	}
	run := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file)
	run.Stdin, run.Stdout, run.Stderr = env.Stdin, env.Stderr, env.Stderr
	if err := run.Run(); err != nil {
		return fmt.Errorf("the editor %q ended with: %w (EDITOR names another one)", editor, err)
	}
	return nil
}

// changesTo returns what is not the same any more.
func (e editable) changesTo(after editable) (c client.Changes, changed bool) {
	if after.Title != e.Title {
		c.Title, changed = &after.Title, true
	}
	if !same(after.Tags, e.Tags) {
		tags := append([]string{}, after.Tags...)
		c.Tags, changed = &tags, true
	}
	if !same(after.Metadata, e.Metadata) {
		c.Metadata, changed = after.Metadata, true
		if after.Metadata == nil {
			c.Metadata = client.Metadata{}
		}
	}
	if after.Public != e.Public {
		c.Public, changed = &after.Public, true
	}
	if !same(after.ExpiresAt, e.ExpiresAt) {
		c.ExpiresAt, changed = new(time.Time), true // never
		if after.ExpiresAt != nil {
			c.ExpiresAt = after.ExpiresAt
		}
	}
	if !same(after.AllowedOrigins, e.AllowedOrigins) {
		c.AllowedOrigins, changed = &after.AllowedOrigins, true
	}
	if after.AllowNoOrigin != e.AllowNoOrigin {
		c.AllowNoOrigin, changed = &after.AllowNoOrigin, true
	}
	return c, changed
}

// same reports whether two values are written alike.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
