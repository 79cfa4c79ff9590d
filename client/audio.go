package client

// AudioTrack is a sound track of a video.
type AudioTrack struct {
	ID       string   `json:"id"`
	Language string   `json:"language"` // a tag of BCP 47; "und": not known
	Label    string   `json:"label"`    // as the player's menu shows it
	Kind     string   `json:"kind"`     // "main", "dub", "commentary" or "description"
	Source   string   `json:"source"`   // "embedded" or "uploaded"
	Default  bool     `json:"default"`  // players begin with it, and the MP4 files hold it
	Status   Status   `json:"status"`
	URL      string   `json:"url,omitempty"`     // the sound alone; answers 404 until Status is Ready
	Failure  *Failure `json:"failure,omitempty"` // why Status is Failed
}
