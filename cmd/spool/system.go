package main

import (
	"errors"
	"runtime"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/system"
)

// workerInfo is what this process tells others about itself as a worker. engine is nil where no tasks run.
func (c *Config) workerInfo(engine *taskEngine) queue.About {
	a := queue.About{Version: buildVersion(), Cores: runtime.GOMAXPROCS(0)}
	if engine != nil {
		a.Sandbox = engine.sandbox
	}
	return a
}

// measureDisk measures the disk with the data directory. Where the storage is elsewhere, the
// scratch files of this machine are on it all the same.
func (c *Config) measureDisk() (system.Disk, error) {
	free, err := diskspace.Free(c.DataDir)
	size, sizeErr := diskspace.Size(c.DataDir)
	return system.Disk{Free: free, Size: size}, errors.Join(err, sizeErr)
}
