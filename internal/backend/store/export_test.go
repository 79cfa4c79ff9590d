package store

import (
	"context"
	"time"
)

// OpenImpatient is OpenPostgres with short timeouts, for tests that wait for them.
func OpenImpatient(ctx context.Context, address string) (*Store, error) {
	return openPostgres(ctx, address, timeouts{connect: time.Second, lock: 500 * time.Millisecond, statement: 1500 * time.Millisecond})
}

// Migrations are the migrations of this package.
var Migrations = migrations
