package accuracy

import (
	"bytes"
	"encoding/binary"
)

// orientation returns the EXIF orientation of a JPEG, 1 to 8, and 1 where it
// states none. Layout: Exif 2.32, sections 4.5 and 4.6: an APP1 segment holds
// a TIFF structure, whose first directory may have the tag 0x0112.
func orientation(data []byte) int {
	const app1, startOfScan = 0xe1, 0xda
	for at := 2; at+4 <= len(data) && data[at] == 0xff && data[at+1] != startOfScan; {
		length := int(binary.BigEndian.Uint16(data[at+2:]))
		end := at + 2 + length
		if length < 2 || end > len(data) {
			return 1
		}
		if tiff, ok := bytes.CutPrefix(data[at+4:end], []byte("Exif\x00\x00")); ok && data[at+1] == app1 {
			return tiffOrientation(tiff)
		}
		at = end
	}
	return 1
}

func tiffOrientation(tiff []byte) int {
	const tag, entrySize = 0x0112, 12
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < entrySize {
			return 1
		}
		if order.Uint16(entries) == tag {
			if o := int(order.Uint16(entries[8:])); o >= 1 && o <= 8 {
				return o
			}
			return 1
		}
		entries = entries[entrySize:]
	}
	return 1
}
