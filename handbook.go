// Package spool holds the pages of this repository that the program carries with it: the handbook, what it links to, and
// the description of the API.
package spool

import "embed"

// Handbook has the pages under their paths in the repository.
//
//go:embed docs/*.md docs/images docs/openapi.json clients/typescript/README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md
var Handbook embed.FS
