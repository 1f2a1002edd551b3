// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// apiTimeout is the maximum time to reach the API server in a join.
const apiTimeout = 90 * time.Second

// Validation is the result of gathering the facts for the checks that need the payload.
type Validation struct {
	Facts         preflight.PayloadFacts
	ServerVersion kube.Version       // of the API server; zero: it was not queried
	Software      *software.Decision // nil: the step was skipped
}

// ReplacedSoftware returns the packages of which an upgrade installs another version.
func (v Validation) ReplacedSoftware() []string {
	if v.Software == nil {
		return nil
	}
	return v.Software.Replaced()
}

// Validate gathers the facts for the checks that need the payload. The state must contain
// the node name and the cluster.
func (s *Session) Validate(
	ctx context.Context, uplink *Uplink, sw *Software, p *Plan, log report.Log,
) (Validation, error) {
	var v Validation
	payload := sw.payload
	machineConfig := payload.MachineConfig()
	links, err := hostnet.Links()
	if err != nil {
		return v, err
	}
	swapRefused, err := payload.RefusesSwap()
	if err != nil {
		return v, err
	}
	var api error
	v.ServerVersion, api = s.serverVersion(ctx, payload, log) // first: its version limits that of the packages
	decision, err := sw.Decide(ctx, p, v.ServerVersion)
	if err != nil {
		return v, err
	}
	v.Software = &decision
	missing, err := sw.MissingBinaries(p)
	if err != nil {
		return v, err
	}
	facts := preflight.PayloadFacts{
		Host: s.Host.Facts, Links: links, FIPS: machineConfig.FIPS, KernelArguments: machineConfig.KernelArguments,
		MissingPrograms: missing, FailSwapOn: swapRefused, KubeletMinor: decision.KubeletMinor,
		MissingUnits: p.MissingUnits, LoopbackAddresses: internalAddresses(payload.File), API: api,
		NodeName: s.checkIdentity(ctx, payload, p, log), Logins: s.CheckLogins(ctx, uplink, p),
	}
	if err := s.addExtensionFacts(ctx, payload, p, &facts); err != nil {
		return v, err
	}
	if sw.Contents != nil {
		facts.Arch = sw.Contents.Arch
	}
	config, err := payload.KubeletConfig()
	if err != nil {
		return v, err
	}
	facts.ClusterDNS, facts.FailCgroupV1 = config.DNSAddresses(), config.FailCgroupV1
	if uplink.facts != nil {
		facts.NodeAddresses = uplink.facts.NodeAddresses().All()
	}
	if facts.Networks, err = s.NetworkFacts(uplink, payload); err != nil {
		return v, err
	}
	if s.Run.Config.AppliesHostSettings() {
		facts.SetsArguments = true
	}
	if conf, found := sw.effectiveFile("/etc/containers/storage.conf"); found {
		facts.OverlaySize = crio.OverlaySize(conf)
	}
	storage, err := s.Host.Files.RealPath(crio.StorageDir + "/storage")
	if err != nil {
		return v, err
	}
	if facts.Storage, err = preflight.FindFileSystem(storage); err != nil {
		return v, err
	}
	if s.Host.Facts.Capabilities().HasImage && p.Image == nil {
		facts.ReadOnlyDirectories = readOnlyDirectories(p)
	}
	if err := s.addKubeletFacts(payload, p, &facts); err != nil {
		return v, err
	}
	facts.Packages, facts.Release = report.Refusal(decision.Findings), decision.Mismatches
	if p.Image != nil {
		facts.SetsArguments = true // with the image
		if facts.Image, err = sw.checkImage(ctx, p, log); err != nil {
			return v, err
		}
	}
	if len(decision.Missing()) > 0 || len(decision.Unpack) > 0 || p.Image != nil {
		facts.MissingUnits, facts.MissingPrograms = nil, nil // checked again after the packages are installed
	}
	v.Facts = facts
	return v, nil
}

// readOnlyDirectories returns the read-only directories of planned files.
func readOnlyDirectories(p *Plan) []string {
	var found []string
	for _, change := range p.Files {
		if dir := hostfs.ReadOnlyDirectory(change.Target); dir != "" && change.Desired.Present {
			found = lists.AppendMissing(found, dir)
		}
	}
	return found
}

// addExtensionFacts adds facts about the extensions and the kernel type of the payload. On RHEL CoreOS, the
// machine-config-daemon layers them onto the image at the first boot. On platform None, no controller layers them onto
// a later image (machine-config-operator, pkg/daemon/update.go, applyLayeredOSChanges).
func (s *Session) addExtensionFacts(
	ctx context.Context, payload *ignition.Payload, p *Plan, facts *preflight.PayloadFacts,
) error {
	isFirstBoot, err := s.Host.Files.Exists(ignition.MachineConfigPath)
	if err != nil || s.Run.RollsBackImage(p) || (isFirstBoot && s.Host.Facts.Capabilities().HasFirstBoot) {
		return err // the previous deployment has its packages, and the first boot will install them
	}
	facts.KernelType, facts.KernelPackages = payload.MachineConfig().KernelType, p.KernelPackages
	facts.BootsImage = p.Image != nil
	if facts.BootsImage {
		facts.MissingExtensions = compareExtensions(p.Extensions, nil)
		return nil
	}
	if len(p.Extensions) == 0 || !dnf.HasRPM() {
		return nil
	}
	installed, err := s.PackageHost.Installed(ctx)
	facts.MissingExtensions = compareExtensions(p.Extensions, installed)
	return err
}

// compareExtensions returns the extensions with the packages that are not installed. Extensions without
// known packages are included. The IPsec package of any version of Open vSwitch is sufficient.
func compareExtensions(extensions []adapt.Extension, installed []dnf.Package) []preflight.Extension {
	var missing []preflight.Extension
	for _, extension := range extensions {
		lacking := slices.DeleteFunc(slices.Clone(extension.Packages), func(name string) bool {
			return slices.ContainsFunc(installed, func(p dnf.Package) bool {
				return p.Name == name || (isOVSIPsec(p.Name) && isOVSIPsec(name))
			})
		})
		if len(lacking) > 0 || len(extension.Packages) == 0 {
			missing = append(missing, preflight.Extension{Name: extension.Name, Packages: lacking})
		}
	}
	return missing
}

func isOVSIPsec(name string) bool {
	return strings.HasPrefix(name, "openvswitch") && strings.HasSuffix(name, "-ipsec")
}

// addKubeletFacts adds facts from the configuration and the unit of kubelet.
func (s *Session) addKubeletFacts(payload *ignition.Payload, p *Plan, facts *preflight.PayloadFacts) error {
	conf, _ := effectiveFile(payload, s.Host.Files, ignition.KubeletConfigPath)
	sizing, _ := effectiveFile(payload, s.Host.Files, preflight.NodeSizingPath)
	var err error
	if facts.Reserved, err = preflight.ReadReservation(conf, sizing, s.Host.Facts); err != nil {
		return report.Fail(report.Usage, "# correct the KubeletConfig in spec.config of the NodePool", "%w", err)
	}
	launch := kubeletLaunch(s.Host.Files, p, true)
	if facts.UnsupportedFlags, err = launch.UnsupportedFlags(facts.KubeletMinor); err != nil {
		return err
	}
	if s.Run.State.Finished.IsZero() { // else the Node is initialized already
		facts.CloudProvider.Name, facts.CloudProvider.ProviderID, err = launch.CloudFlags()
	}
	return err
}

// serverVersion returns the version of the API server, zero if it was not queried, and an error if
// the server cannot be used. It verifies the server certificate with the payload's CA.
func (s *Session) serverVersion(ctx context.Context, payload *ignition.Payload, log report.Log) (kube.Version, error) {
	kubeconfig := payload.BootstrapKubeconfig()
	if kubeconfig == nil {
		return kube.Version{}, nil // removed after an earlier join; the client-certificate step uses the node's own
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.Run.ServerTimeout, apiTimeout))
	defer cancel()
	return kube.ServerVersion(ctx, kubeconfig, nil, log)
}

// checkIdentity fails if kubelet's identity belongs to another node or cluster.
func (s *Session) checkIdentity(ctx context.Context, payload *ignition.Payload, p *Plan, log report.Log) error {
	_, err := s.Identity(payload, log, p.Registration).CheckWithCluster(ctx)
	return err
}

// internalAddresses returns the address that HyperShift's setup script adds to lo
// for the API server's proxy. The script uses the prefix length 32 for every
// address, also for fd00::1.
func internalAddresses(file func(string) ([]byte, uint32, bool)) []netip.Addr {
	content, _, found := file("/usr/local/bin/setup-apiserver-ip.sh")
	if !found {
		return nil
	}
	for line := range strings.Lines(string(content)) {
		words := strings.Fields(line)
		at := slices.Index(words, "add") + 1
		if at < 2 || at == len(words) || !strings.HasPrefix(words[at-2], "addr") {
			continue
		}
		text, _, _ := strings.Cut(words[at], "/")
		if address, err := netip.ParseAddr(text); err == nil {
			return []netip.Addr{address}
		}
	}
	return nil
}
