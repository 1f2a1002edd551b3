package ignition

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// Files of a payload that configure the node as a whole.
const (
	encapsulatedPath  = "/etc/ignition-machine-config-encapsulated.json"
	kubeconfigPath    = "/etc/kubernetes/kubeconfig"
	kubeletConfigPath = "/etc/kubernetes/kubelet.conf"
)

// MachineConfig holds the operating system settings of a rendered MachineConfig. Ignition has no
// fields for them: on an OpenShift image, the machine-config-daemon applies them at first boot.
type MachineConfig struct {
	Name            string   `json:"name,omitempty"`
	OSImageURL      string   `json:"osImageURL,omitempty"`
	KernelArguments []string `json:"kernelArguments,omitempty"`
	FIPS            bool     `json:"fips,omitempty"`
	Extensions      []string `json:"extensions,omitempty"`
	KernelType      string   `json:"kernelType,omitempty"`
}

// MachineConfig returns the operating system settings of the payload, zero if it contains no
// MachineConfig.
func (p *Payload) MachineConfig() MachineConfig { return p.machine }

func parseMachineConfig(p *Payload) (MachineConfig, error) {
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

// kubeletConfig is the part of kubelet's configuration that the host must be prepared for. The
// file is YAML, or JSON in older releases.
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

// RefusesSwap reports whether kubelet refuses to start while swap is enabled. That is kubelet's
// default; OpenShift disables the check from 4.21 on.
func (p *Payload) RefusesSwap() (bool, error) {
	config, err := p.readKubeletConfig()
	return config.FailSwapOn == nil || *config.FailSwapOn, err
}

func (p *Payload) readKubeletConfig() (kubeletConfig, error) {
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

// ClusterDNS returns the addresses of the cluster DNS service in kubelet's configuration on a
// host, none if the file does not exist.
func ClusterDNS(tree *hostfs.Tree) ([]netip.Addr, error) {
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
