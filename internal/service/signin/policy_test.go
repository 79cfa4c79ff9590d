package signin

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

func TestRights(t *testing.T) {
	t.Parallel()
	policy := Policy{Issuer: "https://id.example.com", Admins: []string{"Boss@example.com"}, Claim: "groups"}
	person := func(change func(*Person)) Person {
		p := Person{Issuer: policy.Issuer, Subject: "1", Address: "ann@example.com", Claim: "groups"}
		change(&p)
		return p
	}
	granted := func(texts ...string) Person { return person(func(p *Person) { p.Granted = texts }) }
	everything := Rights{Grants: []Grant{{"default", auth.Scopes}}, Everywhere: true}
	tests := []struct {
		name   string
		person Person
		want   Rights
	}{
		{"nobody said anything", granted(), Rights{}},
		{"an admin, whatever the case", person(func(p *Person) { p.Address = "boss@example.com" }), everything},
		{"an address that begins like an admin's", person(func(p *Person) { p.Address = "boss@example.com.evil.org" }), Rights{}},
		{"no address", person(func(p *Person) { p.Address = "" }), Rights{}},
		{"an admin of another provider", person(func(p *Person) { p.Address, p.Issuer = "boss@example.com", "https://evil.org" }), Rights{}},
		{"a tenant with scopes, in one order", granted("acme:write, read"), Rights{Grants: []Grant{{"acme", []auth.Scope{auth.Read, auth.Write}}}}},
		{"several of one tenant", granted("acme:read", "staff", "acme:delete"), Rights{Grants: []Grant{{"acme", []auth.Scope{auth.Read, auth.Delete}}}}},
		{"several tenants", granted("b:read", "a:admin"), Rights{Grants: []Grant{{"b", []auth.Scope{auth.Read}}, {"a", []auth.Scope{auth.Admin}}}}},
		{"a tenant with a colon", granted("a:b:read"), Rights{Grants: []Grant{{"a:b", []auth.Scope{auth.Read}}}}},
		{"an unknown scope", granted("acme:read,root"), Rights{}},
		{"no scope", granted("acme:"), Rights{}},
		{"no tenant", granted(":read", " :read"), Rights{}},
		{"another claim, read before the settings changed", person(func(p *Person) { p.Claim, p.Granted = "roles", []string{"acme:admin"} }), Rights{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, policy.Rights(tt.person), cmp.Transformer("empty", func(s []Grant) []Grant { return append([]Grant{}, s...) })); diff != "" {
				t.Errorf("rights (-want +got):\n%s", diff)
			}
			if r := (Policy{}).Rights(tt.person); !r.None() {
				t.Errorf("without a provider: %+v", r)
			}
		})
	}
}

func TestRightsInATenant(t *testing.T) {
	t.Parallel()
	some := Rights{Grants: []Grant{{"a", []auth.Scope{auth.Read}}, {"b", []auth.Scope{auth.Write}}}}
	all := Rights{Grants: []Grant{{"default", auth.Scopes}}, Everywhere: true}
	for _, tt := range []struct {
		name   string
		rights Rights
		tenant video.Tenant
		want   Grant
	}{
		{"the one that was chosen", some, "b", some.Grants[1]},
		{"none was chosen yet", some, "", some.Grants[0]},
		{"one that is not theirs any more", some, "c", some.Grants[0]},
		{"an admin in any tenant", all, "c", Grant{"c", auth.Scopes}},
		{"an admin who has chosen none", all, "", all.Grants[0]},
	} {
		if diff := cmp.Diff(tt.want, tt.rights.In(tt.tenant)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestGrantsInAClaim(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		claim any
		want  []string
	}{
		{nil, nil},
		{"acme:read b:write", []string{"acme:read", "b:write"}},
		{[]any{"acme:read", 1, nil, "staff", "https://example.com/a", map[string]any{}}, []string{"acme:read"}},
		{map[string]any{"acme:admin": true}, nil},
		{true, nil},
	} {
		if diff := cmp.Diff(tt.want, grantsIn(tt.claim)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.claim, diff)
		}
	}
}
