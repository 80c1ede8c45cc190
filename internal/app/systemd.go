package app

import (
	"context"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notify tells systemd the state of the process, if systemd has started the process as a service of type notify.
func (a *App) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		a.log.Warn("systemd could not be told the state", "error", err)
	}
}

// feedWatchdog tells systemd twice in each watchdog interval that the process runs.
// Otherwise systemd would restart the process.
func (a *App) feedWatchdog(ctx context.Context) {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		a.log.Warn("the watchdog's interval cannot be read", "error", err)
	}
	if interval == 0 {
		return
	}
	tick := time.NewTicker(interval / 2)
	defer tick.Stop()
	for {
		a.notify(daemon.SdNotifyWatchdog)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
