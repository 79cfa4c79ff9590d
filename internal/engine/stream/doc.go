// Package stream is how films are sent to players that choose their own quality:
// the names of a stream's files, the playlists, and the segments. None of them is
// stored. They are made when they are asked for, from the index of the very film
// that can also be downloaded.
package stream
