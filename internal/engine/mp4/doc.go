// Package mp4 builds the MP4 that people play from the pieces that were encoded
// chunk by chunk: one progressive file, moov first, written in one pass. It owns
// the time line and the layout of that file; it never decodes a picture and
// never holds media bytes. Boxes are read and written by mp4ff; this package
// knows sample tables only.
package mp4
