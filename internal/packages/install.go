package packages

import (
	"context"
	"errors"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// comment is what dnf's history has beside a transaction of ours.
const comment = "hcp-node-agent join"

// Install installs, and says what dnf is at.
func Install(ctx context.Context, on dnf.Host, log report.Log, specs ...string) error {
	log.Wait("for dnf to find out what belongs to "+strings.Join(specs, " "), "")
	err := on.Install(ctx, comment, func(line string) {
		if what := phase(line); what != "" {
			log.Wait(what, "")
		}
	}, specs...)
	return explain(err, specs)
}

// phase tells from a line of dnf's what it begins to do; "" where it goes on.
func phase(line string) string {
	line = strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(line, "Downloading Packages"):
		return "for dnf to download the packages"
	case line == "Running transaction test":
		return "for dnf to try the transaction out"
	case line == "Running transaction":
		return "for dnf to install the packages"
	case strings.HasPrefix(line, "Waiting for process with pid"):
		return "for another dnf to end (" + line + ")"
	}
	return ""
}

// explain gives a failure of dnf its exit code and the next command. What does
// not mend itself is a refusal; a repository that does not answer may do so
// later.
func explain(err error, specs []string) error {
	var said *dnf.Said
	if !errors.As(err, &said) {
		return err
	}
	// A repository's address can have a password in it.
	text := redact.Text(err.Error())
	again := "dnf install " + strings.Join(specs, " ") + " # shows all that dnf prints"
	if len(specs) == 0 {
		again = "dnf makecache # shows all that dnf prints"
	}
	switch {
	case said.Unanswered():
		return report.Fail(report.Failed, "# look at its baseurl= in /etc/yum.repos.d, at the proxy and at the subscription\n"+again,
			"a repository does not answer: %s", text)
	case said.Unsigned():
		return report.Fail(report.Refused, "rpm --import KEY # of whoever signed the packages (RHEL's: /etc/pki/rpm-gpg/RPM-GPG-KEY-redhat-release)\n"+again,
			"a signature could not be checked, nothing was installed: %s", text)
	case said.Unknown():
		return report.Fail(report.Refused, again, "%s", text)
	}
	return report.Fail(report.Failed, again, "%s", text)
}
