package wordpress

import (
	"os/exec"
	"syscall"
)

// stopWithGroup lets a program lead a group, because servers have workers.
func stopWithGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func stopGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
