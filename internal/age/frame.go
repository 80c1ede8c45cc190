package age

import (
	"encoding/binary"
	"errors"
)

// Limits of one frame.
const (
	// MaxFrameBytes is the most a frame's JPEG may weigh.
	MaxFrameBytes = 1 << 20
	// MaxPixels is the most pixels a frame may have.
	MaxPixels = 2_000_000
	// FrameHeaderBytes precede the JPEG in a message: the nonce and the
	// sequence number.
	FrameHeaderBytes = 16 + 4
)

// Errors that end an attempt: no honest page causes them.
var (
	ErrMalformedFrame = errors.New("the message is not a frame")
	ErrForeignFrame   = errors.New("the frame belongs to another capture")
	ErrFrameOrder     = errors.New("the frame is out of order")
	ErrFrameTooLarge  = errors.New("the frame is larger than allowed")
	ErrFinished       = errors.New("the capture has already ended")
)

// ErrBadImage reports a frame that is not a JPEG the pipeline reads: damaged,
// progressive or in an unusual colour space. Capture turns it into guidance.
var ErrBadImage = errors.New("the image cannot be read")

// Frame is one message of the capture stream.
type Frame struct {
	Nonce [16]byte // of the capture, see Capture.Nonce
	Seq   uint32   // counts from 0 within the capture
	JPEG  []byte   // shares memory with the message
}

// ParseFrame reads a message: 16 bytes of nonce, the sequence number as four
// bytes big-endian, then the JPEG. It fails with ErrMalformedFrame or
// ErrFrameTooLarge and does not look into the image.
func ParseFrame(message []byte) (Frame, error) {
	var f Frame
	if len(message) <= FrameHeaderBytes {
		return f, ErrMalformedFrame
	}
	if len(message) > FrameHeaderBytes+MaxFrameBytes {
		return f, ErrFrameTooLarge
	}
	copy(f.Nonce[:], message)
	f.Seq = binary.BigEndian.Uint32(message[16:])
	f.JPEG = message[FrameHeaderBytes:]
	return f, nil
}
