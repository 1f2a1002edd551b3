// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// workerPool is the machine-config pool of joined nodes.
const workerPool = "worker"

// Worker is the configuration of a standalone cluster's worker pool, as returned by its
// machine-config server.
type Worker struct{ config Config }

// BuildWorker renders the configuration, without HyperShift's additions to a NodePool's payload.
// in.BootstrapConfig is the kubeconfig with the bootstrapper's token, and in.APIName is the API's
// internal name.
func BuildWorker(in Inputs) (Worker, error) {
	s, err := load(in)
	if err != nil {
		return Worker{}, err
	}
	for _, path := range []string{
		"/usr/local/bin/setup-apiserver-ip.sh", "/usr/local/bin/teardown-apiserver-ip.sh",
		"/etc/kubernetes/apiserver-proxy-config/haproxy.cfg", "/etc/kubernetes/manifests/kube-apiserver-proxy.yaml",
	} {
		if err := s.removeFile(path); err != nil {
			return Worker{}, err
		}
	}
	if err := s.removeUnit("apiserver-ip.service"); err != nil {
		return Worker{}, err
	}
	differences := Differences()
	if err := s.apply(append(differences, standaloneDifference()), in); err != nil {
		return Worker{}, err
	}
	config, _, err := s.servedConfig(in, workerPool)
	return Worker{config}, err
}

// standaloneDifference returns the difference from a standalone cluster that is not in the list
// of Differences.
func standaloneDifference() Difference {
	const unit = "nodeip-configuration.service"
	return Difference{
		What: "nodeip-configuration.service runs no container, and fails if /run/nodeip-configuration/primary-ip does not " +
			"exist",
		Why:   "the release's image is not available here; the real unit does nothing, either, if that file exists",
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

func (s *source) removeUnit(name string) error {
	for i := range s.units {
		if s.units[i].Name == name {
			s.units = append(s.units[:i], s.units[i+1:]...)
			return nil
		}
	}
	return fmt.Errorf("no unit %s", name)
}

// Encode encodes the configuration in Ignition spec 3.MINOR. All its fields have the same meaning
// in each minor version.
func (w Worker) Encode(minor int) ([]byte, error) {
	config := w.config
	config.Ignition.Version = fmt.Sprintf("3.%d.0", minor)
	body, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encoding the worker's configuration: %w", err)
	}
	return body, nil
}

// EncodeV2 encodes the configuration in spec 2.2, where a file belongs to a file system.
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

// WorkerUserData returns the userData of Secret worker-user-data, which is also the installer's
// worker.ign: the URL of the configuration and its CA, without a token.
func WorkerUserData(source string, ca []byte) ([]byte, error) {
	type resource struct {
		Source string `json:"source"`
	}
	var userData struct {
		Ignition struct {
			Config struct {
				Merge []resource `json:"merge"`
			} `json:"config"`
			Security userDataSecurity `json:"security"`
			Version  string           `json:"version"`
		} `json:"ignition"`
	}
	userData.Ignition.Config.Merge = []resource{{source}}
	userData.Ignition.Security.TLS.CertificateAuthorities = []userDataCA{{
		Source: "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString(ca),
	}}
	userData.Ignition.Version = "3.2.0"
	body, err := json.Marshal(userData)
	if err != nil {
		return nil, fmt.Errorf("encoding the worker user data: %w", err)
	}
	return body, nil
}
