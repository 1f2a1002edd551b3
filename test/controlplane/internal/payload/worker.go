package payload

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// workerPool is the machine-config pool that joins go to.
const workerPool = "worker"

// Worker is the configuration of a standalone cluster's worker pool, as its
// machine-config server has it.
type Worker struct{ config Config }

// BuildWorker makes it: what HyperShift adds to a NodePool's payload is left
// out. In.BootstrapConfig is the kubeconfig with the bootstrapper's token, and
// in.APIName the API's internal name.
func BuildWorker(in Inputs) (Worker, error) {
	s, err := load(in)
	if err != nil {
		return Worker{}, err
	}
	for _, path := range []string{
		"/usr/local/bin/setup-apiserver-ip.sh", "/usr/local/bin/teardown-apiserver-ip.sh",
		"/etc/kubernetes/apiserver-proxy-config/haproxy.cfg", "/etc/kubernetes/manifests/kube-apiserver-proxy.yaml",
	} {
		if err := s.drop(path); err != nil {
			return Worker{}, err
		}
	}
	if err := s.dropUnit("apiserver-ip.service"); err != nil {
		return Worker{}, err
	}
	differences := Differences()
	if err := s.fit(append(differences, standaloneDifference()), in); err != nil {
		return Worker{}, err
	}
	config, _, err := s.served(in, workerPool)
	return Worker{config}, err
}

// standaloneDifference is what is not as a standalone cluster serves it, beside
// what is not as a NodePool's payload either.
func standaloneDifference() Difference {
	const unit = "nodeip-configuration.service"
	return Difference{
		What:  "nodeip-configuration.service runs no container, and fails where /run/nodeip-configuration/primary-ip is not there yet",
		Why:   "the release's image can't be had here; the real one does nothing, either, where that file is there already",
		Paths: []string{unit},
		apply: func(s *source, _ Inputs) error {
			for _, u := range s.units {
				if u.Name != unit || u.Contents == nil {
					continue
				}
				before, rest, begins := strings.Cut(*u.Contents, "ExecStart=/bin/bash -c")
				_, after, ends := strings.Cut(rest, "done\"\n")
				if !begins || !ends {
					return fmt.Errorf("no loop in %s", unit)
				}
				*u.Contents = before + "ExecStart=/usr/bin/test -s /run/nodeip-configuration/primary-ip\n" + after
				return nil
			}
			return fmt.Errorf("no unit %s with contents", unit)
		},
	}
}

func (s *source) dropUnit(name string) error {
	for i := range s.units {
		if s.units[i].Name == name {
			s.units = append(s.units[:i], s.units[i+1:]...)
			return nil
		}
	}
	return fmt.Errorf("no unit %s", name)
}

// Encode writes the configuration in Ignition spec 3.MINOR. What is in it means
// the same in all of them.
func (w Worker) Encode(minor int) ([]byte, error) {
	config := w.config
	config.Ignition.Version = fmt.Sprintf("3.%d.0", minor)
	body, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encoding the worker's configuration: %w", err)
	}
	return body, nil
}

// EncodeV2 writes it in spec 2.2, where a file belongs to a file system.
func (w Worker) EncodeV2() ([]byte, error) {
	type file struct {
		Filesystem string `json:"filesystem"`
		File
	}
	var config struct {
		Ignition Version `json:"ignition"`
		Passwd   Passwd  `json:"passwd"`
		Storage  struct {
			Files []file `json:"files"`
		} `json:"storage"`
		Systemd Systemd `json:"systemd"`
	}
	config.Ignition.Version, config.Passwd, config.Systemd = "2.2.0", w.config.Passwd, w.config.Systemd
	for _, f := range w.config.Storage.Files {
		config.Storage.Files = append(config.Storage.Files, file{"root", f})
	}
	body, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encoding the worker's configuration: %w", err)
	}
	return body, nil
}

// WorkerStub is the userData of Secret worker-user-data, and the installer's
// worker.ign: where the configuration is and whom to trust, and no token.
func WorkerStub(source string, ca []byte) ([]byte, error) {
	type resource struct {
		Source string `json:"source"`
	}
	var stub struct {
		Ignition struct {
			Config struct {
				Merge []resource `json:"merge"`
			} `json:"config"`
			Security stubSecurity `json:"security"`
			Version  string       `json:"version"`
		} `json:"ignition"`
	}
	stub.Ignition.Config.Merge = []resource{{source}}
	stub.Ignition.Security.TLS.CertificateAuthorities = []stubAuthority{{
		Source: "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString(ca),
	}}
	stub.Ignition.Version = "3.2.0"
	body, err := json.Marshal(stub)
	if err != nil {
		return nil, fmt.Errorf("encoding the worker's stub: %w", err)
	}
	return body, nil
}
