package plan

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// apiTimeout is the maximum time to reach the API server.
const apiTimeout = 90 * time.Second

// ValidationFacts gathers the facts for the checks that need the payload.
func (b *Builder) ValidationFacts(ctx context.Context, log report.Log) (preflight.PayloadFacts, error) {
	machineConfig := b.Payload.MachineConfig()
	links, err := hostnet.Links()
	if err != nil {
		return preflight.PayloadFacts{}, err
	}
	swapRefused, err := b.Payload.RefusesSwap()
	if err != nil {
		return preflight.PayloadFacts{}, err
	}
	if _, err := b.DesiredRuntime(); err != nil {
		return preflight.PayloadFacts{}, err
	}
	missing, err := b.MissingBinaries()
	if err != nil {
		return preflight.PayloadFacts{}, err
	}
	api := b.checkAPI(ctx, log) // first: its version limits that of the packages
	facts := preflight.PayloadFacts{
		Host: b.Facts, Links: links, FIPS: machineConfig.FIPS, KernelArguments: machineConfig.KernelArguments,
		MissingPrograms: missing, FailSwapOn: swapRefused,
		MissingUnits: b.Plan.MissingUnits, LoopbackAddresses: internalAddresses(b.Payload.File), API: api, NodeName: b.checkIdentity(ctx, log),
	}
	if conf, found := b.effectiveFile("/etc/containers/storage.conf"); found {
		facts.OverlaySize = crio.OverlaySize(conf)
	}
	if facts.Storage, err = preflight.FindFileSystem(crio.StorageDir); err != nil {
		return facts, err
	}
	facts.Packages, err = b.CheckPackages(ctx)
	if b.Packages != nil && len(b.Packages.Missing) > 0 {
		// Missing binaries are checked again after the packages are installed.
		facts.MissingUnits, facts.MissingPrograms = nil, nil
	}
	return facts, err
}

// checkAPI returns an error if the API server cannot be used. It verifies the
// server certificate with the payload's CA.
func (b *Builder) checkAPI(ctx context.Context, log report.Log) error {
	kubeconfig := b.BootstrapKubeconfig()
	if kubeconfig == nil {
		return nil // removed after an earlier join; the identity step uses the node's own
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	server, err := kubelet.ServerVersion(ctx, kubeconfig, nil, log)
	if err != nil {
		return err
	}
	b.ServerVersion = server
	versionOutput, err := command.Run(ctx, "kubelet", "--version")
	if err != nil {
		return nil // the check for missing binaries reports this
	}
	own, err := kubelet.ParseVersion(versionOutput)
	if err != nil {
		return err
	}
	return kubelet.CheckSkew(server, own)
}

// checkIdentity fails if kubelet's identity belongs to another node or cluster.
func (b *Builder) checkIdentity(ctx context.Context, log report.Log) error {
	_, err := b.Identity(log).CheckWithCluster(ctx)
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
