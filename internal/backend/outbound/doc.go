// Package outbound makes HTTP requests to addresses that clients have named, and to
// no others: a request must never reach the operator's own network.
//
// A Guard decides which addresses are allowed: https to any public one, and whatever
// the operator has listed (the setting outbound_allow), there also by http. It judges
// the address of the connection itself, after DNS and just before the connection is
// made, so a name that resolves to something else the next time gains nothing. Each
// redirect is a request of its own and is judged in the same way.
//
// CheckURL and Check are for telling a client early. They are a courtesy; the guard at
// the connection is what protects.
//
// Proxies of the environment are not used: they would connect on our behalf, to
// addresses that are not checked here.
package outbound
