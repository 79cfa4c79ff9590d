package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// fakeKeys are keys in memory: what is tested here is how the commands ask and what they print; the
// real ones are tested in package auth.
type fakeKeys struct {
	keys    []auth.Key
	signing fakeSigningKeys
	closed  bool
}

func (f *fakeKeys) Create(_ context.Context, k auth.Key) (string, auth.Key, error) {
	k.ID, k.CreatedAt = "id-"+k.Name, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	f.keys = append(f.keys, k)
	return "secret-of-" + k.Name, k, nil
}

func (f *fakeKeys) List(context.Context) ([]auth.Key, error) { return f.keys, nil }

func (f *fakeKeys) Revoke(_ context.Context, id string) error {
	for i := range f.keys {
		if f.keys[i].ID == id {
			f.keys[i].RevokedAt = time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC)
			return nil
		}
	}
	return &video.Error{Kind: video.NotFound, Code: "key_not_found", Msg: "There is no key with this id."}
}

func (f *fakeKeys) Close() error { f.closed = true; return nil }

// fakeSigningKeys are signing keys in memory.
type fakeSigningKeys []auth.SigningKey

func (f *fakeSigningKeys) List(context.Context) ([]auth.SigningKey, error) { return *f, nil }

func (f *fakeSigningKeys) Rotate(context.Context) (string, error) {
	k := auth.SigningKey{ID: "k" + string(rune('1'+len(*f))), CreatedAt: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	*f = append([]auth.SigningKey{k}, *f...)
	return k.ID, nil
}

func (f *fakeSigningKeys) Revoke(ctx context.Context, id string) (made string, err error) {
	if (*f)[0].ID == id {
		made, err = f.Rotate(ctx)
	}
	*f = slices.DeleteFunc(*f, func(k auth.SigningKey) bool { return k.ID == id })
	return made, err
}

// runs executes a command line that must succeed, and returns what it printed.
func (s *fakeKeys) runs(t *testing.T, line string) string {
	t.Helper()
	s.closed = false
	p, stdout, stderr := newProcess(s, nil)
	if code := p.run(t.Context(), strings.Fields(line)); code != exitOK {
		t.Fatalf("spool %s exits with %d: %s", line, code, stderr)
	}
	if !s.closed {
		t.Errorf("spool %s left the database open", line)
	}
	return stdout.String()
}

func TestKeysAreMadeListedAndRevoked(t *testing.T) {
	t.Parallel()
	s := new(fakeKeys)
	if out := s.runs(t, "keys create --name=phone"); !strings.Contains(out, "\n  secret-of-phone\n") {
		t.Errorf("the new key is not shown: %q", out)
	}
	if k := s.keys[0]; k.Tenant != video.DefaultTenant || !slices.Equal(k.Scopes, auth.Scopes) || !k.ExpiresAt.IsZero() {
		t.Errorf("made %+v; want the default tenant, all scopes and no end", k)
	}
	s.runs(t, "keys create --name=old --scopes=read --expires=12h --tenant=acme")
	s.keys[1].ExpiresAt = time.Date(2030, 1, 2, 11, 0, 0, 0, time.UTC)
	s.runs(t, "keys revoke id-phone")

	want := "" +
		"ID        NAME   TENANT   SCOPES                   CREATED     EXPIRES     STATE\n" +
		"id-phone  phone  default  read,write,delete,admin  2030-01-01  never       revoked\n" +
		"id-old    old    acme     read                     2030-01-01  2030-01-02  expired\n"
	if got := s.runs(t, "keys list"); got != want {
		t.Errorf("keys list prints\n%swant\n%s", got, want)
	}
}

func TestHelpNamesEveryScope(t *testing.T) {
	t.Parallel()
	p, stdout, _ := newProcess(nil, nil)
	p.run(t.Context(), []string{"keys", "create", "--help"})
	if !strings.Contains(stdout.String(), "may do: "+allScopes()+".") {
		t.Errorf("keys create --help does not name %s:\n%s", allScopes(), stdout)
	}
}

func TestKeysAsJSON(t *testing.T) {
	t.Parallel()
	s := new(fakeKeys)
	var made struct{ ID, Name, Key, State string }
	if err := json.Unmarshal([]byte(s.runs(t, "keys create --name=phone --json")), &made); err != nil {
		t.Fatal(err)
	}
	if made.Key != "secret-of-phone" || made.ID != "id-phone" || made.State != "active" {
		t.Errorf("keys create --json gives %+v", made)
	}
	listed := s.runs(t, "keys list --json")
	var all []map[string]any
	if err := json.Unmarshal([]byte(listed), &all); err != nil || len(all) != 1 || all[0]["name"] != "phone" {
		t.Errorf("keys list --json gives %v, %v", all, err)
	}
	if strings.Contains(listed, "secret-of") {
		t.Error("the list shows a secret")
	}
	var gone struct{ Revoked string }
	if err := json.Unmarshal([]byte(s.runs(t, "keys revoke id-phone --json")), &gone); err != nil || gone.Revoked != "id-phone" {
		t.Errorf("keys revoke --json gives %+v, %v", gone, err)
	}
	if got := new(fakeKeys).runs(t, "keys list --json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("an empty list is %q, want []", got)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line, want string
		code       int
	}{
		{"keys create --name=x --scopes=owner", `"owner" is not one of read,write,delete,admin`, exitUsage},
		{"keys create --name=x --expires=yesterday", "not a time to come", exitUsage},
		{"keys create --name=x --expires=2029-12-31", "not a time to come", exitUsage},
		{"keys create --name=x --expires=-5d", "not a time to come", exitUsage},
		{"keys create --name=x --tenant=", "must not be empty", exitUsage},
		{"keys revoke nobody", "There is no key with this id.", exitError},
		{"signing-keys revoke nobody", "There is no signing key with this ID", exitError},
		{"signing-keys rotate --max-signed-life=1s", "max_signed_life is 1s: it must be from 1m0s to 8760h0m0s.", exitUsage},
		{"keys list --database-url=mysql://x", "database_url must be like", exitUsage},
	}
	for _, tt := range tests {
		p, _, stderr := newProcess(new(fakeKeys), nil)
		if code := p.run(t.Context(), strings.Fields(tt.line)); code != tt.code || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("spool %s exits with %d and says %q; want %d and %q", tt.line, code, stderr, tt.code, tt.want)
		}
	}
}

// TestKeysOfANewPlaceAreRefused uses the real database: a mistyped directory
// must neither be made nor give the impression that there are no keys.
func TestKeysOfANewPlaceAreRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dtaa")
	for _, line := range []string{"keys create --name=x", "keys list", "keys revoke x", "signing-keys list", "signing-keys rotate", "signing-keys revoke x", "tenants list", "tenants set x --max-videos=1"} {
		p, _, stderr := newProcess(nil, nil)
		p.openKeys, p.openSigningKeys, p.openTenants = openKeys, openSigningKeys, openTenants
		want := "spool: no database in " + dir + "; start spool serve there once, or name the right --data-dir.\n"
		if code := p.run(t.Context(), append(strings.Fields(line), "--data-dir="+dir)); code != exitUsage || stderr.String() != want {
			t.Errorf("spool %s exits with %d and says %q; want %d and %q", line, code, stderr, exitUsage, want)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was made (%v)", err)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"90d":                  now.AddDate(0, 0, 90),
		"12h":                  now.Add(12 * time.Hour),
		"2030-01-31":           time.Date(2030, 1, 31, 0, 0, 0, 0, time.UTC),
		"2030-01-31T10:00:00Z": time.Date(2030, 1, 31, 10, 0, 0, 0, time.UTC),
	} {
		if got, err := expiry(text, now); err != nil || !got.Equal(want) {
			t.Errorf("expiry(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestSigningKeysAreRotated(t *testing.T) {
	t.Parallel()
	s := new(fakeKeys)
	s.runs(t, "signing-keys rotate")
	if out := s.runs(t, "signing-keys rotate"); !strings.HasPrefix(out, "Key k2 signs from now on.") {
		t.Errorf("rotate prints %q", out)
	}
	want := "" +
		"ID  CREATED     SIGNS\n" +
		"k2  2030-01-01  yes\n" +
		"k1  2030-01-01  no\n"
	if got := s.runs(t, "signing-keys list"); got != want {
		t.Errorf("signing-keys list prints\n%swant\n%s", got, want)
	}
}
