package hostile

import (
	"bytes"
	"math"
	"slices"
)

// Codes of failures that bombs end with.
const (
	corrupt       = "corrupt"
	truncated     = "truncated"
	tooLong       = "too_long"
	tooManyPixels = "too_many_pixels"
	limitMemory   = "limit_memory"
	limitTime     = "limit_time"
	noVideo       = "no_video_stream"
	unsupported   = "unsupported_codec"
)

const million = 1_000_000

// Bombs are small files that want to be large: in memory, in frames, in
// tracks or in time.
func Bombs() []Sample {
	return slices.Concat(tableBombs(), shapeBombs(), pictureBombs(), timeBombs(), matroskaBombs(), transportBombs())
}

// tableBombs misuse the tables of MP4, which tell of any number of samples in a
// few bytes.
func tableBombs() []Sample {
	still := PNG(64, 64)
	size := uint32(len(still))
	const apart = 400 << 10 // farther than packets that are noted together
	twice := slices.Concat(still, make([]byte, apart-len(still)), still)
	claim := func(tracks int, t track) func() []byte {
		t.width, t.height = 64, 64
		return func() []byte { return movie(still, slices.Repeat([]track{t}, tracks)...) }
	}
	flood := func(n uint32) func() []byte {
		return func() []byte {
			return movie(make([]byte, n), track{width: 64, height: 64, count: n, size: 1, durations: []run{{n, 1}}})
		}
	}
	return []Sample{
		{Name: "8 tracks of 40 million samples each", Ends: []string{corrupt, limitMemory}, Make: claim(8, track{count: 40 * million, size: 1})},
		{Name: "8 tracks of 10 million samples each", Ends: []string{limitMemory, corrupt}, Make: claim(8, track{count: 10 * million, size: 1})},
		{Name: "900 tracks", Ends: []string{limitMemory, corrupt}, Make: claim(900, track{count: 1, size: size})},
		{Name: "a sample of 2 GiB", Ends: []string{corrupt, truncated, limitMemory}, Make: claim(1, track{count: 2, size: math.MaxInt32})},
		{Name: "samples of no length", Ends: []string{corrupt}, Make: claim(1, track{count: 1000, sizes: make([]byte, 4000)})},
		{Name: "a table of 4 billion sizes", Ends: []string{corrupt, truncated, limitMemory, Converted}, Make: claim(1, track{count: math.MaxUint32, sizes: be32(size)})},
		{Name: "50,000 samples of one byte", Ends: []string{corrupt}, Make: flood(50_000)},
		{Name: "5 million samples of one byte", Ends: []string{tooLong, limitTime}, Slow: true, Make: flood(5 * million)},
		{Name: "8 tracks of 499,000 keyframes each", Ends: []string{tooLong, limitTime}, Slow: true, Make: func() []byte {
			return movie(twice, slices.Repeat([]track{{width: 64, height: 64, count: 499_000, size: size, apart: apart}}, 8)...)
		}},
	}
}

// shapeBombs misuse that boxes hold boxes and say themselves how long they are.
func shapeBombs() []Sample {
	head := box("ftyp", []byte("isom\x00\x00\x02\x00isommp41"))
	return []Sample{
		{Name: "boxes in boxes, 100,000 deep", Ends: []string{corrupt, truncated, noVideo}, Make: func() []byte {
			const depth = 100_000
			return append(head, repeat(depth, func(i int) []byte { return slices.Concat(be32(uint32(8*(depth-i))), []byte("moov")) })...)
		}},
		{Name: "an index that claims 16 EiB", Ends: []string{corrupt, truncated}, Make: func() []byte {
			return slices.Concat(head, be32(1), []byte("moov"), bytes.Repeat([]byte{0xff}, 8), make([]byte, 1000))
		}},
		{Name: "an edit list of 100,000 parts", Ends: []string{tooLong, limitMemory, limitTime}, Make: func() []byte {
			const n = 100_000
			still, edit := PNG(64, 64), slices.Concat(be32(1000), be32(0), be32(0x10000))
			return movie(still, track{width: 64, height: 64, count: 1, size: uint32(len(still)),
				edits: box("edts", fullBox("elst", be32(n), bytes.Repeat(edit, n)))})
		}},
	}
}

// pictureBombs are frames that take far more memory than bytes.
func pictureBombs() []Sample {
	claim := func(width, height uint16, stills ...[]byte) []byte {
		var sizes []byte
		for _, s := range stills {
			sizes = append(sizes, be32(uint32(len(s)))...)
		}
		return movie(slices.Concat(stills...), track{width: width, height: height, count: uint32(len(stills)), sizes: sizes})
	}
	return []Sample{
		{Name: "a picture of 16384 × 16384 pixels", Ends: []string{tooManyPixels, corrupt}, Make: func() []byte {
			return claim(16384, 16384, PNG(16384, 16384))
		}},
		{Name: "a header that claims 65535 × 65535 pixels", Ends: []string{tooManyPixels, corrupt, Converted}, Make: func() []byte {
			return claim(65535, 65535, PNG(16, 16))
		}},
		{Name: "pictures that grow to 16384 × 16384 pixels", Ends: []string{corrupt, Converted}, Make: func() []byte {
			return claim(64, 64, PNG(64, 64), PNG(16384, 16384), PNG(64, 64))
		}},
		{Name: "a picture that claims 2 billion × 2 billion pixels", Ends: []string{tooManyPixels, corrupt}, Make: func() []byte {
			header := slices.Concat(be32(math.MaxInt32), be32(math.MaxInt32), []byte{1, 0, 0, 0, 0})
			return claim(64, 64, slices.Concat([]byte("\x89PNG\r\n\x1a\n"), pngChunk("IHDR", header), pngChunk("IDAT", nil)))
		}},
		{Name: "the largest picture that is allowed, 8 times", Ends: []string{Converted}, Make: func() []byte {
			return claim(8192, 4500, slices.Repeat([][]byte{PNG(8192, 4500)}, 8)...)
		}},
		{Name: "a picture of 16384 × 2 pixels", Ends: []string{Converted}, Make: func() []byte { return claim(16384, 2, PNG(16384, 2)) }},
		{Name: "pixels 60,000 times as wide as high", Ends: []string{Converted}, Make: func() []byte {
			still := PNG(64, 64)
			return movie(still, track{width: 64, height: 64, count: 1, size: uint32(len(still)), extensions: box("pasp", be32(60_000), be32(1))})
		}},
	}
}

// timeBombs are videos of a few frames that last for ever, or no time at all.
func timeBombs() []Sample {
	still := PNG(64, 64)
	film := func(timescale uint32, durations ...run) func() []byte {
		var n uint32
		for _, d := range durations {
			n += d.count
		}
		return func() []byte {
			return movie(bytes.Repeat(still, int(n)), track{width: 64, height: 64, count: n, size: uint32(len(still)), timescale: timescale, durations: durations})
		}
	}
	const hour = 3600
	return []Sample{
		{Name: "two pictures 10 hours apart", Ends: []string{Converted, corrupt}, Make: film(1, run{1, 10 * hour}, run{1, 1})},
		{Name: "two pictures 20 hours apart", Ends: []string{tooLong}, Make: film(1, run{1, 20 * hour}, run{1, 1})},
		{Name: "pictures that last for 68 years", Ends: []string{tooLong, corrupt, Converted}, Make: film(1, run{2, math.MaxInt32})},
		{Name: "a billion pictures a second", Ends: []string{Converted}, Make: film(1_000_000_000, run{50, 1})},
		{Name: "no time between the pictures", Ends: []string{Converted, corrupt}, Make: film(1000, run{50, 0})},
		{Name: "more ticks in a second than can be counted", Ends: []string{Converted, corrupt, tooLong}, Make: film(math.MaxUint32, run{50, math.MaxInt32})},
		{Name: "pictures that go back in time", Ends: []string{Converted, corrupt, tooLong}, Make: film(1000, run{1, 40}, run{1, 0xffff_ff00}, run{20, 40})},
	}
}
