//go:build unix && !(linux && (amd64 || arm64))

package sandbox

import (
	"context"
	"errors"
	"os/exec"
)

// threadGuard cannot count threads here.
type threadGuard struct{}

func newThreadGuard(int, *threadShare) *threadGuard { return nil }

func (*threadGuard) open(*exec.Cmd) error               { return errors.ErrUnsupported }
func (*threadGuard) counts() bool                       { return false }
func (*threadGuard) started()                           {}
func (*threadGuard) close()                             {}
func (*threadGuard) serve(int, context.CancelCauseFunc) {}

func countThreads(int) (int, error) { return 0, errors.ErrUnsupported }
