package hostile

import (
	"bytes"
	"compress/zlib"
	"hash/crc32"
	"io"
	"slices"
)

// PNG makes a black picture of any size with one bit for each pixel: the
// picture of 16384 × 16384 pixels has 33 kB.
func PNG(width, height uint32) []byte {
	header := slices.Concat(be32(width), be32(height), []byte{1, 0, 0, 0, 0})
	var data bytes.Buffer
	z := zlib.NewWriter(&data)
	// A bytes.Buffer takes everything.
	_, _ = io.CopyN(z, zeros{}, int64(height)*int64(1+(width+7)/8))
	_ = z.Close()
	return slices.Concat([]byte("\x89PNG\r\n\x1a\n"), pngChunk("IHDR", header), pngChunk("IDAT", data.Bytes()), pngChunk("IEND", nil))
}

func pngChunk(name string, body []byte) []byte {
	named := append([]byte(name), body...)
	return slices.Concat(be32(uint32(len(body))), named, be32(crc32.ChecksumIEEE(named)))
}

// zeros reads as zero bytes without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
