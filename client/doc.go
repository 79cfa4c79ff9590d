// Package client speaks to a Spool server: it uploads videos, follows their processing, reads,
// lists and deletes them, and verifies webhooks. It uses the standard library only.
//
//	c, err := client.New("https://video.example.com", os.Getenv("SPOOL_API_KEY"))
//	…
//	v, err := c.UploadFile(ctx, "film.mov", client.NewVideo{Resolutions: []string{"1080p", "720p", "480p"}}, nil)
//	…
//	v, err = c.Wait(ctx, v.ID, nil)
//
// # Failures
//
// A refusal of the server is an [*Error] with the code of the API and a sentence for people. A
// request that failed for a reason that passes (a lost connection, a server that restarts, 429, 503)
// is sent again, with growing pauses and as Retry-After asks, for as long as [WithRetryFor] says.
// Requests that must not be carried out twice are repeated only where the server cannot have carried
// them out; creating a video has an Idempotency-Key, so it can be repeated too.
//
// # Uploads
//
// [Client.Upload] sends small files in one PUT and others with the tus protocol, which continues
// where it was after a lost connection or a restart of the server. To continue after a restart of
// your own program, call it again with the same [NewVideo.IdempotencyKey]. The memory that it needs
// does not depend on the size of the file.
//
// A Client can be used by many goroutines at once.
package client
