package age

import (
	"encoding/binary"
	"errors"
	"time"

	"agegate/internal/check/vision"
)

// FrameHeaderBytes precede the JPEG in a message: the nonce and the sequence
// number.
const FrameHeaderBytes = 16 + 4

// FramesUnderWay is how many frames a page may have sent before it has received an
// answer to the first of them. The page therefore acts on an answer up to this many
// frames later.
const FramesUnderWay = 4

// Errors that end an attempt, as vision.ErrFrameTooLarge does. No honest page
// causes them.
var (
	ErrMalformedFrame = errors.New("the message is not a frame")
	ErrForeignFrame   = errors.New("the frame belongs to another capture")
	ErrFrameOrder     = errors.New("the frame is out of order")
	ErrFinished       = errors.New("the capture has already ended")
)

// Frame is one message of the capture stream.
type Frame struct {
	Nonce [16]byte // of the capture, see Capture.Nonce
	Seq   uint32   // counts from 0 within the capture
	JPEG  []byte   // shares memory with the message
	// Received is when the message arrived; if it is zero, it is when Add is called.
	// Movements are measured by this time, so that a frame's wait for its turn does not
	// count.
	Received time.Time
	// Trip is the latest round-trip time of the connection, or zero if unknown.
	// Two frames may have been taken up to Trip further apart than they arrived.
	Trip time.Duration
}

// ParseFrame reads a message: 16 bytes of nonce, the sequence number as four
// bytes big-endian, then the JPEG. It fails with ErrMalformedFrame or
// vision.ErrFrameTooLarge and does not look into the image.
func ParseFrame(message []byte) (Frame, error) {
	var f Frame
	if len(message) <= FrameHeaderBytes {
		return f, ErrMalformedFrame
	}
	if len(message) > FrameHeaderBytes+vision.MaxFrameBytes {
		return f, vision.ErrFrameTooLarge
	}
	copy(f.Nonce[:], message)
	f.Seq = binary.BigEndian.Uint32(message[16:])
	f.JPEG = message[FrameHeaderBytes:]
	return f, nil
}
