package evidence

import (
	"archive/zip"
	"bytes"
	"hash/crc32"
	"io"
)

// file is a file of a pack.
type file struct {
	name string
	data []byte
}

// archive returns the files as a ZIP archive: in their order, uncompressed and without times. There is exactly one
// such archive for given files. Verify compares a pack with it byte by byte, so that nothing can be hidden between
// the files.
func archive(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		size := uint64(len(f.data))
		part, err := w.CreateRaw(&zip.FileHeader{
			Name: f.name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(f.data),
			CompressedSize64: size, UncompressedSize64: size,
		})
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// extract returns the files of an archive made by archive.
func extract(pack []byte) ([]file, error) {
	r, err := zip.NewReader(bytes.NewReader(pack), int64(len(pack)))
	if err != nil && !bytes.HasPrefix(pack, []byte("PK")) {
		return nil, errNoPack
	} else if err != nil {
		return nil, errArchive
	}
	var files []file
	left := uint64(len(pack)) // entries may name the same bytes, so their sizes are added up
	for _, entry := range r.File {
		if entry.Method != zip.Store || entry.UncompressedSize64 > left {
			return nil, errArchive
		}
		left -= entry.UncompressedSize64
		part, err := entry.Open()
		if err != nil {
			return nil, errArchive
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, errArchive
		}
		files = append(files, file{entry.Name, data})
	}
	if same, err := archive(files); err != nil || !bytes.Equal(same, pack) {
		return nil, errArchive
	}
	return files, nil
}
