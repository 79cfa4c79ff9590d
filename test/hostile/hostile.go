// Package hostile makes files that attack the server that transcodes them:
// playlists that name its files and addresses, and small files that claim to be
// enormous. Its tests send them, and thousands of videos that were damaged at
// random, through the engine; the tests of the whole program send some of them
// through its interface. No such file is stored: each is made when it is needed.
package hostile

// Sample is one hostile file.
type Sample struct {
	Name string
	Make func() []byte
	// Ends are the correct results: codes of failures, or Converted. The result of
	// some files depends on the version of ffmpeg.
	Ends []string
	// Slow files are refused only when the time limit has passed.
	Slow bool
	// Long files hold as many frames as the longest video that is accepted,
	// and the times of all of them have to be kept.
	Long bool
}

// Converted as an end means that the file became a video: it only looked worse
// than it was.
const Converted = "converted"

// Bait is what a hostile file tries to reach.
type Bait struct {
	File      string // the path of somebody else's video
	Neighbour string // the name of a video in the folder of the hostile file itself
	Address   string // where somebody listens: host and port
}
