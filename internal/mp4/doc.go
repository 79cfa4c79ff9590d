// Package mp4 builds the MP4 that people play from the pieces that were encoded
// chunk by chunk: one progressive file, moov first, written in one pass.
// Box parsing and writing is mp4ff's; this package knows sample tables only.
package mp4
