// Package signin lets people into the console: with an OpenID provider, or once with the link that a first start prints.
//
// Signing in makes a session. Its secret is in a cookie of the browser, its hash in the database. What the person may do is not
// stored: each request works it out from what the provider said and from the settings as they are now (Policy). So a person who
// is taken out of the settings can do nothing after the restart, and sessions that entitle to nothing are ended.
//
// The flow is the authorization code flow with PKCE. What the browser has to bring back (state, nonce, verifier) is in a signed
// cookie, so that nothing is stored for people who only look. A flow makes one session: its state is unique in the table.
package signin
