package video

// EventType is something that happened to a video and that webhooks are told of.
type EventType string

const (
	EventUploadCompleted EventType = "video.upload_completed"
	EventPlayable        EventType = "video.playable"
	EventResolutionReady EventType = "video.resolution_ready"
	EventReady           EventType = "video.ready"
	EventFailed          EventType = "video.failed"
	EventCaptionsReady   EventType = "video.captions_ready" // of what is said, or translated
	EventExpiring        EventType = "video.expiring"       // ExpiryNotice before its deletion
	EventDeleted         EventType = "video.deleted"
	EventReplaced        EventType = "video.replaced"
	EventReplaceFailed   EventType = "video.replace_failed"
	EventTest            EventType = "webhook.test" // on request; of no video
)

// EventTypes lists those that a webhook can ask for.
var EventTypes = []EventType{EventUploadCompleted, EventPlayable, EventResolutionReady, EventReady, EventFailed, EventCaptionsReady, EventExpiring, EventDeleted, EventReplaced, EventReplaceFailed, EventTest}

// DeletionReason says why a video was deleted, if no client asked for it.
type DeletionReason string

// Expired is the reason of a deletion at ExpiresAt.
const Expired DeletionReason = "expired"
