package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSigningKeyIsRevoked(t *testing.T) {
	t.Parallel()
	s := new(fakeKeys)
	s.runs(t, "signing-keys rotate")
	s.runs(t, "signing-keys rotate")

	p, stdout, stderr := newProcess(s, nil)
	if code := p.run(t.Context(), strings.Fields("signing-keys revoke k1")); code != exitOK {
		t.Fatalf("revoke exits with %d: %s", code, stderr)
	}
	if want := "Key k1 is revoked. A running service stops accepting it within 5s.\n"; stdout.String() != want {
		t.Errorf("revoke prints %q; want %q", stdout, want)
	}
	for _, want := range []string{"Key k1 signed all URLs from 2030-01-01T00:00:00Z", "playback URLs of private videos", "upload URLs", "resumable uploads", "Public videos are\nnot affected", "bucket"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("revoke does not say %q: %s", want, stderr)
		}
	}
	if len(s.signing) != 1 || s.signing[0].ID != "k2" {
		t.Errorf("the keys are %v; want k2 alone", s.signing)
	}
}

// Revoking the key that signs breaks the most, so it takes a second word.
func TestNewestSigningKeyIsRevokedOnlyWithYes(t *testing.T) {
	t.Parallel()
	s := new(fakeKeys)
	s.runs(t, "signing-keys rotate")
	p, stdout, stderr := newProcess(s, nil)
	if code := p.run(t.Context(), strings.Fields("signing-keys revoke k1")); code != exitUsage || stdout.Len() > 0 {
		t.Errorf("revoke without --yes exits with %d and prints %q; want %d and nothing", code, stdout, exitUsage)
	}
	if !strings.Contains(stderr.String(), "Key k1 has signed all URLs since") || !strings.Contains(stderr.String(), "repeat the command with --yes") {
		t.Errorf("revoke without --yes says %q", stderr)
	}
	if len(s.signing) != 1 || s.signing[0].ID != "k1" {
		t.Fatalf("the keys are %v; want k1 as before", s.signing)
	}
	var made struct{ Revoked, Created string }
	if err := json.Unmarshal([]byte(s.runs(t, "signing-keys revoke k1 --yes --json")), &made); err != nil {
		t.Fatal(err)
	}
	if made.Revoked != "k1" || made.Created != "k2" || len(s.signing) != 1 || s.signing[0].ID != "k2" {
		t.Errorf("revoke --yes --json gives %+v, keys %v; want k2 instead of k1", made, s.signing)
	}
}
