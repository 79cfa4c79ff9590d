// Package auth decides who may do what. It owns API keys, scopes, the keys that sign addresses, and
// the access of an actor to a video.
//
// API keys are stored as hashes. A key belongs to a tenant and has scopes; a video of another
// tenant is not found rather than forbidden, so that its existence stays secret.
//
// Upload and private playback addresses carry a signature (package sign): HMAC-SHA256 over a
// purpose, an expiry, the id of the signing key and a subject. Signing keys live in the database,
// newest first. The newest one signs and all of them verify; a key is removed when no address that
// it signed can still be valid, or when it is revoked. Servers read the keys every few seconds. Each
// kind of address has a purpose of its own, so one can never be used as another: the file of a
// resolution is signed for {video}/{file}, all files of its HLS and DASH streams together for
// {video}.
package auth
