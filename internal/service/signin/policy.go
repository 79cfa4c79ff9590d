package signin

import (
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// Policy says what people may do, as the settings do.
type Policy struct {
	Issuer string   // whose people may sign in; "": no one may
	Admins []string // the addresses of those who may do everything
	Claim  string   // the claim that lists "tenant:scope,scope"; "": none does
}

// Person is somebody whom a provider vouches for.
type Person struct {
	Issuer  string
	Subject string   // the provider's ID of the person
	Address string   // e-mail; "": unknown, or the provider does not vouch for it
	Name    string   // for other people
	Claim   string   // the claim that was read
	Granted []string // what it said
}

// ID is what the person is called by.
func (p Person) ID() string {
	if p.Address != "" {
		return p.Address
	}
	return p.Subject
}

// Rights are what a person may do.
type Rights struct {
	Grants     []Grant // by tenant
	Everywhere bool    // in all other tenants, too
}

// Grant is what a person may do in a tenant.
type Grant struct {
	Tenant video.Tenant
	Scopes []auth.Scope
}

// None reports whether there are no rights at all.
func (r Rights) None() bool { return len(r.Grants) == 0 }

// In returns the rights in a tenant; without any there, those in the first one.
func (r Rights) In(tenant video.Tenant) Grant {
	for _, g := range r.Grants {
		if g.Tenant == tenant {
			return g
		}
	}
	if r.Everywhere && tenant != "" {
		return Grant{tenant, auth.Scopes}
	}
	return r.Grants[0]
}

// Rights returns what a person may do.
func (p Policy) Rights(who Person) Rights {
	if p.Issuer == "" || who.Issuer != p.Issuer {
		return Rights{}
	}
	isAdmin := func(address string) bool { return strings.EqualFold(address, who.Address) }
	if who.Address != "" && slices.ContainsFunc(p.Admins, isAdmin) {
		return Rights{Grants: []Grant{{video.DefaultTenant, auth.Scopes}}, Everywhere: true}
	}
	if p.Claim == "" || who.Claim != p.Claim {
		return Rights{}
	}
	var r Rights
	for _, text := range who.Granted {
		if g, ok := parseGrant(text); ok {
			r.add(g)
		}
	}
	return r
}

// add adds a grant. Several of one tenant become one.
func (r *Rights) add(g Grant) {
	i := slices.IndexFunc(r.Grants, func(have Grant) bool { return have.Tenant == g.Tenant })
	if i < 0 {
		r.Grants = append(r.Grants, g)
		return
	}
	both := slices.Concat(r.Grants[i].Scopes, g.Scopes)
	r.Grants[i].Scopes = slices.DeleteFunc(slices.Clone(auth.Scopes), func(s auth.Scope) bool { return !slices.Contains(both, s) })
}

// parseGrant reads "tenant:scope,scope". Other texts are no grants: a claim such as groups has them, too. Nor is one with an
// unknown scope, which was meant in another way.
func parseGrant(text string) (Grant, bool) {
	i := strings.LastIndexByte(text, ':')
	if i < 1 || i > auth.MaxTenant {
		return Grant{}, false
	}
	tenant := strings.TrimSpace(text[:i])
	var scopes []auth.Scope
	for word := range strings.SplitSeq(text[i+1:], ",") {
		scope := auth.Scope(strings.TrimSpace(word))
		if !slices.Contains(auth.Scopes, scope) {
			return Grant{}, false
		}
		scopes = append(scopes, scope)
	}
	g := Grant{video.Tenant(tenant), slices.DeleteFunc(slices.Clone(auth.Scopes), func(s auth.Scope) bool { return !slices.Contains(scopes, s) })}
	return g, tenant != ""
}
