// Package limit bounds what one principal can take from the others. A principal is the tenant of an API key
// or, where there is no key, the network that a client comes from (ClientOf).
//
// Limits has three bounds for each principal, and a Turn is what one request holds of them: places for costly
// computing, bytes that are kept in memory for a reader or a sender, and open files. All are kept while the
// answer waits for its reader, not only while it is made. Rates bounds how often something is done; Shares and
// Places are what Limits are made of.
package limit
