// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"os"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// ManagesPackages reports whether the agent checks and installs packages on this
// host. In image mode, it only checks the binaries.
func (s *Session) ManagesPackages() bool {
	return software.RHEL(s.Host.Facts.OS) > 0 && !s.Host.Facts.Capabilities().HasImage && dnf.IsAvailable() &&
		!slices.Contains(s.Run.Config.Skip, steps.Packages)
}

// Decide returns the outcome of each package that the plan requires; p is nil before there is a
// plan. The version of the API server, zero if it is unknown, limits that of the packages. Decide
// fails if the signature policy rejects the OS image from which packages are unpacked.
func (s *Software) Decide(ctx context.Context, p *Plan, server kube.Version) (software.Decision, error) {
	run, host := s.session.Run, s.session.Host
	facts := software.Facts{
		OS:            host.Facts.OS,
		Arch:          host.Facts.Arch,
		Managed:       s.session.ManagesPackages(),
		ImageMode:     host.Facts.Capabilities().HasImage,
		Contents:      s.Contents,
		Source:        run.Config.Software,
		BeforePayload: p == nil,
		Versions:      software.Versions{Server: server},
		Install:       run.Config.InstallPackages,
		Replace:       run.Upgrading,
		Commands:      s.commands(p),
	}
	if err := s.session.checkSoftwareSource(); err != nil {
		return software.Decision{}, err
	}
	if s.session.RunsPayloadImage() && (p == nil || p.Image != nil) {
		return software.Decision{}, nil // the software is that of another image, which the host boots first
	}
	var err error
	if facts.Requested, err = run.requestedRelease(); err != nil {
		return software.Decision{}, err
	}
	if host.Ledger != nil {
		if facts.Unpacked, err = osimage.Placed(host.Ledger.Items()); err != nil {
			return software.Decision{}, err
		}
	}
	if !facts.Managed {
		missing, err := s.MissingBinaries(p)
		if err != nil {
			return software.Decision{}, err
		}
		for _, program := range missing {
			facts.MissingPrograms = append(facts.MissingPrograms, program.Name)
		}
	}
	if facts, err = software.Gather(ctx, s.session.DNF(s.payload), facts); err != nil {
		return software.Decision{}, err
	}
	decision := software.Decide(facts)
	if len(decision.Unpack) > 0 && s.payload != nil {
		err = s.checkPolicy()
	}
	return decision, err
}

// Decision returns the decision of the validate step, or decides if that was skipped. It fails if the host cannot be a
// node with these packages.
func (s *Software) Decision(ctx context.Context, p *Plan, v Validation) (software.Decision, error) {
	if v.Software != nil {
		return *v.Software, v.Software.Err()
	}
	return s.DecideAgain(ctx, p, v)
}

// DecideAgain decides like Decide after packages were changed. Without the management of packages, only the validate
// step refuses a host.
func (s *Software) DecideAgain(ctx context.Context, p *Plan, v Validation) (software.Decision, error) {
	decision, err := s.Decide(ctx, p, v.ServerVersion)
	if err == nil && decision.Managed {
		err = decision.Err()
	}
	return decision, err
}

// checkSoftwareSource refuses a source of software that a host in image mode does not have.
func (s *Session) checkSoftwareSource() error {
	if !s.Host.Facts.Capabilities().HasImage ||
		(s.Run.Config.Software != config.SoftwareImage && !s.Run.Config.InstallPackages) {
		return nil
	}
	return report.Fail(report.Usage,
		"# remove --software, --install-packages and their settings; add the packages to the image of this host",
		"this host is in image mode: its software belongs to its image, and cannot be installed or unpacked")
}

// versionLocks returns the changes that lock the versions of the installed packages of the node, none
// if dnf's plugin versionlock is not installed.
func (s *Session) versionLocks(ctx context.Context, payload *ignition.Payload) ([]ledger.Change, error) {
	if !s.ManagesPackages() {
		return nil, nil
	}
	on := s.DNF(payload)
	if file, err := on.VersionLockFile(); err != nil || file == "" {
		return nil, err
	}
	return software.LockChanges(ctx, on)
}

// requestedRelease returns the release that the administrator requests, zero for none.
func (r *Run) requestedRelease() (software.Release, error) {
	if r.Config.OpenShiftRelease == "" {
		return software.Release{}, nil
	}
	release, err := software.ParseRelease(r.Config.OpenShiftRelease)
	if err != nil {
		return release, report.UsageError("--openshift-release: %w", err)
	}
	return release, nil
}

// DNF returns the host's dnf, with the proxy of ProxyVariables if the environment
// names none. dnf's own configuration takes precedence over both.
func (s *Session) DNF(payload *ignition.Payload) dnf.Host {
	on := s.PackageHost
	on.Proxy = s.Run.ProxyVariables(payload)
	return on
}

// ProxyVariables returns the variables, NAME=VALUE, that a program needs in addition to the environment to use the
// proxy: that of the environment, else of the user data, else of the payload, nil before it was loaded.
func (r *Run) ProxyVariables(payload *ignition.Payload) []string {
	var named []string
	if userData := r.UserData; userData != nil {
		named = dnf.ProxyVariables(userData.Proxy.HTTP, userData.Proxy.HTTPS, userData.Proxy.No)
	}
	if r.UserData == nil && payload != nil {
		proxy := payloadProxy(payload)
		named = dnf.ProxyVariables(proxy.HTTP, proxy.HTTPS, proxy.No)
	}
	return dnf.ExtraProxyVariables(os.LookupEnv, named)
}

// commands returns the binaries that the payload runs on this host; the value is
// true for binaries that a unit runs. It returns nil before there is a plan.
func (s *Software) commands(p *Plan) map[string]bool {
	if p == nil {
		return nil
	}
	commands := map[string]bool{}
	for _, c := range p.Commands {
		commands[c.Name] = commands[c.Name] || c.InUnit
	}
	if runtime := s.defaultRuntime(); runtime != "" {
		commands[runtime] = true // CRI-O does not start without it
	}
	return commands
}

// MissingBinaries returns the binaries that kubelet, CRI-O and the payload's units
// need and this host lacks.
func (s *Software) MissingBinaries(p *Plan) ([]preflight.Program, error) {
	table, err := software.ReadTable()
	if err != nil {
		return nil, err
	}
	var run []preflight.Program
	commands := s.commands(p)
	for _, one := range table.Packages {
		if one.Program != "" && one.Program != "runc" && commands[one.Program] {
			run = append(run, preflight.Program{Name: one.Program, Package: one.Name})
		}
	}
	return preflight.MissingPrograms(s.defaultRuntime(), run), nil
}
