package video

// EventType is something that happened to a video and that webhooks are told of.
type EventType string

const (
	EventUploadCompleted EventType = "video.upload_completed"
	EventPlayable        EventType = "video.playable"
	EventResolutionReady EventType = "video.resolution_ready"
	EventReady           EventType = "video.ready"
	EventFailed          EventType = "video.failed"
	EventDeleted         EventType = "video.deleted"
	EventTest            EventType = "webhook.test" // on request; of no video
)

// EventTypes lists those that a webhook can ask for.
var EventTypes = []EventType{EventUploadCompleted, EventPlayable, EventResolutionReady, EventReady, EventFailed, EventDeleted, EventTest}
