//go:build crashtest

package main

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/service/failpoint"
)

// crashPoint makes the process die as by kill -9 when it reaches the point that
// SPOOL_CRASH_AT names. Only test binaries are built with it.
func crashPoint() failpoint.Hook {
	at := failpoint.Point(os.Getenv("SPOOL_CRASH_AT"))
	return func(p failpoint.Point) {
		if p == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
	}
}

// heartbeat is the interval of a worker's heartbeats that SPOOL_TEST_HEARTBEAT
// names, so that a test need not wait 15 seconds until a dead process is missed.
// Without it, or with nonsense, it is the usual one.
func heartbeat() time.Duration {
	d, _ := time.ParseDuration(os.Getenv("SPOOL_TEST_HEARTBEAT"))
	return d
}

// webhookRetryFactor is what SPOOL_TEST_WEBHOOK_RETRY_FACTOR multiplies the pauses before further deliveries of an event
// by, so that a test need not wait for hours.
func webhookRetryFactor() float64 {
	f, _ := strconv.ParseFloat(os.Getenv("SPOOL_TEST_WEBHOOK_RETRY_FACTOR"), 64)
	return f
}
