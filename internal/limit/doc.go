// Package limit bounds what one principal can take from the others: how often it may do something
// (Rates), and how much it may do at the same time (Shares). A principal is whatever a limit is kept
// for: an API key, a tenant, or the network that a client comes from (ClientOf). The caller decides
// whether to refuse, and what to answer.
package limit
