package video

import (
	"encoding/json"
	"iter"
)

// The functions of this file take JSON apart without copying it, so that it costs no more
// memory than it has bytes, whatever it contains. All of them need valid JSON.

// Members returns the names, as JSON strings, and the values of an object.
func Members(object []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		for i := nextToken(object, 1); object[i] != '}'; {
			end := valueEnd(object, i)
			name := object[i:end]
			i = nextToken(object, end)
			end = valueEnd(object, i)
			if !yield(name, object[i:end]) {
				return
			}
			i = nextToken(object, end)
		}
	}
}

// Elements returns the elements of an array.
func Elements(array json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		for i := nextToken(array, 1); array[i] != ']'; {
			end := valueEnd(array, i)
			if !yield(array[i:end]) {
				return
			}
			i = nextToken(array, end)
		}
	}
}

// nextToken returns the index of the first byte from b[i] on that is neither white space nor a
// separator. Where separators have to be was checked before.
func nextToken(b []byte, i int) int {
	for ; ; i++ {
		switch b[i] {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return i
		}
	}
}

// valueEnd returns the index after the value that begins at b[i].
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return nestedEnd(b, i)
	}
	for ; i < len(b); i++ {
		switch b[i] {
		case ' ', '\t', '\r', '\n', ',', ']', '}':
			return i
		}
	}
	return i
}

func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// nestedEnd is valueEnd for an object or an array.
func nestedEnd(b []byte, i int) int {
	for depth := 0; ; i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}
