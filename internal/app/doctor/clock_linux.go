package doctor

import (
	"context"

	"golang.org/x/sys/unix"
)

// clock asks the kernel whether the clock is synchronized.
func (e *examiner) clock(context.Context) {
	state, err := unix.Adjtimex(&unix.Timex{}) // without a mode it only reads
	if err != nil || state == unix.TIME_ERROR {
		e.warn("clock", "nothing keeps this machine's clock right, as far as the kernel knows",
			"run a time service, such as chrony or systemd-timesyncd: sessions expire and tokens end by this clock")
		return
	}
	e.ok("clock", "it is kept right by a time service")
}
