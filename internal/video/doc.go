// Package video holds the words and the rules of Spool: what a video, a
// resolution, a status, a plan and a failure are, and which steps are legal.
// Every other package speaks these words; this one imports nothing of ours and
// nothing but the standard library.
package video
