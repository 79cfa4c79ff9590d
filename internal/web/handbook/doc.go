// Package handbook serves the handbook and the reference of the API at /docs, and writes both as static files.
//
// The program carries the pages of the folder docs with it; the reference is made from the OpenAPI
// description. Both become HTML at the first request, so a start of the server pays nothing. Samples for curl are made from
// the description, samples in Go and TypeScript are in samples.txt, and a test compiles them.
//
// The reference can send requests: its script uses the key that the console keeps in this browser, or the session of the
// person who is signed in. The pages have no rights of their own.
package handbook
