// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/firewalld"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// HostFacts gathers the facts for the checks that need no payload. If installsPackages is
// true, the uplink is not checked on a host without Open vSwitch, because the packages
// step installs it and checks the uplink then.
func (s *Session) HostFacts(ctx context.Context, uplink *Uplink, installsPackages bool) (preflight.HostFacts, error) {
	facts := preflight.HostFacts{Host: s.Host.Facts, Systemd: s.Host.UnitsErr}
	var err error
	if s.Host.Units != nil {
		if facts.Units, err = preflight.GetUnits(ctx, s.Host.Units); err != nil {
			return facts, err
		}
	}
	facts.Deployments, facts.DeploymentsError = s.Host.Deployments(ctx)
	if facts.Links, err = hostnet.Links(); err != nil {
		return facts, err
	}
	if facts.Sockets, err = hostinfo.Sockets(preflight.IsNodePort); err != nil {
		return facts, err
	}
	if synchronized, err := hostinfo.IsClockSynchronized(); err == nil { // else it is unknown
		facts.ClockUnsynchronized = !synchronized
	}
	if facts.Units["firewalld.service"].Active == "active" {
		facts.Firewall = uplinkZone(ctx)
	}
	if s.Host.NetworkManager == nil && s.AttachesUplink() {
		network, err := uplink.Facts(ctx)
		if err != nil {
			return facts, err
		}
		facts.StartNetworkManager = ovs.StartRemedy(network, migrationOptions(s.Run.Config))
	}
	modules := []string{"overlay"} // of CRI-O
	if s.AttachesUplink() {
		modules = append(modules, "openvswitch", "geneve")
	}
	isEnabled := func(name string) bool { return !hostinfo.IsModuleDisabled(ctx, name) }
	facts.DisabledModules = slices.DeleteFunc(modules, isEnabled)
	_, facts.NodeName = kubelet.NodeName(kubelet.UnitFiles{}, s.Host.Facts.Hostname)
	facts.OtherCluster = s.otherCluster()
	if facts.Leftovers, err = s.leftovers(ctx); err != nil {
		return facts, err
	}
	if facts.KubeletDirectory, err = s.Host.Files.RealPath(preflight.KubeletDir); err != nil {
		return facts, err
	}
	facts.DanglingLinks = preflight.DanglingLinks(s.Host.Files)
	migration, err := uplink.Check(ctx, installsPackages)
	facts.Uplink, facts.UplinkWarnings = err, migration.Findings()
	if s.Run.UserData != nil && s.Run.State.PayloadDigest == "" {
		probe, err := s.Run.Fetcher(report.Log{}).Probe(ctx, s.Run.UserData)
		facts.Endpoint, facts.EndpointTemporary, facts.ClockSkew = err, probe.Temporary, probe.Skew
	}
	facts.Paths = s.knownPaths(ctx, facts.Links)
	return facts, nil
}

// knownPaths returns the MTUs of the paths to the required endpoints, without those that are unknown.
func (s *Session) knownPaths(ctx context.Context, links []hostnet.Link) []preflight.KnownPath {
	name := uplinkName()
	link := lists.Find(links, func(one hostnet.Link) bool { return one.Name == name })
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // for names that cannot be resolved
	defer cancel()
	var paths []preflight.KnownPath
	for _, endpoint := range s.Run.RequiredEndpoints(nil) {
		mtu, err := hostnet.KnownPathMTU(ctx, endpoint.Address)
		if err == nil && link.MTU > 0 {
			paths = append(paths, preflight.KnownPath{Endpoint: endpoint.Name, MTU: mtu, Link: link.Name, LinkMTU: link.MTU})
		}
	}
	return paths
}

// uplinkZone returns firewalld's zone of the link with the default route, nil if it is unknown.
// The check of the firewall then reports firewalld without its rules.
func uplinkZone(ctx context.Context) *firewalld.Zone {
	if link := uplinkName(); link != "" {
		if zone, err := firewalld.ReadZone(ctx, link); err == nil {
			return &zone
		}
	}
	return nil
}

// uplinkName returns the name of the link with the default route, "" if it is unknown.
func uplinkName() string {
	routes, err := hostnet.DefaultRoutes()
	if err != nil {
		return ""
	}
	for _, family := range []int{4, 6} {
		if route, found := hostnet.BestDefaultRoute(routes, family); found {
			return route.Link
		}
	}
	return ""
}

// lacksOpenVSwitch reports whether the packages step is to install Open vSwitch or
// NetworkManager's plugin for it.
func (s *Session) lacksOpenVSwitch(facts ovs.Facts) bool {
	return s.ManagesPackages() && (!facts.OVS.Installed || !facts.NetworkManager.OVS)
}

// otherCluster fails if kubelet on this host belongs to a cluster that the agent
// did not join.
func (s *Session) otherCluster() error {
	if s.Run.State.LastStep != "" || s.Host.Facts.Capabilities().OwnsPayload {
		return nil // the validate step compares cluster and name; RHEL CoreOS joins without the agent
	}
	content, _, err := s.Host.Files.ReadFile(identity.KubeconfigPath)
	if err != nil {
		return nil //nolint:nilerr // there is none
	}
	server := "an unknown cluster"
	if cluster, err := kube.ParseCluster(content); err == nil {
		server = cluster.Server
	}
	return report.Fail(report.Refused,
		"hcp-node-agent join --adopt # records a node of the same cluster as joined, without changing it\n"+
			"# for another cluster; the pods of the present one end when this host leaves it: "+
			"systemctl disable --now kubelet; mv /var/lib/kubelet /var/lib/kubelet.old",
		"this host is already a node of %s (%s)", server, identity.KubeconfigPath)
}
