// SPDX-License-Identifier: Apache-2.0

package software

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// PendingUpdates returns a note for each component of this host of which another version runs than the one
// that was installed last. Without rpm there are none. In image mode, the image is the component.
func PendingUpdates(ctx context.Context, units systemd.Reader) ([]report.Finding, error) {
	host, err := hostinfo.Gather(ctx)
	if err != nil {
		return nil, err
	}
	if host.Capabilities().HasImage {
		deployments, err := deployment.Read(ctx, host.Class())
		return pendingImage(deployments), err
	}
	facts, err := gatherRunning(ctx, units, host)
	return facts.findings(), err
}

// pendingImage returns a note if another image boots next. The deployments are nil if they are unknown.
func pendingImage(deployments *deployment.Status) []report.Finding {
	if deployments == nil || deployments.Next() == nil {
		return nil
	}
	return []report.Finding{{
		Severity: report.SeverityNote,
		Reason:   report.UpdateNotRunning,
		Subject:  "the image",
		Message: fmt.Sprintf("another deployment boots next (%s), but %s is running",
			deployments.Next().Describe(deployments.Booted), deployments.Booted),
		Remedy: reboot,
	}}
}

// running are installed packages and the versions that run. An empty version is unknown.
type running struct {
	Installed      []dnf.Package // the newest installation first
	Kernel         string        // uname -r
	OpenVSwitch    string        // of ovs-vswitchd
	NetworkManager string
	Systemd        string
}

// runningPatterns select the packages in the rpm database.
var runningPatterns = []string{"kernel*-core", "openvswitch*", "NetworkManager", "systemd"}

func gatherRunning(ctx context.Context, units systemd.Reader, host hostinfo.Facts) (running, error) {
	facts := running{Kernel: host.Kernel}
	if !dnf.IsAvailable() {
		return facts, nil
	}
	var err error
	if facts.Installed, err = (dnf.Host{}).Installed(ctx, runningPatterns...); err != nil || len(facts.Installed) == 0 {
		return facts, err
	}
	// Other checks report services that do not run.
	facts.OpenVSwitch, _ = openvswitch.RunningVersion(ctx)
	if units != nil {
		facts.Systemd, _ = units.Version()
	}
	if client, err := networkmanager.Open(ctx); err == nil {
		info, _ := client.Info(ctx)
		facts.NetworkManager = info.Version
		client.Close()
	}
	return facts, nil
}

// component is a part of the host whose update requires a restart.
type component struct {
	name     string
	packages *regexp.Regexp
	running  func(running) string
	remedy   report.Remedy
}

var components = []component{
	{
		"the kernel", regexp.MustCompile(`^kernel(-rt|-64k)*-core$`),
		func(f running) string { return f.Kernel }, reboot,
	},
	{ // a restart interrupts the networks of the host and of its pods
		"Open vSwitch", regexp.MustCompile(`^openvswitch(\d+\.\d+)?$`),
		func(f running) string { return f.OpenVSwitch }, reboot,
	},
	{
		"NetworkManager", regexp.MustCompile(`^NetworkManager$`),
		func(f running) string { return f.NetworkManager }, "systemctl restart NetworkManager",
	},
	{
		"systemd", regexp.MustCompile(`^systemd$`),
		func(f running) string { return f.Systemd }, "systemctl daemon-reexec",
	},
}

// reboot is the remedy for an update that runs after a reboot.
const reboot report.Remedy = "hcp-node-agent maintenance --no-update " +
	"# drains the node, reboots the host and uncordons the node"

func (f running) findings() []report.Finding {
	var findings []report.Finding
	for _, component := range components {
		version := component.running(f)
		installed := lists.Find(f.Installed, func(p dnf.Package) bool { return component.packages.MatchString(p.Name) })
		if installed.Name == "" || version == "" || isRunning(version, installed) {
			continue
		}
		findings = append(findings, report.Finding{
			Severity: report.SeverityNote,
			Reason:   report.UpdateNotRunning,
			Subject:  component.name,
			Message:  fmt.Sprintf("an update of %s is installed (%s), but %s is running", component.name, installed, version),
			Remedy:   component.remedy,
		})
	}
	return findings
}

// isRunning reports whether a version that runs is that of a package: VERSION, VERSION-RELEASE, or as the
// kernel prints it VERSION-RELEASE.ARCH with +VARIANT.
func isRunning(version string, p dnf.Package) bool {
	version, _, _ = strings.Cut(version, "+")
	full := p.Version + "-" + p.Release
	return version == p.Version || version == full || version == full+"."+p.Arch
}
