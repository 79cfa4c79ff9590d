package s3

// CopyInParts makes s copy objects larger than limit in parts of this size: for
// tests, which cannot wait for objects of more than 5 GiB.
func CopyInParts(s *Store, limit, part int64) { s.maxCopy, s.copyPart = limit, part }
