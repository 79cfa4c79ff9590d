//go:build !crashtest

package main

import "github.com/spool-video/spool/internal/service/app"

// crashPoint returns nil: an ordinary build never stops by itself.
func crashPoint() func(app.Point) { return nil }
