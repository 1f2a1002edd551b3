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

// apiPatience bounds how long admission tries to reach the API server.
const apiPatience = 90 * time.Second

// checkAdmission is the admission step: the last one that changes nothing.
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
	api := j.checkAPI(ctx, log) // first: the control plane's release bounds that of the packages
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
		// What packages bring is asked for again when they are installed.
		facts.MissingUnits, facts.MissingPrograms = nil, nil
	}
	return facts, err
}

// checkAPI tells why the API server cannot be used, nil when it can; the
// certificate is checked against the payload's CA.
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
		return nil // the check for programs says so
	}
	own, err := kubelet.ParseVersion(said)
	if err != nil {
		return err
	}
	return kubelet.Skew(server, own)
}

// checkIdentity refuses a host whose kubelet already is somebody else.
func (j *join) checkIdentity(ctx context.Context, log report.Log) error {
	_, err := j.identity(log).Known(ctx)
	return err
}

// bootstrapKubeconfig is the payload's, nil once it was removed.
func (j *join) bootstrapKubeconfig() []byte {
	content, _, found := j.payload.File(bootstrapPath)
	if !found {
		return nil
	}
	return content
}

// bootstrapPath is where the payload has the credential that may ask for any
// node's identity.
const bootstrapPath = "/etc/kubernetes/kubeconfig"

// nodeName is the name that kubelet will take.
func (j *join) nodeName() (string, error) {
	unit, dropins, _, _ := j.payload.Unit(kubelet.Unit)
	sources := kubelet.NameSources{Unit: unit, Hostname: j.facts.Hostname, File: j.asWillBe}
	for _, name := range sortedKeys(dropins) {
		sources.DropIns = append(sources.DropIns, dropins[name])
	}
	return kubelet.NodeName(sources)
}

// asWillBe reads a file as it will be: the payload's, else the host's.
func (j *join) asWillBe(p string) ([]byte, bool) {
	if content, _, found := j.payload.File(p); found {
		return content, true
	}
	content, _, err := j.tree.ReadFile(p)
	return content, err == nil
}

// crioConfigs is where CRI-O reads files in the order of their names; the last
// one wins.
const crioConfigs = "/etc/crio/crio.conf.d"

// defaultRuntime returns the container runtime that CRI-O will use by the files
// of the payload and of the host, "" where none names one.
func (j *join) defaultRuntime() string {
	names, err := j.tree.ReadDir(crioConfigs)
	if err != nil {
		names = nil // it does not exist yet
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

// internalAddresses returns the address that the payload puts on lo for the API
// server's proxy, in HyperShift's setup script. The script gives every address
// the prefix length 32, also fd00::1.
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
