// Package pipeline turns an uploaded file into the resolutions of a video. It decides which tasks
// follow from which, what counts as done, and what a failure means for the video. What a task does
// to the media is package worker's.
//
// # Kinds of tasks
//
// The table in kinds.go has one row for each kind of task, which says what it does, and everything
// else reads the table. An inspection makes a plan. Its parts are made side by side, then the
// renditions are assembled from them; work that does not delay the video follows after that.
//
// # Steps and tasks
//
// The queue runs a task at least once. What counts is its step, a row in the database: a result is
// recorded only where the step is not done yet, in a transaction that holds the video's lock. So a
// task that runs twice does no harm, and of two workers that finish the last two chunks exactly one
// sees that nothing is open, and enqueues the assembly.
//
// # Playing while encoding
//
// A plan may say that a video is played while it is encoded (video.Early). Its small renditions are
// encoded first, then the large ones, and each set is assembled when its own parts are done. VideoParts
// and AudioParts return the parts that are done. Such a part is never written again: each execution of a
// task stores its files under names of its own, and the step says which execution counts.
//
// # Publishing
//
// A rendition file is stored under work/ first, then linked to its playback key (copied, in a bucket)
// inside the transaction that turns its resolutions ready. A deletion takes the same lock before it
// removes objects. So there is no moment at which a deletion was confirmed and the file appears
// afterwards. Copying a large file in a bucket takes minutes, so it is prepared before the
// transaction, invisibly.
//
// Resolutions that come out equal (a 360p source asked for 720p and 1080p) share one rendition:
// encoded once, linked twice.
//
// # Passes
//
// A pass is the work on all resolutions that are processing and not in the plan yet, from the
// inspection of the source to the last rendition file. Completing the upload starts the first pass.
// A resolution that is added or retried later starts another one, or waits for the end of the
// current one, however that ends. The source is inspected again, and new renditions are numbered
// after the old ones, which stay in the plan. So chunk files of different passes have different
// keys, and a worker that slept through the end of its pass is recognised by the rendition numbers
// of its result, which then does not count.
//
// # Failures
//
// A *video.Failure is the file's fault: the video fails at once with that code and sentence. An
// unexplained error of a conversion is counted in the step and retried a few times. Everything else,
// such as a full disk, is retried for as long as it takes. A failure of an optional task, such as
// thumbnails, never fails the video.
//
// A video and its tasks change in one transaction, so a video that is processing has its tasks.
// Should one be missing all the same, Reconcile enqueues it again.
package pipeline
