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
func runValidation(ctx context.Context, j *operation, log report.Log) (outcome, error) {
	facts, err := j.validationFacts(ctx, log)
	if err != nil {
		return outcome{}, err
	}
	return reportFindings(preflight.Run(preflight.PayloadChecks(), facts), log)
}

func (j *operation) validationFacts(ctx context.Context, log report.Log) (preflight.PayloadFacts, error) {
	machineConfig := j.payload.MachineConfig()
	links, err := hostnet.Links()
	if err != nil {
		return preflight.PayloadFacts{}, err
	}
	swapRefused, err := j.payload.RefusesSwap()
	if err != nil {
		return preflight.PayloadFacts{}, err
	}
	if _, err := j.wantedRuntime(); err != nil {
		return preflight.PayloadFacts{}, err
	}
	missing, err := j.missingBinaries()
	if err != nil {
		return preflight.PayloadFacts{}, err
	}
	api := j.checkAPI(ctx, log) // first: its version limits that of the packages
	facts := preflight.PayloadFacts{
		Host: j.facts, Links: links, FIPS: machineConfig.FIPS, KernelArguments: machineConfig.KernelArguments,
		MissingPrograms: missing, FailSwapOn: swapRefused,
		MissingUnits: j.plan.MissingUnits, LoopbackAddresses: internalAddresses(j.payload.File), API: api, NodeName: j.checkIdentity(ctx, log),
	}
	if conf, found := j.effectiveFile("/etc/containers/storage.conf"); found {
		facts.OverlaySize = crio.OverlaySize(conf)
	}
	if facts.Storage, err = preflight.FindFileSystem(crio.StorageDir); err != nil {
		return facts, err
	}
	facts.Packages, err = j.checkPackageDecision(ctx)
	if j.packageDecision != nil && len(j.packageDecision.Missing) > 0 {
		// Missing binaries are checked again after the packages are installed.
		facts.MissingUnits, facts.MissingPrograms = nil, nil
	}
	return facts, err
}

// checkAPI returns an error if the API server cannot be used. It verifies the
// server certificate with the payload's CA.
func (j *operation) checkAPI(ctx context.Context, log report.Log) error {
	kubeconfig := j.bootstrapKubeconfig()
	if kubeconfig == nil {
		return nil // removed after an earlier join; the identity step uses the node's own
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	server, err := kubelet.ServerVersion(ctx, kubeconfig, nil, log)
	if err != nil {
		return err
	}
	j.serverVersion = server
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
func (j *operation) checkIdentity(ctx context.Context, log report.Log) error {
	_, err := j.identityManager(log).CheckWithCluster(ctx)
	return err
}

// bootstrapKubeconfig returns the payload's bootstrap kubeconfig, or nil if it was
// removed.
func (j *operation) bootstrapKubeconfig() []byte {
	content, _, found := j.payload.File(bootstrapKubeconfigPath)
	if !found {
		return nil
	}
	return content
}

// bootstrapKubeconfigPath is the path of the payload's bootstrap kubeconfig. Its
// credential can request a client certificate for any node.
const bootstrapKubeconfigPath = "/etc/kubernetes/kubeconfig"

// expectedNodeName returns the node name that kubelet will use.
func (j *operation) expectedNodeName() (string, error) {
	unit, dropins, _, _ := j.payload.Unit(kubelet.UnitName)
	sources := kubelet.NameSources{Unit: unit, Hostname: j.facts.Hostname, File: j.effectiveFile}
	for _, name := range sortedKeys(dropins) {
		sources.DropIns = append(sources.DropIns, dropins[name])
	}
	return kubelet.NodeName(sources)
}

// effectiveFile returns the content of a file after the join: the payload's, else
// the host's.
func (j *operation) effectiveFile(p string) ([]byte, bool) {
	if content, _, found := j.payload.File(p); found {
		return content, true
	}
	content, _, err := j.tree.ReadFile(p)
	return content, err == nil
}

// crioConfigDir is the drop-in directory of CRI-O. CRI-O reads the files in lexical
// order, and the last one takes precedence.
const crioConfigDir = "/etc/crio/crio.conf.d"

// defaultRuntime returns the container runtime that CRI-O will use according to the
// files of the payload and of the host, or "" if no file names one.
func (j *operation) defaultRuntime() string {
	names, err := j.tree.ReadDir(crioConfigDir)
	if err != nil {
		names = nil // the directory does not exist yet
	}
	for _, file := range j.payload.Config.Storage.Files {
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
