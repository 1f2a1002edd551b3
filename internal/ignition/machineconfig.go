package ignition

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The files of a payload that say something about the node as a whole.
const (
	encapsulatedPath  = "/etc/ignition-machine-config-encapsulated.json"
	kubeconfigPath    = "/etc/kubernetes/kubeconfig"
	kubeletConfigPath = "/etc/kubernetes/kubelet.conf"
)

// MachineConfig is what a rendered MachineConfig wants of the operating system
// itself. Ignition has no words for it: on an OpenShift image the
// machine-config-daemon does it at first boot.
type MachineConfig struct {
	Name            string   `json:"name,omitempty"`
	OSImageURL      string   `json:"osImageURL,omitempty"`
	KernelArguments []string `json:"kernelArguments,omitempty"`
	FIPS            bool     `json:"fips,omitempty"`
	Extensions      []string `json:"extensions,omitempty"`
	KernelType      string   `json:"kernelType,omitempty"`
}

// MachineConfig is what the payload wants of the operating system; zero where
// it carries no MachineConfig.
func (p *Payload) MachineConfig() MachineConfig { return p.machine }

func machineConfig(p *Payload) (MachineConfig, error) {
	content, found := p.contents[encapsulatedPath]
	if !found || len(content) == 0 {
		return MachineConfig{}, nil
	}
	var document struct {
		Metadata struct{ Name string }
		Spec     MachineConfig
	}
	if err := json.Unmarshal(content, &document); err != nil {
		return MachineConfig{}, fmt.Errorf("decoding MachineConfig: %w", err)
	}
	document.Spec.Name = document.Metadata.Name
	return document.Spec, nil
}

// APIServer gives the URL of the API server and the CA, in PEM, that the
// bootstrap kubeconfig of the payload names.
func (p *Payload) APIServer() (server string, ca []byte, err error) {
	content, _, found := p.File(kubeconfigPath)
	if !found {
		return "", nil, report.Fail(report.Usage, "check that the endpoint is the one of a NodePool", "the payload has no %s, so it is not one for a node", kubeconfigPath)
	}
	server, ca, err = p.cluster(content)
	if err != nil {
		return "", nil, report.Fail(report.Usage, "", "reading %s of the payload: %w", kubeconfigPath, err)
	}
	return server, ca, nil
}

// cluster finds the cluster of a kubeconfig's current context.
func (p *Payload) cluster(kubeconfig []byte) (string, []byte, error) {
	type cluster struct {
		Server string `json:"server"`
		CA     string `json:"certificate-authority"`
		CAData []byte `json:"certificate-authority-data"`
	}
	var config struct {
		Current  string `json:"current-context"`
		Contexts []struct {
			Name    string
			Context struct{ Cluster string }
		}
		Clusters []struct {
			Name    string
			Cluster cluster
		}
	}
	if err := yaml.Unmarshal(kubeconfig, &config); err != nil {
		return "", nil, fmt.Errorf("decoding kubeconfig: %w", err)
	}
	var name string
	for _, c := range config.Contexts {
		if c.Name == config.Current {
			name = c.Context.Cluster
		}
	}
	for _, c := range config.Clusters {
		if c.Name != name {
			continue
		}
		ca := c.Cluster.CAData
		if len(ca) == 0 {
			ca, _, _ = p.File(c.Cluster.CA)
		}
		if c.Cluster.Server == "" || checkCA(ca) != nil {
			return "", nil, fmt.Errorf("its cluster %q has no server or no CA", name)
		}
		return c.Cluster.Server, ca, nil
	}
	return "", nil, fmt.Errorf("its current context %q leads to no cluster", config.Current)
}

// kubeletConfig is the part of kubelet's configuration that the host has to be
// prepared for. The file is YAML, or JSON in older releases.
type kubeletConfig struct {
	ProtectKernelDefaults bool     `json:"protectKernelDefaults"`
	ClusterDNS            []string `json:"clusterDNS"`
	FailSwapOn            *bool    `json:"failSwapOn"`
}

// SwapRefused tells whether kubelet of this payload refuses to start while swap
// is on, which is its default; OpenShift says otherwise from 4.21 on.
func (p *Payload) SwapRefused() (bool, error) {
	config, err := p.kubelet()
	return config.FailSwapOn == nil || *config.FailSwapOn, err
}

func (p *Payload) kubelet() (kubeletConfig, error) {
	var config kubeletConfig
	content, _, _ := p.File(kubeletConfigPath)
	if err := yaml.Unmarshal(content, &config); err != nil {
		return config, fmt.Errorf("file %s: decoding kubelet's configuration: %w", kubeletConfigPath, err)
	}
	return config, nil
}
