package video

// Name is a resolution's name as clients write it, such as "720p".
type Name string

// sizes lists every resolution name, smallest first, with the length in pixels
// of the frame's shorter side, after rotation and with square pixels. A new name
// is a new row: API, console and engine read this table.
var sizes = []struct {
	name      Name
	shortSide int
}{
	{"144p", 144}, {"240p", 240}, {"360p", 360}, {"480p", 480}, {"720p", 720},
	{"1080p", 1080}, {"1440p", 1440}, {"4k", 2160}, {"8k", 4320},
}

// Names lists every resolution name, smallest first.
var Names, shortSides = func() ([]Name, map[Name]int) {
	names, sides := make([]Name, len(sizes)), make(map[Name]int, len(sizes))
	for i, s := range sizes {
		names[i], sides[s.name] = s.name, s.shortSide
	}
	return names, sides
}()

// Valid reports whether n is one of Names.
func (n Name) Valid() bool { return shortSides[n] > 0 }

// ShortSide returns the length in pixels of the frame's shorter side.
func (n Name) ShortSide() int { return shortSides[n] }
