package main

import (
	"fmt"

	"github.com/spool-video/spool/internal/backend/blob/s3"
)

// storageFaults returns what is wrong with the settings of the object storage.
func (c *Config) storageFaults() []string {
	if c.StorageURL == "" {
		return nil
	}
	var faults []string
	if err := s3.CheckURL(c.StorageURL); err != nil {
		faults = append(faults, fmt.Sprintf("storage_url: %v.", err))
	}
	if c.MaxUploadBytes > s3.MaxPut {
		faults = append(faults, fmt.Sprintf("max_upload_bytes is %d: object storage takes at most %d in one upload.", c.MaxUploadBytes, int64(s3.MaxPut)))
	}
	if c.MaxResumableBytes > s3.MaxObject {
		faults = append(faults, fmt.Sprintf("max_resumable_bytes is %d: object storage takes at most %d as one object.", c.MaxResumableBytes, int64(s3.MaxObject)))
	}
	return faults
}
