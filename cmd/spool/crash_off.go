//go:build !crashtest

package main

import (
	"time"

	"github.com/spool-video/spool/internal/service/app"
)

// crashPoint returns nil: an ordinary build never stops by itself.
func crashPoint() func(app.Point) { return nil }

// heartbeat returns 0: an ordinary build has the heartbeats of the queue.
func heartbeat() time.Duration { return 0 }
