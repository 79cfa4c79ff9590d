//go:build !crashtest

package main

import (
	"time"

	"github.com/spool-video/spool/internal/service/failpoint"
)

// crashPoint returns nil: an ordinary build never stops by itself.
func crashPoint() failpoint.Hook { return nil }

// heartbeat returns 0: an ordinary build has the heartbeats of the queue.
func heartbeat() time.Duration { return 0 }
