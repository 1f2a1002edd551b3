// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"bytes"
	"fmt"
	"strings"
)

// Difference describes one difference between the payload and that of a real 4.18 cluster. This
// list is the only place that defines differences.
type Difference struct {
	What  string
	Why   string
	Paths []string // the affected files and units
	apply func(*source, Inputs) error
}

// Differences returns all differences. Those without an apply function are part of the templates.
func Differences() []Difference {
	const (
		kubeletConf = "/etc/kubernetes/kubelet.conf"
		crioConf    = "/etc/crio/crio.conf.d/00-default"
		registries  = "/etc/containers/registries.conf"
		sizing      = "/etc/node-sizing-enabled.env"
		metrics     = "/etc/kubernetes/manifests/criometricsproxy.yaml"
		added       = "/etc/demo.d/nodepool.conf"
	)
	return []Difference{
		{
			What:  "kubelet.conf has no feature gates",
			Why:   "upstream's kubelet refuses feature gates that only OpenShift's kubelet supports",
			Paths: []string{kubeletConf},
			apply: func(s *source, _ Inputs) error {
				f, err := s.file(kubeletConf)
				if err != nil {
					return err
				}
				before, rest, found := bytes.Cut(f.content, []byte("featureGates:\n"))
				after := bytes.Index(rest, []byte("\nfileCheckFrequency:"))
				if !found || after < 0 {
					return fmt.Errorf("no feature gates in %s", kubeletConf)
				}
				f.content = append(bytes.Clone(before), rest[after+1:]...)
				return nil
			},
		},
		{
			What:  "kubelet does not serve the system's logs",
			Why:   "upstream's kubelet has that behind a feature gate; in OpenShift's the gate is on",
			Paths: []string{kubeletConf},
			apply: func(s *source, _ Inputs) error {
				return s.replace(kubeletConf, "enableSystemLogQuery: true", "enableSystemLogQuery: false")
			},
		},
		{
			What:  "kubelet does not label its node node-role.kubernetes.io/worker",
			Why:   "upstream's kubelet refuses to set labels of that prefix; OpenShift's is patched",
			Paths: []string{"kubelet.service"},
			apply: func(s *source, _ Inputs) error {
				return s.replaceInUnit("kubelet.service", "--node-labels=node-role.kubernetes.io/worker,", "--node-labels=")
			},
		},
		{
			What:  "the runtime is runc",
			Why:   "Debian 12's crun is too old for this CRI-O",
			Paths: []string{crioConf},
			apply: func(s *source, _ Inputs) error {
				return s.replace(crioConf, `default_runtime = "crun"`, `default_runtime = "runc"`)
			},
		},
		{
			What:  "CNI plugins are also searched in Debian's directory",
			Why:   "the package containernetworking-plugins puts them into /usr/lib/cni; RHEL's into /usr/libexec/cni",
			Paths: []string{crioConf},
			apply: func(s *source, _ Inputs) error {
				return s.replace(crioConf, `    "/usr/libexec/cni",`, "    \"/usr/libexec/cni\",\n    \"/usr/lib/cni\",")
			},
		},
		{
			What: "the only registry is that of the test environment, it is insecure, and it mirrors quay.io; the first " +
				"mirror does not respond",
			Why:   "it uses plain HTTP in the test environment's network, from which no other registry is reachable",
			Paths: []string{registries},
			apply: func(s *source, in Inputs) error {
				return s.replace(registries,
					"unqualified-search-registries = ['registry.access.redhat.com', 'docker.io']",
					fmt.Sprintf(registriesConf, in.Registry, in.APIName))
			},
		},
		{
			What:  "kubelet reserves 128 MiB, 100 m and 256 MiB for the system instead of 1 GiB, 500 m and 1 GiB",
			Why:   "the test machine has 1 GiB of memory: nothing would be left for pods",
			Paths: []string{sizing},
			apply: func(s *source, _ Inputs) error {
				return s.replace(sizing,
					"SYSTEM_RESERVED_MEMORY=1Gi\nSYSTEM_RESERVED_CPU=500m\nSYSTEM_RESERVED_ES=1Gi",
					"SYSTEM_RESERVED_MEMORY=128Mi\nSYSTEM_RESERVED_CPU=100m\nSYSTEM_RESERVED_ES=256Mi")
			},
		},
		{
			What:  "no static pod kube-rbac-proxy-crio",
			Why:   "its image is part of the release and can't be had here; it only exports metrics",
			Paths: []string{metrics},
			apply: func(s *source, _ Inputs) error { return s.removeFile(metrics) },
		},
		{
			What:  "one file more, gzipped",
			Why:   "administrators' own MachineConfigs hold such files; the default payload has none",
			Paths: []string{added},
			apply: func(s *source, in Inputs) error {
				content, err := render("files"+added, in)
				s.files = append(s.files, sourceFile{file{added, 0o644, gzipped}, content})
				return err
			},
		},
		{
			What:  "haproxy of the static pod kube-apiserver-proxy is a small program that reads the same haproxy.cfg",
			Why:   "the release's image can't be had here",
			Paths: []string{"/etc/kubernetes/manifests/kube-apiserver-proxy.yaml"},
		},
		{
			What: "the scripts that set OpenFlow ports and size reservations are shorter",
			Why:  "they have the real effect, for br-ex alone and for reservations that are given",
			Paths: []string{
				"/usr/local/sbin/dynamic-system-reserved-calc.sh",
				"/etc/NetworkManager/dispatcher.d/pre-up.d/10-ofport-request.sh",
			},
		},
		{
			What: "scripts are short stand-ins with the same path, mode, arguments and results",
			Why: "what the real ones do is for hosts that Ignition booted, or replaced by the agent; configure-ovs.sh fails " +
				"loudly if it runs where it must not",
			Paths: []string{
				"/usr/local/bin/nm-clean-initrd-state.sh", "/usr/local/bin/configure-ovs.sh",
				"/usr/local/bin/nmstate-configuration.sh",
				"/usr/local/bin/mco-hostname", "/usr/local/bin/ipsec-connect-wait.sh", "/usr/local/bin/wait-for-primary-ip.sh",
				"/etc/machine-config-daemon/generate_podman_policy_args.sh", "/etc/NetworkManager/dispatcher.d/99-esp-offload",
				"/etc/NetworkManager/dispatcher.d/99-gcp-disable-idpf-tx-checksum-off",
				"/etc/NetworkManager/dispatcher.d/99-vsphere-disable-tx-udp-tnl",
			},
		},
	}
}

func (s *source) file(path string) (*sourceFile, error) {
	for i := range s.files {
		if s.files[i].path == path {
			return &s.files[i], nil
		}
	}
	return nil, fmt.Errorf("no file %s", path)
}

// replace replaces text in a file. The text must occur exactly once, so that a difference cannot
// become ineffective without an error.
func (s *source) replace(path, from, to string) error {
	f, err := s.file(path)
	if err != nil {
		return err
	}
	if n := bytes.Count(f.content, []byte(from)); n != 1 {
		return fmt.Errorf("%q is %d times in %s, not once", from, n, path)
	}
	f.content = bytes.Replace(f.content, []byte(from), []byte(to), 1)
	return nil
}

func (s *source) replaceInUnit(name, from, to string) error {
	for _, u := range s.units {
		if u.Name != name || u.Contents == nil {
			continue
		}
		if n := strings.Count(*u.Contents, from); n != 1 {
			return fmt.Errorf("%q is %d times in %s, not once", from, n, name)
		}
		*u.Contents = strings.Replace(*u.Contents, from, to, 1)
		return nil
	}
	return fmt.Errorf("no unit %s with contents", name)
}

func (s *source) removeFile(path string) error {
	for i := range s.files {
		if s.files[i].path == path {
			s.files = append(s.files[:i], s.files[i+1:]...)
			return nil
		}
	}
	return fmt.Errorf("no file %s", path)
}

// registriesConf is the content of registries.conf for a registry and a name without a registry.
const registriesConf = `unqualified-search-registries = []

[[registry]]
location = %[1]q
insecure = true

[[registry]]
location = "quay.io/openshift-release-dev"
[[registry.mirror]]
location = "%[2]s:5999/openshift-release-dev"
pull-from-mirror = "digest-only"
[[registry.mirror]]
location = "%[1]s/openshift-release-dev"
insecure = true
pull-from-mirror = "digest-only"`
