package ignition

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
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
	content, _, _ := p.File(encapsulatedPath)
	if len(content) == 0 {
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

// kubeletConfig is the part of kubelet's configuration that the host has to be
// prepared for. The file is YAML, or JSON in older releases.
type kubeletConfig struct {
	ProtectKernelDefaults bool     `json:"protectKernelDefaults"`
	ClusterDNS            []string `json:"clusterDNS"`
	FailSwapOn            *bool    `json:"failSwapOn"`
	Authentication        struct {
		X509 struct {
			ClientCAFile string `json:"clientCAFile"`
		} `json:"x509"`
	} `json:"authentication"`
}

// SwapRefused tells whether kubelet of this payload refuses to start while swap
// is on, which is its default; OpenShift says otherwise from 4.21 on.
func (p *Payload) SwapRefused() (bool, error) {
	config, err := p.kubelet()
	return config.FailSwapOn == nil || *config.FailSwapOn, err
}

func (p *Payload) kubelet() (kubeletConfig, error) {
	content, _, _ := p.File(kubeletConfigPath)
	return parseKubeletConfig(content)
}

func parseKubeletConfig(content []byte) (kubeletConfig, error) {
	var config kubeletConfig
	if err := yaml.Unmarshal(content, &config); err != nil {
		return config, fmt.Errorf("file %s: decoding kubelet's configuration: %w", kubeletConfigPath, err)
	}
	return config, nil
}

// ClusterDNS returns the addresses of the cluster's DNS service in kubelet's
// configuration on a host, none where there is no configuration.
func ClusterDNS(tree *host.Tree) ([]netip.Addr, error) {
	content, _, err := tree.ReadFile(kubeletConfigPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading kubelet's configuration: %w", err)
	}
	config, err := parseKubeletConfig(content)
	if err != nil {
		return nil, err
	}
	var addresses []netip.Addr
	for _, dns := range config.ClusterDNS {
		if address, err := netip.ParseAddr(dns); err == nil {
			addresses = append(addresses, address)
		}
	}
	return addresses, nil
}
