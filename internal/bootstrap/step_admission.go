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
	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// apiPatience is the maximum time to reach the API server.
const apiPatience = 90 * time.Second

// checkAdmission runs the checks that need the payload. It is the last step that
// changes nothing.
func checkAdmission(ctx context.Context, j *join, log report.Log) (outcome, error) {
	facts, err := j.admissionFacts(ctx, log)
	if err != nil {
		return outcome{}, err
	}
	return tell(preflight.Run(preflight.Admission(), facts), log)
}

func (j *join) admissionFacts(ctx context.Context, log report.Log) (preflight.AdmissionFacts, error) {
	machineConfig := j.payload.MachineConfig()
	links, err := host.Links()
	if err != nil {
		return preflight.AdmissionFacts{}, err
	}
	swapRefused, err := j.payload.SwapRefused()
	if err != nil {
		return preflight.AdmissionFacts{}, err
	}
	if _, err := j.wantedRuntime(); err != nil {
		return preflight.AdmissionFacts{}, err
	}
	missing, err := j.missingPrograms()
	if err != nil {
		return preflight.AdmissionFacts{}, err
	}
	api := j.checkAPI(ctx, log) // first: its version limits that of the packages
	facts := preflight.AdmissionFacts{
		Host: j.facts, Links: links, FIPS: machineConfig.FIPS, KernelArguments: machineConfig.KernelArguments,
		MissingPrograms: missing, SwapRefused: swapRefused,
		MissingUnits: j.plan.MissingUnits, Internal: internalAddresses(j.payload.File), API: api, Name: j.checkIdentity(ctx, log),
	}
	if conf, found := j.asWillBe("/etc/containers/storage.conf"); found {
		facts.OverlaySize = crio.OverlaySize(conf)
	}
	if facts.Storage, err = preflight.LookFileSystem(crio.Storage); err != nil {
		return facts, err
	}
	facts.Packages, err = j.checkSoftware(ctx)
	if j.software != nil && len(j.software.Missing) > 0 {
		// Missing binaries are checked again after the packages are installed.
		facts.MissingUnits, facts.MissingPrograms = nil, nil
	}
	return facts, err
}

// checkAPI returns an error if the API server cannot be used. It verifies the
// server certificate with the payload's CA.
func (j *join) checkAPI(ctx context.Context, log report.Log) error {
	kubeconfig := j.bootstrapKubeconfig()
	if kubeconfig == nil {
		return nil // removed after an earlier join; the identity step uses the node's own
	}
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	server, err := kubelet.ServerVersion(ctx, kubeconfig, nil, log)
	if err != nil {
		return err
	}
	j.server = server
	said, err := host.Run(ctx, "kubelet", "--version")
	if err != nil {
		return nil // the check for missing binaries reports this
	}
	own, err := kubelet.ParseVersion(said)
	if err != nil {
		return err
	}
	return kubelet.Skew(server, own)
}

// checkIdentity fails if kubelet's identity belongs to another node or cluster.
func (j *join) checkIdentity(ctx context.Context, log report.Log) error {
	_, err := j.identity(log).Known(ctx)
	return err
}

// bootstrapKubeconfig returns the payload's bootstrap kubeconfig, or nil if it was
// removed.
func (j *join) bootstrapKubeconfig() []byte {
	content, _, found := j.payload.File(bootstrapPath)
	if !found {
		return nil
	}
	return content
}

// bootstrapPath is the path of the payload's bootstrap kubeconfig. Its
// credential can request a client certificate for any node.
const bootstrapPath = "/etc/kubernetes/kubeconfig"

// nodeName returns the node name that kubelet will use.
func (j *join) nodeName() (string, error) {
	unit, dropins, _, _ := j.payload.Unit(kubelet.Unit)
	sources := kubelet.NameSources{Unit: unit, Hostname: j.facts.Hostname, File: j.asWillBe}
	for _, name := range sortedKeys(dropins) {
		sources.DropIns = append(sources.DropIns, dropins[name])
	}
	return kubelet.NodeName(sources)
}

// asWillBe returns the content of a file after the join: the payload's, else
// the host's.
func (j *join) asWillBe(p string) ([]byte, bool) {
	if content, _, found := j.payload.File(p); found {
		return content, true
	}
	content, _, err := j.tree.ReadFile(p)
	return content, err == nil
}

// crioConfigs is the drop-in directory of CRI-O. CRI-O reads the files in lexical
// order, and the last one takes precedence.
const crioConfigs = "/etc/crio/crio.conf.d"

// defaultRuntime returns the container runtime that CRI-O will use according to the
// files of the payload and of the host, or "" if no file names one.
func (j *join) defaultRuntime() string {
	names, err := j.tree.ReadDir(crioConfigs)
	if err != nil {
		names = nil // the directory does not exist yet
	}
	for _, file := range j.payload.Config.Storage.Files {
		if path.Dir(file.Path) == crioConfigs {
			names = append(names, path.Base(file.Path))
		}
	}
	slices.Sort(names)
	runtime := ""
	for _, name := range names {
		if content, found := j.asWillBe(path.Join(crioConfigs, name)); found {
			runtime = cmp.Or(runtimeOf(content), runtime)
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
