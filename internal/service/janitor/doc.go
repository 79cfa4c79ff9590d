// Package janitor removes what is no longer needed: deleted videos and resolutions, abandoned uploads, the
// files of finished passes, and what crashes left behind.
//
// # Deletion
//
// A video is marked deleted, its work cancelled and its purge enqueued in one transaction: from then
// on nothing brings it back. Then its objects are removed, and last its row. If that fails in the
// middle, the client is told to try again, and the queued purge does so by itself.
//
// # Retention
//
// One rule (rules.isNeeded) says which objects are kept. Purge tasks apply it to one video, and a sweep
// at every start and every hour to all of them. An object that is not needed may be needed again when
// another pass starts, so before anything of a living video is removed the rule is applied again under
// the video's lock.
//
// A video that never got its upload, or whose upload was refused, fails when the upload is abandoned.
// Some time later (Config.keepFailed) it is removed as if a client had deleted it.
//
// # Expiry
//
// A client may say when a video is to be deleted. The processes that serve requests look for such videos every few
// seconds. Webhooks are told of each once, a day before: the transaction that tells them marks the video.
//
// # One storage, one database
//
// A sweep removes every object that the database does not know. With the wrong database it would remove every
// video: a setting was forgotten, a lost database was made anew, or two services use one bucket. So each database
// leaves an ownership marker in the storage (Marker), and a storage with several markers is not swept.
//
// # Crashes
//
// A process may be killed between any two writes. What is left is one of these, and each has somebody
// who removes it:
//   - a copy of a source without a row, because Complete was killed: the next purge, or a sweep a day
//     later (copyGrace)
//   - a chunk file whose step is not done: the task runs again and writes the same key
//   - a rendition file published before the commit: the task runs again and replaces it; if the video
//     is gone, a sweep
//   - parts of an unfinished multipart upload: AbortUnfinished, two days later, or as soon as the video
//     does not wait for its upload any more
//   - a video that is marked deleted: its purge, or FinishDeletions
package janitor
