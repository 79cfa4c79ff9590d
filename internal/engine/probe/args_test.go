package probe

import (
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
)

func TestProbeArguments(t *testing.T) {
	t.Parallel()
	enginetest.Golden(t, "probe", probeArgs("/task/in/source", nil, false))
	enginetest.Golden(t, "probe_with_a_decoder_that_may_not_run", probeArgs("/task/in/source", []string{"magicyuv"}, false))
}
