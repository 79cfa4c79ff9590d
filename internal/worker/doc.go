// Package worker does what tasks ask for: it fetches the source, lets the engine work on it in a
// scratch folder, and hands the result to the pipeline. Each kind of task has one handler.
//
// It also decides what a failure means. A *video.Failure is the file's fault and fails the video with
// a reason. A failure of this machine or its services is retried for as long as it takes. A failure
// of unknown cause is retried a few times.
//
// # What tasks read
//
// In a local storage a source is a link. From a bucket, most tasks fetch only the bytes that the
// inspection noted in the plan, into a sparse file. Whatever does not succeed on such a file is done
// again with the whole one.
package worker
