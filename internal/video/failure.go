package video

import "fmt"

// FailureCode is a stable identifier of why a video or a resolution failed.
type FailureCode string

const (
	UploadMissing    FailureCode = "upload_missing"
	UploadEmpty      FailureCode = "upload_empty"
	UploadExpired    FailureCode = "upload_expired"
	FileTooLarge     FailureCode = "file_too_large"
	NotAVideo        FailureCode = "not_a_video"
	NoVideoStream    FailureCode = "no_video_stream"
	NoAudioStream    FailureCode = "no_audio_stream" // of a file that was uploaded for a sound track
	Truncated        FailureCode = "truncated"
	Corrupt          FailureCode = "corrupt"
	Encrypted        FailureCode = "encrypted"
	UnsupportedCodec FailureCode = "unsupported_codec"
	TooLong          FailureCode = "too_long"
	TooManyPixels    FailureCode = "too_many_pixels"
	LimitMemory      FailureCode = "limit_memory"
	LimitTime        FailureCode = "limit_time"
	NothingLeft      FailureCode = "nothing_left"    // of the part that was asked for
	BeyondEnd        FailureCode = "beyond_end"      // of a warning: the part ends behind the file
	NotSmaller       FailureCode = "not_smaller"     // of a variant: it saves too little beside H.264
	QuotaExceeded    FailureCode = "quota_exceeded"  // also the code of a request that is refused
	TooManyTracks    FailureCode = "too_many_tracks" // of a warning: the file has more sound tracks than are made
	InternalFailure  FailureCode = "internal"

	// Of a file that Spool fetches itself.
	ImportUnreachable FailureCode = "import_unreachable" // the server did not answer, or broke off again and again
	ImportRefused     FailureCode = "import_refused"     // it answered with an error
	ImportTooLarge    FailureCode = "import_too_large"
	ImportNotAllowed  FailureCode = "import_not_allowed" // the address, or the target of a redirect
)

// MaxFailureMessage is the longest message shown to a client, in characters.
const MaxFailureMessage = 300

// Failure says why a video or a resolution will never be ready. As an error it
// means that a retry is pointless, because the file is to blame. Errors of the
// server (disk, database, a killed worker) are never a Failure.
type Failure struct {
	Code    FailureCode
	Message string // a sentence for a person, without paths of the server
}

func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.Code, f.Message) }

// Failf makes a Failure with a formatted sentence.
func Failf(code FailureCode, format string, args ...any) *Failure {
	msg := []rune(fmt.Sprintf(format, args...))
	if len(msg) > MaxFailureMessage {
		msg = append(msg[:MaxFailureMessage-1], '…')
	}
	return &Failure{Code: code, Message: string(msg)}
}
