package hostile

import (
	"bytes"
	"math/rand/v2"
	"slices"
)

// mutator damages a video. other is a video of another kind, list a text that
// leads to the bait. It may change what it is given, and it gets no empty video.
type mutator struct {
	name string
	do   func(r *rand.Rand, film, other, list []byte) []byte
}

var mutators = []mutator{
	{"few bits", func(r *rand.Rand, film, _, _ []byte) []byte { return flip(r, film, 1+r.IntN(8)) }},
	{"many bits", func(r *rand.Rand, film, _, _ []byte) []byte { return flip(r, film, 1+r.IntN(1+len(film)/20)) }},
	{"bits of the beginning", func(r *rand.Rand, film, _, _ []byte) []byte {
		flip(r, film[:min(len(film), 1024)], 1+r.IntN(16))
		return film
	}},
	{"bits of the end", func(r *rand.Rand, film, _, _ []byte) []byte {
		flip(r, film[max(0, len(film)-2048):], 1+r.IntN(16))
		return film
	}},
	{"zeros", func(r *rand.Rand, film, _, _ []byte) []byte { clear(stretch(r, film)); return film }},
	{"noise", func(r *rand.Rand, film, _, _ []byte) []byte {
		s := stretch(r, film)
		for i := range s {
			s[i] = byte(r.Uint32())
		}
		return film
	}},
	{"cut end", func(r *rand.Rand, film, _, _ []byte) []byte { return film[:1+r.IntN(len(film))] }},
	{"lost block", func(r *rand.Rand, film, _, _ []byte) []byte {
		from, to := borders(r, film)
		return slices.Concat(film[:from], film[to:], []byte{0})
	}},
	{"doubled block", func(r *rand.Rand, film, _, _ []byte) []byte {
		from, to := borders(r, film)
		return slices.Concat(film[:to], film[from:])
	}},
	{"swapped blocks", func(r *rand.Rand, film, _, _ []byte) []byte {
		from, to := borders(r, film)
		return slices.Concat(film[:from], film[to:], film[from:to])
	}},
	{"head of another film", func(r *rand.Rand, film, other, _ []byte) []byte {
		n := 1 + r.IntN(min(len(film), len(other), 4096))
		return slices.Concat(other[:n], film[n:])
	}},
	{"body of another film", func(r *rand.Rand, film, other, _ []byte) []byte {
		n := 1 + r.IntN(min(len(film), len(other)))
		return slices.Concat(film[:n], other[n:])
	}},
	{"extreme numbers", func(r *rand.Rand, film, _, _ []byte) []byte {
		for range 1 + r.IntN(4) {
			exaggerate(r, film)
		}
		return film
	}},
	{"list inside", func(r *rand.Rand, film, _, list []byte) []byte {
		copy(film[r.IntN(len(film)):], list)
		return film
	}},
	{"list before", func(_ *rand.Rand, film, _, list []byte) []byte { return slices.Concat(list, film) }},
}

// flip changes n bits in place.
func flip(r *rand.Rand, b []byte, n int) []byte {
	for range n {
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
	}
	return b
}

// borders chooses a stretch of at most a quarter of a video.
func borders(r *rand.Rand, film []byte) (from, to int) {
	from = r.IntN(len(film))
	return from, min(len(film), from+1+r.IntN(1+len(film)/4))
}

func stretch(r *rand.Rand, film []byte) []byte {
	from, to := borders(r, film)
	return film[from:to]
}

// extremes are numbers at which computers stumble, as the bytes of a file.
var extremes = [][]byte{
	{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 7}, {0x7f, 0xff, 0xff, 0xff}, {0x80, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0xfe},
	{0, 0, 0xff, 0xff}, {0x10, 0, 0, 0}, {0, 0x98, 0x96, 0x80},
}

// exaggerate puts an extreme number where MP4 and AVI keep the length of a box,
// or what a box is about: before or behind its name of four letters.
func exaggerate(r *rand.Rand, film []byte) {
	at := r.IntN(len(film))
	for i := range film[at:] {
		if name := film[at+i : min(len(film), at+i+4)]; len(name) == 4 && bytes.IndexFunc(name, notLowerCase) < 0 {
			at += i + 4*(r.IntN(8)-1)
			break
		}
	}
	copy(film[max(0, min(at, len(film)-1)):], extremes[r.IntN(len(extremes))])
}

func notLowerCase(c rune) bool { return c < 'a' || c > 'z' }

// mutant makes video number n of a run: what it is depends on these numbers, on
// the seeds and on the lists only. how says what was done to which seed.
func mutant(run, n uint64, seeds []seed, lists [][]byte) (film []byte, how string) {
	r := rand.New(rand.NewPCG(run, n))
	s, other, list := seeds[r.IntN(len(seeds))], seeds[r.IntN(len(seeds))], lists[r.IntN(len(lists))]
	film, how = slices.Clone(s.film), s.name
	for range 1 + r.IntN(3) {
		m := mutators[r.IntN(len(mutators))]
		film = m.do(r, film, other.film, list)
		how += ", " + m.name
	}
	return film, how
}

// listLength is longer than any list with paths of usual length.
const listLength = 2 << 10

// temptations returns the texts of all lists, each filled up with empty lines to
// the same length: what is done to a video must not depend on how long the name of
// a temporary folder is.
func temptations(b Bait) [][]byte {
	var texts [][]byte
	for _, s := range Lists(b) {
		text := s.Make()
		texts = append(texts, append(text, bytes.Repeat([]byte("\n"), max(0, listLength-len(text)))...))
	}
	return texts
}
