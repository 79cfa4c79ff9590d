package video

import "time"

// Action is a change, as the audit log names it: what was changed, and how.
type Action string

const (
	ActionVideoCreate        Action = "video.create"
	ActionVideoComplete      Action = "video.complete"
	ActionVideoImport        Action = "video.retry_import"
	ActionVideoEdit          Action = "video.edit"
	ActionVideoPublish       Action = "video.make_public"
	ActionVideoHide          Action = "video.make_private"
	ActionVideoReplace       Action = "video.replace"
	ActionVideoKeep          Action = "video.give_up_replace"
	ActionVideoDelete        Action = "video.delete"
	ActionResolutionAdd      Action = "resolution.add"
	ActionResolutionRetry    Action = "resolution.retry"
	ActionResolutionDelete   Action = "resolution.delete"
	ActionCaptionsPut        Action = "captions.put"
	ActionCaptionsDelete     Action = "captions.delete"
	ActionCaptionsTranscribe Action = "captions.transcribe"
	ActionCaptionsTranslate  Action = "captions.translate"
	ActionAudioAdd           Action = "audio.add"
	ActionAudioEdit          Action = "audio.edit"
	ActionAudioDelete        Action = "audio.delete"
	ActionChaptersPut        Action = "chapters.put"
	ActionChaptersDelete     Action = "chapters.delete"
	ActionPosterPut          Action = "poster.put"
	ActionPosterDelete       Action = "poster.delete"
	ActionShareCreate        Action = "share.create"
	ActionShareDelete        Action = "share.delete"
	ActionWatermarkAdd       Action = "watermark.add"
	ActionWatermarkDelete    Action = "watermark.delete"
	ActionWebhookCreate      Action = "webhook.create"
	ActionWebhookUpdate      Action = "webhook.update"
	ActionWebhookDelete      Action = "webhook.delete"
	ActionWebhookRotate      Action = "webhook.rotate_secret"
	ActionWebhookTest        Action = "webhook.test"
	ActionWebhookReplay      Action = "webhook.replay"
	ActionKeyCreate          Action = "key.create"
	ActionKeyRevoke          Action = "key.revoke"
	ActionSigningKeyRotate   Action = "signing_key.rotate"
	ActionSigningKeyRevoke   Action = "signing_key.revoke"
	ActionSessionCreate      Action = "session.create"
	ActionSessionTenant      Action = "session.choose_tenant"
	ActionSessionEnd         Action = "session.end"
	ActionTenantLimits       Action = "tenant.set_limits"
	ActionTenantWatermark    Action = "tenant.set_watermark"
	ActionTenantBrand        Action = "tenant.set_brand"
)

// Actions lists all of them, in the order of their groups.
var Actions = []Action{
	ActionVideoCreate, ActionVideoComplete, ActionVideoImport, ActionVideoEdit, ActionVideoPublish, ActionVideoHide,
	ActionVideoReplace, ActionVideoKeep, ActionVideoDelete,
	ActionResolutionAdd, ActionResolutionRetry, ActionResolutionDelete, ActionCaptionsPut, ActionCaptionsDelete,
	ActionCaptionsTranscribe, ActionCaptionsTranslate, ActionAudioAdd, ActionAudioEdit, ActionAudioDelete, ActionChaptersPut, ActionChaptersDelete, ActionPosterPut, ActionPosterDelete, ActionShareCreate, ActionShareDelete,
	ActionWatermarkAdd, ActionWatermarkDelete,
	ActionWebhookCreate, ActionWebhookUpdate, ActionWebhookDelete, ActionWebhookRotate, ActionWebhookTest, ActionWebhookReplay,
	ActionSessionCreate, ActionSessionTenant, ActionSessionEnd,
	ActionKeyCreate, ActionKeyRevoke, ActionSigningKeyRotate, ActionSigningKeyRevoke, ActionTenantLimits, ActionTenantWatermark,
	ActionTenantBrand,
}

// DoerKind says what kind of somebody changed something.
type DoerKind string

const (
	DoerKey    DoerKind = "key"    // a program, with an API key
	DoerPerson DoerKind = "person" // somebody who is signed in
	DoerSystem DoerKind = "system" // Spool itself, or a command on its machine
)

// DoerKinds lists all of them.
var DoerKinds = []DoerKind{DoerKey, DoerPerson, DoerSystem}

// Doer is who changed something.
type Doer struct {
	Kind    DoerKind
	ID      string // of the key; of a person, what the provider calls them by; of a command, its user on the machine
	Name    string
	Tenant  Tenant
	Address string // that the request came from; "": from no network
}

// Act is a change that somebody made.
type Act struct {
	Action Action
	Tenant Tenant // to whose log it belongs; "": the doer's, else the video's
	Video  ID     // "": it is about no video
	Target string // what it is about besides, such as the ID of a key; never a secret
}

// AuditEntry is an Act with who made it and when, as it is kept.
type AuditEntry struct {
	ID   string
	At   time.Time
	Doer Doer
	Act
}
