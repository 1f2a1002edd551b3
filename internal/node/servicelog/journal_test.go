// SPDX-License-Identifier: Apache-2.0

package servicelog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestErrorLines(t *testing.T) {
	const journal = `I1121 05:27:00.000001    1234 server.go:1] "Starting"
E1121 05:27:00.123456    1234 kubelet.go:2] "Container runtime network not ready" err="no CNI"
E1121 05:27:05.123456    1234 kubelet.go:2] "Container runtime network not ready" err="no CNI"
W1121 05:27:05.123456    1234 kubelet.go:2] "only a warning"
time="2026-01-01T00:00:00Z" level=error msg="cannot find runc"
E1121 05:27:06.123456    1234 run.go:72] "command failed" err="failed to load kubelet config file"
kubelet.service: Main process exited, code=exited, status=1/FAILURE
`
	want := []string{
		`"command failed" err="failed to load kubelet config file"`,
		"kubelet.service: Main process exited, code=exited, status=1/FAILURE",
	}
	if diff := cmp.Diff(want, errorLines(journal, 2)); diff != "" {
		t.Errorf("the last two (-want +got):\n%s", diff)
	}
	all := []string{
		`"Container runtime network not ready" err="no CNI"`, `time="2026-01-01T00:00:00Z" level=error msg="cannot ` +
			`find runc"`, want[0], want[1],
	}
	if diff := cmp.Diff(all, errorLines(journal, 9)); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if got := errorLines("nothing wrong\n", 2); got != nil {
		t.Errorf("errorLines() = %q without any error", got)
	}
}

// Only the errors of the last start that failed are returned, also while the unit is started again.
func TestErrorLinesOfTheLastStart(t *testing.T) {
	const journal = `Starting kubelet.service - Kubernetes Kubelet...
E1121 05:27:06.123456    1234 run.go:72] "command failed" err="failed to load kubelet config file"
kubelet.service: Main process exited, code=exited, status=1/FAILURE
kubelet.service: Scheduled restart job, restart counter is at 7.
Starting kubelet.service - Kubernetes Kubelet...
E1121 05:37:06.123456    1235 run.go:72] "command failed" err="failed to parse kubelet flag: unknown flag: --x"
kubelet.service: Main process exited, code=exited, status=1/FAILURE
kubelet.service: Scheduled restart job, restart counter is at 8.
`
	want := []string{
		`"command failed" err="failed to parse kubelet flag: unknown flag: --x"`,
		"kubelet.service: Main process exited, code=exited, status=1/FAILURE",
	}
	for _, text := range []string{journal, journal + "Starting kubelet.service - Kubernetes Kubelet...\n"} {
		if diff := cmp.Diff(want, errorLines(text, 9)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// fakeJournalctl prints the oldest of three lines, or with --reverse the newest two, as systemd 252 does with --since
// and a limit.
const fakeJournalctl = `#!/bin/sh
case "$*" in
*--reverse*) printf 'E1121 05:37:07.1    1 run.go:72] "newest"\nE1121 05:37:06.1    1 run.go:72] "older"\n' ;;
*) printf 'E1121 05:37:05.1    1 run.go:72] "oldest"\n' ;;
esac
`

// The last errors are those at the end of the journal, also if it has more lines than are read.
func TestLastErrors(t *testing.T) {
	dir := t.TempDir()
	err := os.WriteFile(filepath.Join(dir, "journalctl"), []byte(fakeJournalctl), 0o700) //nolint:gosec // a program
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	got := LastErrors(t.Context(), "kubelet.service", 9, "--since=-6min")
	if diff := cmp.Diff([]string{`"older"`, `"newest"`}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFormatLogLine(t *testing.T) {
	for line, want := range map[string]string{
		`"command failed" err="failed to load kubelet config file, error: \"x\""`: `command failed: failed to load ` +
			`kubelet config file, error: "x"`,
		`"only a message" pod="ns/name"`:                                     "only a message",
		`time="2026-01-01T00:00:00Z" level=fatal msg="no \"runc\" in $PATH"`: `no "runc" in $PATH`,
		`Operation for "{volumeName:kubernetes.io/host-path/1 podName:1 nodeName:}" failed. No retries ` +
			`permitted until 2026-01-01 00:00:00.1 +0000 UTC m=+1.2 (durationBeforeRetry 2s). Error: MountVolume.SetUp ` +
			`failed for volume "v" (UniqueName: "kubernetes.io/host-path/1") pod "p" (UID: "1") : mount failed`: "" +
			`MountVolume.SetUp failed for volume "v": mount failed`,
		`"CreatePodSandbox for pod failed" err="error creating pod sandbox with name \"k8s_p_n_1_7\": no"`: "" +
			"CreatePodSandbox for pod failed: error creating pod sandbox: no",
		"Error: unknown flag: --x":                            "Error: unknown flag: --x",
		`"x" err="Get \"https://user:hunter2secret@proxy/\""`: `x: Get "https://***@proxy/"`,
	} {
		if got := FormatLine(line); got != want {
			t.Errorf("plain(%s)\n= %s\nwant %s", line, got, want)
		}
	}
}
