package inference

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// ErrClosed is returned by Acquire after Close.
var ErrClosed = errors.New("the inference pool is closed")

// Pool holds a fixed number of workers. Each worker has its own single-threaded session
// of every model. The work of one frame therefore stays on one core, and the number of
// workers limits the processor time of all captures together.
type Pool struct {
	Manifest Manifest

	workers []*worker
	free    chan *worker
	done    chan struct{}
	close   sync.Once
}

// environment guards ONNX Runtime's process-wide state. The library is loaded once,
// used by every pool and never unloaded.
var environment struct {
	sync.Mutex
	library string
}

// Open verifies the models directory and starts a pool of workers. It does not load the
// models in without, which the caller does not use. It returns ErrMissing for missing
// models or a missing library.
func Open(dir string, workers int, without ...Model) (*Pool, error) {
	if workers < 1 {
		return nil, fmt.Errorf("an inference pool needs at least one worker, not %d", workers)
	}
	manifest, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	if err := initialize(filepath.Join(dir, manifest.Runtime.Path)); err != nil {
		return nil, err
	}
	p := &Pool{Manifest: manifest, free: make(chan *worker, workers), done: make(chan struct{})}
	for range workers {
		w, err := newWorker(dir, manifest, without)
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		w.pool = p
		p.workers = append(p.workers, w)
		p.free <- w
	}
	return p, nil
}

func initialize(library string) error {
	environment.Lock()
	defer environment.Unlock()
	path, err := filepath.EvalSymlinks(library)
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	if ort.IsInitialized() {
		if path != environment.library {
			return fmt.Errorf("ONNX Runtime was already loaded from another directory")
		}
		return nil
	}
	ort.SetSharedLibraryPath(path)
	// ONNX Runtime must not write its own messages between the lines of the log. Its
	// functions return their errors.
	if err := ort.InitializeEnvironment(ort.WithLogLevelFatal()); err != nil {
		return fmt.Errorf("load ONNX Runtime: %w; run `make models` on this machine, or install the package again", err)
	}
	environment.library = path
	return nil
}

// Acquire waits for a free worker; see Models.
func (p *Pool) Acquire(ctx context.Context) (Worker, error) {
	select {
	case <-p.done:
		return nil, ErrClosed
	default:
	}
	select {
	case w := <-p.free: // even if ctx has ended: a caller with a turn finishes its frame
		return w, nil
	default:
	}
	select {
	case w := <-p.free:
		return w, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.done:
		return nil, ErrClosed
	}
}

// Busy returns how many workers are in use.
func (p *Pool) Busy() int { return len(p.workers) - len(p.free) }

// Size returns the number of workers.
func (p *Pool) Size() int { return len(p.workers) }

// Close refuses further work, waits for the workers in use and frees them.
func (p *Pool) Close() error {
	var failures []error
	p.close.Do(func() {
		close(p.done)
		for range p.workers {
			failures = append(failures, (<-p.free).destroy())
		}
	})
	return errors.Join(failures...)
}

// worker is one set of sessions.
type worker struct {
	pool   *Pool
	models map[Model]*session
}

// session is one model with its input and output buffers bound to it.
type session struct {
	format  Input
	input   *ort.Tensor[float32]
	outputs map[string]*ort.Tensor[float32]
	run     *ort.AdvancedSession
}

func newWorker(dir string, manifest Manifest, without []Model) (*worker, error) {
	options, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	defer func() { _ = options.Destroy() }() // sessions keep a copy
	if err := errors.Join(
		options.SetIntraOpNumThreads(1),
		options.SetInterOpNumThreads(1),
		options.SetGraphOptimizationLevel(ort.GraphOptimizationLevelEnableAll),
		// Without this entry, sums of eight-bit products overflow on x86 processors
		// without VNNI instructions.
		options.AddSessionConfigEntry("session.x64quantprecision", "1"),
	); err != nil {
		return nil, err
	}
	w := &worker{models: map[Model]*session{}}
	for role, file := range manifest.Models {
		if slices.Contains(without, role) {
			continue
		}
		s := &session{outputs: map[string]*ort.Tensor[float32]{}}
		if file.Input != nil {
			s.format = *file.Input
		}
		w.models[role] = s
		if err := s.open(filepath.Join(dir, file.Path), role, file.Outputs, options); err != nil {
			return nil, errors.Join(fmt.Errorf("model %s: %w", file.Path, err), w.destroy())
		}
	}
	if w.Has(Tail) && !w.Has(Front) && len(w.Output(Ager, "map")) != MapSize {
		return nil, errors.Join(errors.New("the age model's map is not what the tail takes"), w.destroy())
	}
	return w, nil
}

// open binds buffers to the model at path and starts its session. Only the outputs that
// the manifest names are computed. Their shapes are those of the model. If Outputs
// demands a number of values, the shape must match it.
func (s *session) open(path string, role Model, outputs map[string]string, options *ort.SessionOptions) error {
	var err error
	taken, declared, err := ort.GetInputOutputInfo(path)
	if err != nil {
		return err
	}
	shape := ort.NewShape(1, 3, int64(s.format.Height), int64(s.format.Width))
	if s.format == (Input{}) { // the input is not a picture but another model's output
		if shape = taken[0].Dimensions; shape.FlattenedSize() != MapSize {
			return fmt.Errorf("takes %d values, want %d", shape.FlattenedSize(), MapSize)
		}
	}
	if s.input, err = ort.NewEmptyTensor[float32](shape); err != nil {
		return err
	}
	var names []string
	var values []ort.Value
	for _, out := range declared {
		if _, ok := outputs[out.Name]; !ok {
			continue
		}
		want, demanded := Outputs[role][out.Name]
		if got := out.Dimensions.FlattenedSize(); demanded && got != int64(want) {
			return fmt.Errorf("output %s has %d values, want %d", out.Name, got, want)
		}
		t, err := ort.NewEmptyTensor[float32](out.Dimensions)
		if err != nil {
			return err
		}
		s.outputs[out.Name] = t
		names, values = append(names, out.Name), append(values, t)
	}
	if len(names) != len(outputs) {
		return fmt.Errorf("has %d of the %d outputs that the manifest names", len(names), len(outputs))
	}
	s.run, err = ort.NewAdvancedSession(path, []string{"input"}, names, []ort.Value{s.input}, values, options)
	return err
}

func (w *worker) Has(m Model) bool { return w.models[m] != nil }

func (w *worker) Input(m Model) (Input, []float32) {
	s := w.models[m]
	return s.format, s.input.GetData()
}

func (w *worker) Run(m Model) error { return w.models[m].run.Run() }

func (w *worker) Output(m Model, name string) []float32 {
	return w.models[m].outputs[name].GetData()
}

func (w *worker) Release() { w.pool.free <- w }

func (w *worker) destroy() error {
	var failures []error
	for _, s := range w.models {
		if s.run != nil {
			failures = append(failures, s.run.Destroy())
		}
		if s.input != nil {
			failures = append(failures, s.input.Destroy())
		}
		for _, t := range s.outputs {
			failures = append(failures, t.Destroy())
		}
	}
	return errors.Join(failures...)
}
