package bootstrap

import (
	"cmp"
	"context"
	"net/netip"
	"path"
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

// runValidation runs the checks that need the payload. It is the last step that
// changes nothing.
func runValidation(ctx context.Context, j *Builder, log report.Log) (Outcome, error) {
	facts, err := j.ValidationFacts(ctx, log)
	if err != nil {
		return Outcome{}, err
	}
	return reportFindings(preflight.Run(preflight.PayloadChecks(), facts), log)
}

func (j *Builder) ValidationFacts(ctx context.Context, log report.Log) (preflight.PayloadFacts, error) {
	machineConfig := j.Payload.MachineConfig()
	links, err := hostnet.Links()
	if err != nil {
		return preflight.PayloadFacts{}, err
	}
	swapRefused, err := j.Payload.RefusesSwap()
	if err != nil {
		return preflight.PayloadFacts{}, err
	}
	if _, err := j.WantedRuntime(); err != nil {
		return preflight.PayloadFacts{}, err
	}
	missing, err := j.MissingBinaries()
	if err != nil {
		return preflight.PayloadFacts{}, err
	}
	api := j.checkAPI(ctx, log) // first: its version limits that of the packages
	facts := preflight.PayloadFacts{
		Host: j.Facts, Links: links, FIPS: machineConfig.FIPS, KernelArguments: machineConfig.KernelArguments,
		MissingPrograms: missing, FailSwapOn: swapRefused,
		MissingUnits: j.Plan.MissingUnits, LoopbackAddresses: internalAddresses(j.Payload.File), API: api, NodeName: j.checkIdentity(ctx, log),
	}
	if conf, found := j.effectiveFile("/etc/containers/storage.conf"); found {
		facts.OverlaySize = crio.OverlaySize(conf)
	}
	if facts.Storage, err = preflight.FindFileSystem(crio.StorageDir); err != nil {
		return facts, err
	}
	facts.Packages, err = j.CheckPackages(ctx)
	if j.Packages != nil && len(j.Packages.Missing) > 0 {
		// Missing binaries are checked again after the packages are installed.
		facts.MissingUnits, facts.MissingPrograms = nil, nil
	}
	return facts, err
}

// checkAPI returns an error if the API server cannot be used. It verifies the
// server certificate with the payload's CA.
func (j *Builder) checkAPI(ctx context.Context, log report.Log) error {
	kubeconfig := j.BootstrapKubeconfig()
	if kubeconfig == nil {
		return nil // removed after an earlier join; the identity step uses the node's own
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	server, err := kubelet.ServerVersion(ctx, kubeconfig, nil, log)
	if err != nil {
		return err
	}
	j.ServerVersion = server
	said, err := command.Run(ctx, "kubelet", "--version")
	if err != nil {
		return nil // the check for missing binaries reports this
	}
	own, err := kubelet.ParseVersion(said)
	if err != nil {
		return err
	}
	return kubelet.CheckSkew(server, own)
}

// checkIdentity fails if kubelet's identity belongs to another node or cluster.
func (j *Builder) checkIdentity(ctx context.Context, log report.Log) error {
	_, err := j.Identity(log).CheckWithCluster(ctx)
	return err
}

// BootstrapKubeconfig returns the payload's bootstrap kubeconfig, or nil if it was
// removed.
func (j *Builder) BootstrapKubeconfig() []byte {
	content, _, found := j.Payload.File(BootstrapKubeconfigPath)
	if !found {
		return nil
	}
	return content
}

// BootstrapKubeconfigPath is the path of the payload's bootstrap kubeconfig. Its
// credential can request a client certificate for any node.
const BootstrapKubeconfigPath = "/etc/kubernetes/kubeconfig"

// expectedNodeName returns the node name that kubelet will use.
func (j *Builder) expectedNodeName() (string, error) {
	unit, dropins, _, _ := j.Payload.Unit(kubelet.UnitName)
	sources := kubelet.NameSources{Unit: unit, Hostname: j.Facts.Hostname, File: j.effectiveFile}
	for _, name := range sortedKeys(dropins) {
		sources.DropIns = append(sources.DropIns, dropins[name])
	}
	return kubelet.NodeName(sources)
}

// effectiveFile returns the content of a file after the join: the payload's, else
// the host's.
func (j *Builder) effectiveFile(p string) ([]byte, bool) {
	if content, _, found := j.Payload.File(p); found {
		return content, true
	}
	content, _, err := j.Tree.ReadFile(p)
	return content, err == nil
}

// crioConfigDir is the drop-in directory of CRI-O. CRI-O reads the files in lexical
// order, and the last one takes precedence.
const crioConfigDir = "/etc/crio/crio.conf.d"

// defaultRuntime returns the container runtime that CRI-O will use according to the
// files of the payload and of the host, or "" if no file names one.
func (j *Builder) defaultRuntime() string {
	names, err := j.Tree.ReadDir(crioConfigDir)
	if err != nil {
		names = nil // the directory does not exist yet
	}
	for _, file := range j.Payload.Config.Storage.Files {
		if path.Dir(file.Path) == crioConfigDir {
			names = append(names, path.Base(file.Path))
		}
	}
	slices.Sort(names)
	runtime := ""
	for _, name := range names {
		if content, found := j.effectiveFile(path.Join(crioConfigDir, name)); found {
			runtime = cmp.Or(parseRuntime(content), runtime)
		}
	}
	return runtime
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
