// SPDX-License-Identifier: Apache-2.0

package software

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// historyComment is the comment of the agent's transactions in dnf's history.
const historyComment = "hcp-node-agent join"

// Install installs packages with dnf and reports dnf's progress to log.
func Install(ctx context.Context, on dnf.Host, log report.Log, specs ...string) error {
	logResolution(log, specs)
	return classifyError(on.Install(ctx, historyComment, logPhases(log), specs...), specs)
}

// RepairInterrupted installs packages again that an interrupted transaction of the item has left damaged. After a power
// failure, rpm can list packages as installed whose files are empty or missing. It returns the names of the packages.
func RepairInterrupted(ctx context.Context, on dnf.Host, log report.Log, item ledger.Item) ([]string, error) {
	transactions, err := on.Transactions(ctx, item.Before.Value)
	if err != nil {
		return nil, err
	}
	var written []dnf.Package
	for _, transaction := range transactions {
		written = slices.Concat(written, transaction.Installed, transaction.Replacing)
	}
	damaged, err := on.Damaged(ctx, written...)
	if err != nil || len(damaged) == 0 {
		return nil, err
	}
	names := lists.Map(damaged, dnf.Package.String)
	logResolution(log, names)
	return names, classifyError(on.Reinstall(ctx, historyComment, logPhases(log), damaged...), nil)
}

// Download downloads packages with dnf, and tests their installation, without installing them. It reports
// dnf's progress to log.
func Download(ctx context.Context, on dnf.Host, log report.Log, specs ...string) error {
	logResolution(log, specs)
	return classifyError(on.Download(ctx, logPhases(log), specs...), specs)
}

func logResolution(log report.Log, specs []string) {
	log.Wait("waiting for dnf to resolve the dependencies of "+strings.Join(specs, " "), "")
}

// logPhases returns a function that logs the phases that begin with lines of dnf's output.
func logPhases(log report.Log) func(line string) {
	return func(line string) {
		if what := phase(line); what != "" {
			log.Wait(what, "")
		}
	}
}

// phase returns the phase that begins with a line of dnf's output, or "".
func phase(line string) string {
	line = strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(line, "Downloading Packages"),
		strings.HasPrefix(line, "Total size of inbound packages") && !strings.HasSuffix(line, "download 0 B."):
		return "waiting for dnf to download the packages"
	case line == "Running transaction test":
		return "waiting for dnf to test the transaction"
	case line == "Running transaction":
		return "waiting for dnf to install the packages"
	case strings.HasPrefix(line, "Waiting for process with pid"), strings.HasPrefix(line, "Waiting for a lock on"):
		return "waiting for another dnf process to exit (" + line + ")"
	}
	return ""
}

// classifyError adds an exit code and a remedy to a failure of dnf. Permanent errors are
// refusals. An unreachable repository can be reachable later.
func classifyError(err error, specs []string) error {
	var dnfErr *dnf.Error
	if !errors.As(err, &dnfErr) {
		return err
	}
	// The URL of a repository can contain a password.
	text := redact.Text(err.Error())
	again := report.Remedy("dnf install " + strings.Join(specs, " ") + " # prints the complete output of dnf")
	if len(specs) == 0 {
		again = "dnf makecache # prints the complete output of dnf"
	}
	switch {
	case dnfErr.IsRepositoryUnreachable():
		return report.Fail(report.Failed, "# check its baseurl= in /etc/yum.repos.d, the proxy and the subscription\n"+again,
			"a repository is unreachable: %s", text)
	case dnfErr.IsSignatureError():
		const importKey = "rpm --import KEY # public key of the signer (RHEL: /etc/pki/rpm-gpg/RPM-GPG-KEY-redhat-release)\n"
		return report.Fail(report.Refused, importKey+again,
			"a signature could not be verified; nothing was installed: %s", text)
	case dnfErr.IsPackageNotFound():
		return report.Fail(report.Refused, again, "%s", text)
	}
	return report.Fail(report.Failed, again, "%s", text)
}
