package video

// Name is a resolution's name as clients write it, such as "720p".
type Name string

// shortSides gives the length in pixels of the shorter side of the picture,
// after rotation and with square pixels, for each name.
var shortSides = map[Name]int{
	"144p": 144, "240p": 240, "360p": 360, "480p": 480, "720p": 720,
	"1080p": 1080, "1440p": 1440, "4k": 2160, "8k": 4320,
}

// Names lists every resolution name, smallest first.
var Names = []Name{"144p", "240p", "360p", "480p", "720p", "1080p", "1440p", "4k", "8k"}

// Valid reports whether n is one of Names.
func (n Name) Valid() bool { return shortSides[n] > 0 }

// ShortSide returns the length in pixels of the picture's shorter side.
func (n Name) ShortSide() int { return shortSides[n] }
