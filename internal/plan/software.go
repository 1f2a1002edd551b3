// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"crypto/x509"
	"path"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
)

// softwareTimeout is the maximum time to read the release from the OS image. A join continues
// without it.
const softwareTimeout = time.Minute

// Files of the node that configure how images are pulled.
const (
	registriesConf   = "/etc/containers/registries.conf"
	registriesDropIn = "/etc/containers/registries.conf.d"
	proxyEnvironment = "/etc/mco/proxy.env"
)

// Software is the software of a payload on a host: what is known about it, and which packages the host needs.
type Software struct {
	Contents *software.Contents // of the OS image of the payload; nil before Load, and if they are unknown
	Err      error              // why they are unknown

	session *Session
	payload *ignition.Payload
}

// NewSoftware returns the software of a payload, nil before it was loaded, without its contents.
func NewSoftware(s *Session, payload *ignition.Payload) *Software {
	return &Software{session: s, payload: payload}
}

// Load gets the release of the payload and the packages of its OS image: those that an earlier run
// stored, else it reads the image, and reports whether it has. A failure is stored in Err; Load
// itself fails only if ctx ends.
func (s *Software) Load(ctx context.Context, log report.Log) (read bool, err error) {
	pullSpec := s.payload.MachineConfig().OSImageURL
	if pullSpec == "" || s.LoadStored() {
		return false, nil
	}
	limited, cancel := context.WithTimeout(ctx, softwareTimeout)
	defer cancel()
	image, err := s.OpenOSImage(limited, log)
	if err == nil {
		s.Contents, err = osimage.Read(pullSpec, image)
	}
	s.Err = err
	return s.Contents != nil, ctx.Err()
}

// LoadStored sets Contents to what an earlier run stored or staged for the same OS image. It reports
// whether there is any: a damaged file is like none.
func (s *Software) LoadStored() bool {
	stored, err := joinstate.LoadSoftware(s.session.Run.Dir)
	if err != nil {
		stored = nil
	}
	candidates := []*software.Contents{stored}
	if s.session.Run.State.Staged != nil {
		candidates = append(candidates, s.session.Run.State.Staged.Software)
	}
	for _, one := range candidates {
		if one != nil && one.Image == s.payload.MachineConfig().OSImageURL {
			s.Contents = one
			return true
		}
	}
	return false
}

// OpenOSImage reads the manifest of the payload's OS image.
func (s *Software) OpenOSImage(ctx context.Context, log report.Log) (*osimage.Image, error) {
	return s.RegistryClient(log).Open(ctx, s.payload.MachineConfig().OSImageURL)
}

// checkPolicy fails unless the signature policy accepts software of the payload's OS image. A host
// without a policy has no requirements.
func (s *Software) checkPolicy() error {
	policy, found := s.effectiveFile(osimage.PolicyPath)
	if !found {
		return nil
	}
	return osimage.CheckPolicy(s.payload.MachineConfig().OSImageURL, policy)
}

// RegistryClient returns a client that pulls images as CRI-O does on the node.
func (s *Software) RegistryClient(log report.Log) *osimage.Client {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // the host has no CAs
	}
	for _, file := range s.payload.Config.Storage.Files {
		if strings.HasPrefix(file.Path, crio.TrustAnchorsDir+"/") {
			content, _, _ := s.payload.File(file.Path)
			roots.AppendCertsFromPEM(content) // the file is empty if the cluster has no additional CAs
		}
	}
	if added, found := s.effectiveFile(crio.AddedCAsPath); found {
		roots.AppendCertsFromPEM(added)
	}
	registries, _ := s.effectiveFile(registriesConf)
	secret, _ := s.effectiveFile(pods.PullSecretPath)
	return &osimage.Client{
		RegistriesConf: registries,
		DropIns:        s.registriesDropIns(),
		PullSecret:     secret,
		Roots:          roots,
		Proxy:          payloadProxy(s.payload).For,
		Arch:           s.session.Host.Facts.Arch,
		Log:            log,
	}
}

// effectiveFile returns the content of a file after the join: the payload's, else the host's.
func (s *Software) effectiveFile(p string) ([]byte, bool) {
	return effectiveFile(s.payload, s.session.Host.Files, p)
}

// registriesDropIns returns the files in registries.conf.d after the join, by name.
func (s *Software) registriesDropIns() map[string][]byte {
	dropIns := map[string][]byte{}
	names, _ := s.session.Host.Files.ReadDir(registriesDropIn)
	for _, name := range names {
		dropIns[name], _ = hostfs.ReadFollowing(s.session.Host.Files, path.Join(registriesDropIn, name))
	}
	for _, file := range s.payload.Config.Storage.Files {
		if path.Dir(file.Path) == registriesDropIn {
			dropIns[path.Base(file.Path)], _ = s.effectiveFile(file.Path)
		}
	}
	return dropIns
}

// payloadProxy returns the proxy of CRI-O.
func payloadProxy(payload *ignition.Payload) fetch.Proxy {
	content, _, _ := payload.File(proxyEnvironment)
	variables := hostinfo.ParseEnv(content)
	return fetch.Proxy{
		HTTP:  variables["HTTP_PROXY"],
		HTTPS: variables["HTTPS_PROXY"],
		No:    strings.Split(variables["NO_PROXY"], ","),
	}
}
