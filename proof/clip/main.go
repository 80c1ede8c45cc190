// Command clip renders the sample face as a camera would see it, for fake cameras
// in tests. Its files are not stored in the repository.
package main

import (
	"context"
	"flag"
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"agegate/internal/check/inference"
	"agegate/internal/check/liveness"
	"agegate/internal/check/vision"
	"agegate/internal/check/vision/visiontest"
	"agegate/proof/attack/puppet"
)

const usage = `Renders the sample face as a camera would see it.

For a camera that follows the page's prompts (draw the pictures to a canvas
whose captureStream() stands in for the camera):

  go run ./proof/clip --out DIR [--gesture all] [--frames 8]

writes DIR/<gesture>/00.jpg … : "level" is the head at rest, swaying a little;
every other gesture (turn_left, turn_right, look_up, come_closer, named as the
prompts are) runs from level to the whole action. Play it forwards in about
half a second once the prompt shows, stay at the last picture until the prompt
changes, and play it backwards. Draw no two camera pictures alike: shift each
by a random fraction of a pixel, e.g.
  context.drawImage(picture, Math.random() - 0.5, Math.random() - 0.5)
or the server takes them for a recording, which they are.

For a camera whose person goes straight from one direction to the next, as
people do:

  go run ./proof/clip --poses DIR

writes DIR/<yaw>,<pitch>.jpg: the head turned by so many degrees, positive to its
own left and up, for a grid of poses that reaches as far as the actions. Show the
one that is nearest to the pose of the moment.

  go run ./proof/clip --out DIR --passport --birth 1990-01-31 --expiry 2030-01-31 [--stranger] [--frames 8]

writes, instead of a face, a passport with the face's portrait that a hand holds
before the camera: DIR/document is the passport at rest, the other folders are
the prompts of the document check.

For Chromium's --use-file-for-fake-video-capture:

  go run ./proof/clip --video FILE.y4m|FILE.mjpeg [--script "level:2 turn_left:1.5 level:1"]

plays the script, seconds per gesture, whatever the page asks.

Flags:
`

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "clip:", err)
		os.Exit(1)
	}
}

// studio holds what every clip needs.
type studio struct {
	head    *puppet.Head
	surface puppet.Surface
	camera  *puppet.Camera
	random  *rand.Rand
	home    puppet.Pose
	width   int
	height  int
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("clip", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	out := flags.String("out", "", "directory for the pictures")
	gesture := flags.String("gesture", "all", "level, one of the prompts, or all")
	grid := flags.String("poses", "", "directory for pictures of a grid of poses")
	frames := flags.Int("frames", 8, "pictures of each gesture")
	video := flags.String("video", "", "file for a video, .y4m or .mjpeg")
	script := flags.String("script", "level:4 turn_left:1.5 level:1 turn_right:1.5 level:1 look_up:1.5 level:1 "+
		"up_left:1.5 level:1", "gestures of the video, with seconds")
	rate := flags.Int("fps", 15, "frames a second of the video")
	flat := flags.Bool("flat", false, "a print, turned by hand, instead of a head")
	other := flags.Bool("stranger", false, "another person")
	withPassport := flags.Bool("passport", false, "a passport of the person instead of the face")
	birth := flags.String("birth", "1990-01-31", "date of birth in the passport")
	expiry := flags.String("expiry", "2035-01-31", "date of expiry of the passport")
	size := flags.Float64("face", 170, "width of the face in pixels")
	width := flags.Int("width", 640, "of the pictures")
	height := flags.Int("height", 480, "of the pictures")
	noise := flags.Float64("noise", 2.5, "of the camera, standard deviation of a pixel in levels")
	seed := flags.Uint64("seed", 1, "of all that is random")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *withPassport && *out != "" {
		return passport(*out, *birth, *expiry, *other, *frames, *seed)
	}
	pool, err := inference.Open(filepath.Join(visiontest.Root(), "models"), 1)
	if err != nil {
		return err
	}
	person, stranger, err := puppet.Sample(ctx, vision.NewAnalyzer(pool))
	if err != nil {
		return err
	}
	//nolint:gosec // every run must be the same
	s := &studio{head: person, surface: puppet.Solid, random: rand.New(rand.NewPCG(*seed, 0)), width: *width,
		height: *height}
	s.camera = puppet.NewCamera(s.random)
	s.camera.Noise = *noise
	s.home = puppet.Pose{X: float64(*width) / 2, Y: float64(*height) / 2, Width: *size}
	if *flat {
		s.surface = puppet.Flat
	}
	if *other {
		s.head = stranger
	}
	switch {
	case *video != "":
		return s.film(*video, strings.Fields(*script), *rate)
	case *grid != "":
		return s.poses(*grid)
	case *out != "":
		return s.pictures(*out, *gesture, *frames)
	}
	flags.Usage()
	return flag.ErrHelp
}

// gestures are the gestures that can be performed: rest, and the actions.
func gestures() []liveness.Prompt { return append([]liveness.Prompt{"level"}, liveness.Actions...) }

// pictures writes the pictures of a gesture from level to the whole action.
func (s *studio) pictures(dir, which string, frames int) error {
	known := false
	for _, gesture := range gestures() {
		if which != "all" && which != string(gesture) {
			continue
		}
		known = true
		folder := filepath.Join(dir, string(gesture))
		if err := os.MkdirAll(folder, 0o750); err != nil {
			return err
		}
		actor := puppet.NewActor(s.random, s.home)
		whole := actor.Obey(gesture)
		for i := range frames {
			part := float64(i+1) / float64(frames)
			pose := actor.Pose(float64(i) / 8)
			pose.Yaw += part * whole.Yaw
			pose.Pitch += part * whole.Pitch
			jpeg, err := s.camera.Shoot(s.picture(pose))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%02d.jpg", i)), jpeg, 0o600); err != nil {
				return err
			}
		}
	}
	if !known {
		return fmt.Errorf("no gesture %q; there are %v", which, gestures())
	}
	return nil
}

// The grid of poses: the degrees between two poses, and the number of steps from
// level to a whole action.
const (
	yawStep, pitchStep = 5.5, 4.0
	gridSteps          = 5
)

// poses writes a picture of each pose of the grid.
func (s *studio) poses(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	for i := -gridSteps; i <= gridSteps; i++ {
		for j := -gridSteps; j <= gridSteps; j++ {
			if i*i+j*j > gridSteps*gridSteps {
				continue // further than any action
			}
			pose := s.home
			pose.Yaw, pose.Pitch = yawStep*float64(i), pitchStep*float64(j)
			jpeg, err := s.camera.Shoot(s.picture(pose))
			if err != nil {
				return err
			}
			name := filepath.Join(dir, fmt.Sprintf("%g,%g.jpg", pose.Yaw, pose.Pitch))
			if err := os.WriteFile(name, jpeg, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *studio) picture(pose puppet.Pose) *image.RGBA {
	frame := image.NewRGBA(image.Rect(0, 0, s.width, s.height))
	s.head.Backdrop(frame)
	s.head.Draw(frame, s.surface, pose)
	return frame
}
