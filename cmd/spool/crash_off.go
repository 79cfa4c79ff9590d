//go:build !crashtest

package main

import (
	"time"

	"github.com/spool-video/spool/internal/service/failpoint"
)

// crashPoint returns nil: an ordinary build never stops by itself.
func crashPoint() failpoint.Hook { return nil }

// webhookRetryFactor returns 0: an ordinary build has the usual pauses.
func webhookRetryFactor() float64 { return 0 }

// heartbeat returns 0: an ordinary build has the heartbeats of the queue.
func heartbeat() time.Duration { return 0 }
