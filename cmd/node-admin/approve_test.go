// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestApproveRejectsInvalidFlags(t *testing.T) {
	withoutKubeconfig(t)
	dir := t.TempDir()
	config := writeTestFile(t, dir, "kubeconfig", kubeconfig(string(certtest.NewCA(t, "ca").PEM)))
	fingerprint := "SHA256:" + strings.Repeat("0", 64)
	for line, want := range map[string]string{
		"":                       "exactly one of --enrollments DIR and NODE is required",
		"--enrollments " + dir:   "no kubeconfig was found",
		"--kubeconfig " + config: "exactly one of --enrollments DIR and NODE is required",
		"--enrollments " + dir + " --node a --kubeconfig " +
			config: "exactly one of --enrollments DIR and NODE is required",
		"--enrollments /gone --kubeconfig " +
			config: "--enrollments: stat /gone",
		"--enrollments " + config + " --kubeconfig " +
			config: "is not a directory",
		"--enrollments " + dir + " --fingerprint x --kubeconfig " +
			config: "require NODE",
		"--enrollments " + dir + " --kubeconfig /gone": "reading the kubeconfig: stat /gone",
		"--enrollments " + dir + " --kubeconfig -":     "no kubeconfig was found",
		"--enrollments " + dir + " --kubeconfig " +
			config: "runs a command to obtain its credential",
		"--node a --kubeconfig " +
			config: "requires --fingerprint, --address or both",
		"--node a --watch --fingerprint x --kubeconfig " +
			config: "--watch requires --enrollments",
		"--enrollments " + dir + " --health-probe-bind-address :0 --kubeconfig " +
			config: "--health-probe-bind-address requires --watch",
		"--node a --address x --kubeconfig " +
			config: "\"x\" is not an IP address",
		"--node a --fingerprint " + fingerprint + " --kubeconfig " +
			writeTestFile(t, dir, "noca", kubeconfig("")): "kubeconfig",
	} {
		got := runCommandLine(t, append([]string{"approve"}, strings.Fields(line)...)...)
		if got.Code != report.Usage || got.Out != "" || !strings.HasPrefix(got.Err, "hcp-node-admin approve: ") ||
			!strings.Contains(got.Err, want) {
			t.Errorf("%s: code %d, %s%s, want %q", line, got.Code, got.Out, got.Err, want)
		}
	}
}

// While the API server is unreachable, a watching approver is live and not ready.
func TestApproveServesProbes(t *testing.T) {
	dir := t.TempDir()
	unreachable := strings.NewReplacer("api.example.com:6443", "127.0.0.1:1", "{exec: {",
		"{token: t}}, {name: other, user: {exec: {").
		Replace(
			kubeconfig(string(certtest.NewCA(t, "ca").PEM)),
		)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := taken.Addr().String()
	line := []string{
		"approve", "--watch", "--enrollments", dir, "--kubeconfig", writeTestFile(t, dir, "kubeconfig", unreachable),
		"--health-probe-bind-address", address,
	}
	if got := runCommandLine(t, line...); got.Code != report.Usage ||
		!strings.Contains(got.Err, "--health-probe-bind-address: listen tcp "+address) {
		t.Errorf("with an address in use: code %d, %s", got.Code, got.Err)
	}
	taken.Close()

	ctx, stop := context.WithCancel(t.Context())
	done := make(chan report.Code)
	go func() { done <- run(ctx, line, cli.Streams{Out: io.Discard, Err: io.Discard}) }()
	for path, want := range map[string]int{"/livez": http.StatusOK, "/readyz": http.StatusServiceUnavailable} {
		if got := probeStatus(t, "http://"+address+path); got != want {
			t.Errorf("%s returns %d, want %d", path, got, want)
		}
	}
	stop()
	if code := <-done; code != report.Success {
		t.Errorf("exit code %d", code)
	}
}

// probeStatus returns the status code of the response, as soon as the server listens.
func probeStatus(t *testing.T, url string) int {
	t.Helper()
	for range 100 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
			return response.StatusCode
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s is unreachable", url)
	return 0
}

// A decision is printed on one line, regardless of the text in a CSR.
func TestDecisionIsPrintedOnOneLine(t *testing.T) {
	recorded := approver.Event{
		Outcome: approver.Refused,
		Node:    "worker\n\x1b[2J",
		CSR:     "csr-1",
		Signer:  "kubernetes.io/kubelet-serving",
		Key:     "SHA256:00",
		Reason:  "it\nis bad",
		Remedy:  "look",
	}
	const want = "refused  \"worker\\n\\x1b[2J\" serving CSR csr-1 (key SHA256:00): it is bad; look"
	if got := eventText(recorded); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A CSR name that the requestor chose must not contain unescaped control characters in the
// output, and is quoted.
func TestApproveEscapesRequestorText(t *testing.T) {
	for name, want := range map[string]string{
		"csr-1":                    `serving CSR csr-1: with ESC\x1b[2J`,
		"\x1b[2J\x1b[1;1Happroved": `serving CSR "\x1b[2J\x1b[1;1Happroved": with`,
		"x\rapproved worker-9":     `serving CSR "x\rapproved worker-9": with`,
		"$(id>&2)":                 `serving CSR "$(id>&2)": with`,
		"x;touch pwned;#":          `serving CSR "x;touch pwned;#": with`,
		"-o":                       `serving CSR "-o": with`,
	} {
		var out, errOut bytes.Buffer
		p := newPrinter(cli.Streams{Out: &out, Err: &errOut})
		p.BindFlags(&cobra.Command{})
		p.Open()
		printEvent(p, approver.Event{
			Outcome: approver.Ignored,
			Node:    "worker-1",
			CSR:     name,
			Signer:  "kubernetes.io/kubelet-serving",
			Reason:  "with ESC\x1b[2J and \u202e",
		})
		if got := out.String(); !strings.Contains(got, want) || strings.ContainsAny(got, "\x1b\r\u202e") {
			t.Errorf("%q, want %q", got, want)
		}
		p.Failure("hcp-node-admin approve", report.Fail(report.Failed, "see \x1b[2J", "the CSR %s", name))
		if got := errOut.String(); strings.ContainsAny(got, "\x1b\r") {
			t.Errorf("the failure is %q", got)
		}
	}
}

// parseApproveFlags returns the flags of approve after parsing a command line.
func parseApproveFlags(t *testing.T, args []string) *pflag.FlagSet {
	t.Helper()
	c, err := admin().ParseLine(args)
	if err != nil || c.Name() != "approve" {
		t.Fatalf("%q: %v", args, err)
	}
	for _, needed := range []string{"enrollments", "watch", "kubeconfig"} {
		if !c.Flags().Changed(needed) {
			t.Errorf("%q lacks --%s", args, needed)
		}
	}
	return c.Flags()
}

func TestApproverUnit(t *testing.T) {
	content, err := os.ReadFile("../../systemd/hcp-node-admin-approver.service")
	if err != nil {
		t.Fatal(err)
	}
	setting := func(name string) string {
		match := regexp.MustCompile(`(?m)^` + name + `=(.*)$`).FindStringSubmatch(string(content))
		if match == nil {
			t.Fatalf("the unit has no %s", name)
		}
		return match[1]
	}
	flags := parseApproveFlags(t, strings.Fields(setting("ExecStart"))[1:])
	if path, _ := flags.GetString("kubeconfig"); path != "${CREDENTIALS_DIRECTORY}/kubeconfig" ||
		!strings.HasPrefix(setting("LoadCredential"), "kubeconfig:") {
		t.Errorf("the kubeconfig is %s", path)
	}
	// Only root can read the directory that the package creates, and the unit does not run as
	// root.
	enrollments, _ := flags.GetString("enrollments")
	if setting("BindReadOnlyPaths") != setting("AssertPathIsDirectory")+":"+enrollments ||
		strings.HasPrefix(enrollments, "/etc/") {
		t.Errorf("the enrollments are read at %s, shown are %s", enrollments, setting("BindReadOnlyPaths"))
	}
	for _, code := range []report.Code{report.Usage, report.CredentialRefused} {
		if !slices.Contains(strings.Fields(setting("RestartPreventExitStatus")), strconv.Itoa(int(code))) {
			t.Errorf("the unit is started again after %d", code)
		}
	}
	if setting("MemoryMax") != "256M" || setting("Environment") != "GOMEMLIMIT=160MiB" {
		t.Error("the unit is killed before it collects")
	}
	if setting("Type") != "notify" || setting("DynamicUser") != "yes" || setting("TimeoutStartSec") != "infinity" {
		t.Error("the unit does not wait for READY, or runs as somebody")
	}
}
