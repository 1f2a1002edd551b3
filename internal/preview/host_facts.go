// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// HostFacts contains the facts about a host from which a payload can be planned elsewhere. They do
// not depend on the payload, and contain neither files nor secrets.
type HostFacts struct {
	report.TypeMeta
	Hostname        string             `json:"hostname" doc:"host name, as printed by uname -n"`
	OS              hostinfo.OSRelease `json:"os" doc:"operating system, from os-release"`
	Arch            string             `json:"arch" doc:"architecture: amd64 or arm64"`
	ImageMode       bool               `json:"imageMode" doc:"whether the host was booted from an image (RHCOS, bootc), as opposed to package mode"`
	FIPS            bool               `json:"fips" doc:"whether FIPS mode is enabled"`
	CgroupV2        bool               `json:"cgroupV2" doc:"whether cgroup v2 is mounted"`
	SELinux         string             `json:"selinux" doc:"mode of SELinux: enforcing, permissive or disabled"`
	KernelArguments []string           `json:"kernelArguments" doc:"arguments of the booted kernel"`
	Units           map[string]string  `json:"units" doc:"installed unit files with their states, as in systemctl list-unit-files"`
	Users           map[string]int     `json:"users" doc:"users with their IDs"`
	Groups          map[string]int     `json:"groups" doc:"groups with their IDs"`
}

// FactsKind is the kind of the document HostFacts.
const FactsKind = "HostFacts"

// FactsSource is where the facts of a plan are from.
type FactsSource string

// The sources of facts.
const (
	FactsOfThisHost FactsSource = "host"
	FactsFromFile   FactsSource = "file"
	DefaultFacts    FactsSource = "default"
)

// Enum returns all sources of facts.
func (FactsSource) Enum() []string {
	return schema.Strings(FactsOfThisHost, FactsFromFile, DefaultFacts)
}

// newDefaultFacts returns the facts of a RHEL 9 host in package mode on which no package of a node is
// installed.
func newDefaultFacts() HostFacts {
	return HostFacts{
		TypeMeta: report.Meta(FactsKind),
		Hostname: "default-host", OS: hostinfo.OSRelease{
			ID:      "rhel",
			Like:    []string{"fedora"},
			Version: "9",
			Name:    "Red Hat Enterprise Linux 9",
		},
		Arch: "amd64", CgroupV2: true, SELinux: "enforcing",
		Units: map[string]string{
			"auditd.service": "enabled", "basic.target": "static", "chrony-wait.service": "disabled",
			"chronyd.service": "enabled",
			"default.target":  "indirect", "firewalld.service": "enabled", "multi-user.target": "indirect",
			"network-online.target":  "static",
			"NetworkManager.service": "enabled", "NetworkManager-wait-online.service": "enabled", "sshd.service": "enabled",
		},
		Users:  map[string]int{"root": 0},
		Groups: map[string]int{"root": 0, "wheel": 10},
	}
}

// GatherFacts gathers the facts of this host.
func GatherFacts(ctx context.Context) (HostFacts, error) {
	facts := HostFacts{TypeMeta: report.Meta(FactsKind)}
	host, err := machine.Inspect(ctx, joinstate.Dir, true)
	if err != nil {
		return facts, err
	}
	defer host.Close()
	if err := host.RequireSystemd(); err != nil {
		return facts, err
	}
	if facts.Units, err = host.Units.UnitFiles(ctx); err != nil {
		return facts, err
	}
	facts.Hostname, facts.OS, facts.Arch = host.Facts.Hostname, host.Facts.OS, host.Facts.Arch
	facts.ImageMode, facts.FIPS, facts.CgroupV2 = host.Facts.Capabilities().HasImage, host.Facts.FIPS, host.Facts.CgroupV2
	facts.SELinux, facts.KernelArguments = host.Facts.SELinux, host.Facts.Cmdline
	facts.Users, facts.Groups, err = accounts.IDs(host.Files)
	return facts, err
}

// factsRemedy is the remedy for a file of facts that cannot be used.
const factsRemedy = "hcp-node-agent plan --print-facts >facts.json # on the host that is to join"

// parseFacts parses a document of kind HostFacts.
func parseFacts(name string, raw []byte) (HostFacts, error) {
	var facts HostFacts
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	name = request.DescribeInput(name)
	if err := decoder.Decode(&facts); err != nil {
		return facts, report.Fail(report.Usage, factsRemedy, "reading the host facts in %s: %w", name, err)
	}
	if facts.TypeMeta != report.Meta(FactsKind) {
		return facts, report.Fail(report.Usage, factsRemedy,
			"reading the host facts in %s: it is a %q of apiVersion %q, not a %s of %s",
			name, facts.Kind, facts.APIVersion, FactsKind, report.APIVersion)
	}
	var missing []string
	for field, value := range map[string]string{"hostname": facts.Hostname, "os.id": facts.OS.ID, "arch": facts.Arch} {
		if value == "" {
			missing = append(missing, field)
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		return facts, report.Fail(report.Usage, factsRemedy, "reading the host facts in %s: not set: %s", name,
			strings.Join(missing, ", "))
	}
	return facts, nil
}

// asHost returns the facts in the form that the facts of this host have.
func (f HostFacts) asHost() hostinfo.Facts {
	return hostinfo.Facts{
		OS: f.OS, Arch: f.Arch, Hostname: f.Hostname, OSTree: f.ImageMode, FIPS: f.FIPS,
		CgroupV2: f.CgroupV2, SELinux: f.SELinux, Cmdline: f.KernelArguments,
	}
}

// unitState returns the state of a unit. An instance has the state of its template.
func (f HostFacts) unitState(name string) systemd.UnitState {
	stem, instance, isInstance := strings.Cut(name, "@")
	state := f.Units[name]
	if i := strings.LastIndex(instance, "."); state == "" && isInstance && i > 0 {
		state = f.Units[stem+"@"+instance[i:]]
	}
	if state == "" {
		return systemd.UnitState{Load: "not-found"}
	}
	return systemd.UnitState{Load: "loaded", File: state}
}

// UnitFileState returns the state of a unit file, "" if there is none.
func (f HostFacts) UnitFileState(name string) string { return f.unitState(name).File }

// describeHost returns the operating system and its mode.
func describeHost(facts hostinfo.Facts) string {
	return cmp.Or(facts.OS.Name, strings.TrimSpace(facts.OS.ID+" "+facts.OS.Version)) + ", " + facts.Capabilities().Name
}
