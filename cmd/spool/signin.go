package main

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/spool-video/spool/internal/service/signin"
)

// signIn returns how people sign in.
func (c *Config) signIn() signin.Config {
	return signin.Config{
		Policy:   signin.Policy{Issuer: c.OIDCIssuer, Admins: c.OIDCAdmins, Claim: c.OIDCClaim},
		ClientID: c.OIDCClientID, ClientSecret: c.OIDCClientSecret,
	}
}

// signInFaults finds what is wrong with the OpenID provider.
func (c *Config) signInFaults() []string {
	faults := readSecret("oidc_client_secret", &c.OIDCClientSecret, &c.OIDCClientSecretFile)
	if c.OIDCIssuer == "" {
		if c.OIDCClientID != "" || c.OIDCClientSecret != "" || len(c.OIDCAdmins) > 0 || c.OIDCClaim != "" {
			faults = append(faults, "oidc_issuer is empty, but other oidc settings are not: name the provider.")
		}
		return faults
	}
	if !isIssuer(c.OIDCIssuer) {
		faults = append(faults, "oidc_issuer must be an https URL such as https://login.example.com, without a query or a password. http is accepted on this machine only.")
	}
	if c.OIDCClientID == "" {
		faults = append(faults, "oidc_client_id is empty: the provider shows it where this server is registered.")
	}
	if len(c.OIDCAdmins) == 0 && c.OIDCClaim == "" {
		faults = append(faults, "oidc_admins and oidc_claim are empty, so people could sign in, and do nothing: set one of them.")
	}
	for _, address := range c.OIDCAdmins {
		if !strings.Contains(address, "@") {
			faults = append(faults, fmt.Sprintf("oidc_admins has %q, which is not an e-mail address.", address))
		}
	}
	return faults
}

// isIssuer reports whether s may be the URL of a provider. Over http, others could forge its answers.
func isIssuer(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && addr.IsLoopback())
}
