package main

import (
	"bufio"
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"agegate/internal/check/liveness"
	"agegate/proof/attack/puppet"
)

// film writes a video of an actor who performs the script.
func (s *studio) film(path string, script []string, rate int) error {
	write, ok := map[string]func(*bufio.Writer, []byte) error{".y4m": y4mFrame, ".mjpeg": mjpegFrame}[filepath.Ext(path)]
	if !ok {
		return fmt.Errorf("%s: a video is .y4m or .mjpeg", path)
	}
	file, err := os.Create(path) //nolint:gosec // named by the caller
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // Flush reports what was not written
	out := bufio.NewWriter(file)
	if filepath.Ext(path) == ".y4m" {
		fmt.Fprintf(out, "YUV4MPEG2 W%d H%d F%d:1 Ip A1:1 C420jpeg\n", s.width, s.height, rate)
	}
	actor, now := puppet.NewActor(s.random, s.home), 0.0
	for _, line := range script {
		gesture, seconds, err := cue(line)
		if err != nil {
			return err
		}
		actor.See(gesture, now)
		for end := now + seconds; now < end; now += 1 / float64(rate) {
			frame, err := s.camera.Shoot(s.picture(actor.Pose(now)))
			if err != nil {
				return err
			}
			if err := write(out, frame); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// cue reads a line of the script, such as "turn_left:1.5".
func cue(line string) (liveness.Prompt, float64, error) {
	name, text, _ := strings.Cut(line, ":")
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || seconds <= 0 || !slices.Contains(gestures(), liveness.Prompt(name)) {
		return "", 0, fmt.Errorf("%q is not a gesture of %v with its seconds, as in turn_left:1.5", line, gestures())
	}
	if name == "level" {
		name = string(liveness.PromptHoldStill)
	}
	return liveness.Prompt(name), seconds, nil
}

// mjpegFrame writes one frame. An MJPEG file is a sequence of JPEGs.
func mjpegFrame(out *bufio.Writer, frame []byte) error {
	_, err := out.Write(frame)
	return err
}

// y4mFrame writes the colour planes of a frame. image/jpeg decodes 4:2:0, which
// the file's header declares.
func y4mFrame(out *bufio.Writer, frame []byte) error {
	decoded, err := jpeg.Decode(bytes.NewReader(frame))
	if err != nil {
		return err
	}
	img, ok := decoded.(*image.YCbCr)
	if !ok || img.SubsampleRatio != image.YCbCrSubsampleRatio420 {
		return fmt.Errorf("a frame of %T is not 4:2:0", decoded)
	}
	fmt.Fprintln(out, "FRAME")
	plane := func(pix []uint8, stride, width, height int) {
		for row := range height {
			out.Write(pix[row*stride : row*stride+width]) //nolint:errcheck // Flush reports it
		}
	}
	size := img.Rect.Size()
	plane(img.Y, img.YStride, size.X, size.Y)
	plane(img.Cb, img.CStride, (size.X+1)/2, (size.Y+1)/2)
	plane(img.Cr, img.CStride, (size.X+1)/2, (size.Y+1)/2)
	return nil
}
