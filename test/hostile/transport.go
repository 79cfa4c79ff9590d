package hostile

import (
	"bytes"
	"slices"
)

const packetSize = 188

// packet makes a packet of a transport stream, filled up with ones.
func packet(pid uint16, starts bool, counter int, body []byte) []byte {
	if starts {
		pid |= 0x4000
	}
	p := slices.Concat([]byte{'G'}, be16(pid), []byte{0x10 | byte(counter&15)}, body)
	return append(p, bytes.Repeat([]byte{0xff}, max(0, packetSize-len(p)))...)
}

// section makes the packets of a table of a transport stream.
func section(pid uint16, table byte, id uint16, number, last byte, body []byte) []byte {
	length := uint16(len(body)+9) | 0xb000
	s := slices.Concat([]byte{table}, be16(length), be16(id), []byte{0xc1, number, last}, body)
	s = slices.Concat([]byte{0}, s, be32(transportCRC(s)))
	var packets []byte
	counter := 0
	for part := range slices.Chunk(s, packetSize-4) {
		packets = append(packets, packet(pid, counter == 0, counter, part)...)
		counter++
	}
	return packets
}

// transportCRC returns the checksum of a table. hash/crc32 cannot compute it: it
// begins with the highest bit and is not inverted at the end.
func transportCRC(b []byte) uint32 {
	crc := ^uint32(0)
	for _, x := range b {
		crc ^= uint32(x) << 24
		for range 8 {
			if crc&(1<<31) != 0 {
				crc = crc<<1 ^ 0x04c11db7
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}

const (
	programsPID   = 0
	firstTablePID = 0x1000
	picturesPID   = 0x100
	nullPID       = 0x1fff
	h264          = 0x1b
)

// programs makes the tables of n programs of so many streams each. Their streams
// are the same ones.
func programs(n, streams int) []byte {
	const perTable = 250
	var b bytes.Buffer
	tables := (n + perTable - 1) / perTable
	for t := range tables {
		var list []byte
		for i := t * perTable; i < min(n, (t+1)*perTable); i++ {
			list = slices.Concat(list, be16(uint16(i+1)), be16(0xe000|firstTablePID))
		}
		b.Write(section(programsPID, 0, 1, byte(t), byte(tables-1), list))
	}
	var list []byte
	for i := range streams {
		list = slices.Concat(list, []byte{h264}, be16(0xe000|picturesPID+uint16(i)), be16(0xf000))
	}
	for i := range n {
		b.Write(section(firstTablePID, 2, uint16(i+1), 0, 0, slices.Concat(be16(0xe000|picturesPID), be16(0xf000), list)))
	}
	return b.Bytes()
}

// transportBombs misuse a format that has no end and no index.
func transportBombs() []Sample {
	none := []string{corrupt, noVideo, NotAVideo, unsupported}
	start := []byte{0, 0, 1, 0xe0, 0, 0, 0x80, 0, 0} // of a picture of unknown length
	return []Sample{
		{Name: "300 programs of 190 streams each", Ends: none, Make: func() []byte { return programs(300, 190) }},
		{Name: "3000 programs of 190 streams each", Ends: append(none, limitTime), Slow: true, Make: func() []byte { return programs(3000, 190) }},
		{Name: "60,000 programs", Ends: append(none, limitTime, limitMemory), Slow: true, Make: func() []byte { return programs(60_000, 1) }},
		{Name: "40 MB of nothing", Ends: none, Make: func() []byte { return bytes.Repeat(packet(nullPID, false, 0, nil), 40*million/packetSize) }},
		{Name: "a picture that never ends", Ends: none, Make: func() []byte {
			more := packet(picturesPID, false, 1, nil)
			return slices.Concat(programs(1, 1), packet(picturesPID, true, 0, start), bytes.Repeat(more, 20*million/packetSize))
		}},
		{Name: "100,000 pictures of no length", Ends: none, Make: func() []byte {
			return append(programs(1, 1), bytes.Repeat(packet(picturesPID, true, 0, start), 100_000)...)
		}},
		{Name: "complaints without end", Ends: append(none, limitTime, Converted), Make: func() []byte {
			return append(programs(1, 30), repeat(50_000, func(i int) []byte {
				noise := bytes.Repeat([]byte{0, 0, 1, byte(i)}, 44)
				return packet(picturesPID+uint16(i%30), i%3 == 0, i*7, append(slices.Clip(start), noise...)[:184])
			})...)
		}},
	}
}
