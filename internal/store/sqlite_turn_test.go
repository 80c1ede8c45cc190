package store_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"agegate/internal/rules/fault"
	"agegate/internal/store"

	"golang.org/x/sync/errgroup"
)

// A gateway under load writes without a pause. An operator's command beside it
// must get its turn, far earlier than after SQLite's own waiting time of 5 s.
func TestWritersOfOneSQLiteFileTakeTurns(t *testing.T) {
	url := sqliteURL(t)
	gateway, command := numbers(t, url), open(t, url)
	began := make(chan struct{})
	slow := func(tx *store.Tx) error {
		select {
		case began <- struct{}{}:
		default:
		}
		time.Sleep(50 * time.Millisecond)
		return add(tx, 1)
	}
	var load errgroup.Group
	running, halt := context.WithCancel(t.Context())
	defer halt()
	for range 4 {
		load.Go(func() error {
			for running.Err() == nil {
				if err := gateway.Update(t.Context(), slow); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for n := range 5 {
		<-began // the gateway has the file, and others of its transactions wait
		if err := command.Update(t.Context(), func(tx *store.Tx) error { return add(tx, 2) }); err != nil {
			t.Fatalf("the command's transaction %d: %v", n+1, err)
		}
	}
	halt()
	if err := load.Wait(); err != nil {
		t.Errorf("the gateway: %v", err)
	}
}

// A process that stopped in the middle must not hold up a caller for longer than its deadline.
func TestWaitingForATurnHasADeadline(t *testing.T) {
	url := sqliteURL(t)
	numbers(t, url)
	s := impatient(t, url)
	other, err := os.Open(strings.TrimPrefix(url, "sqlite:") + ".turn")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	one := func(tx *store.Tx) error { return add(tx, 1) }
	if err := s.Update(t.Context(), one); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("error %v, want unavailable", err)
	}
	if err := errors.Join(other.Close(), s.Update(t.Context(), one)); err != nil {
		t.Errorf("after the other process ended: %v", err)
	}
}
