package main

import (
	"net"
	"slices"
	"strings"
	"testing"
)

func TestFaultsOfSigningIn(t *testing.T) {
	t.Parallel()
	good := []string{"--oidc-issuer=https://login.example.com", "--oidc-client-id=spool", "--oidc-client-secret=x", "--oidc-admins=a@example.com"}
	for _, tt := range []struct {
		name string
		args []string
		want string // ""; it starts
	}{
		{"all that is needed", good, ""},
		{"a claim instead of admins", []string{good[0], good[1], "--oidc-claim=groups"}, ""},
		{"a provider on this machine", append(slices.Clone(good), "--oidc-issuer=http://127.0.0.1:5556/dex"), ""},
		{"a provider over http", append(slices.Clone(good), "--oidc-issuer=http://login.example.com"), "oidc_issuer must be an https URL"},
		{"a host that begins like this machine", append(slices.Clone(good), "--oidc-issuer=http://localhost.example.com"), "oidc_issuer must be an https URL"},
		{"a provider without a host", append(slices.Clone(good), "--oidc-issuer=login"), "oidc_issuer must be an https URL"},
		{"no client", []string{good[0], good[3]}, "oidc_client_id is empty"},
		{"people who may do nothing", good[:3], "oidc_admins and oidc_claim are empty"},
		{"an admin without an address", append(slices.Clone(good), "--oidc-admins=alice"), `"alice", which is not an e-mail address`},
		{"no provider", good[1:], "oidc_issuer is empty"},
		{"the secret in two places", append(slices.Clone(good), "--oidc-client-secret-file=/none"), "oidc_client_secret and oidc_client_secret_file are both set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := sources{args: tt.args}.parse(t)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("the fault is %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestWhereTheLinkLeads(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080/signin/link/S", "0.0.0.0:8080": "http://127.0.0.1:8080/signin/link/S", "[::]:8080": "http://127.0.0.1:8080/signin/link/S",
		"[::1]:8080": "http://[::1]:8080/signin/link/S", "192.0.2.1:8080": "",
	} {
		addr, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if got := signInLink(addr, "S"); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
		if got := signInLink(addr, ""); got != "" {
			t.Errorf("%s without a secret: %q", address, got)
		}
	}
}
