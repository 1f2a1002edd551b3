// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"crypto/x509"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
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

// LoadSoftware sets Software to the release of the payload and the packages of its OS image: those
// that an earlier run stored, else it reads the image, and reports whether it has. It does not read
// the image of a payload that was given as a file. A failure is stored in SoftwareErr; LoadSoftware
// itself fails only if ctx ends.
func (b *Builder) LoadSoftware(ctx context.Context, log report.Log) (read bool, err error) {
	pullSpec := b.Payload.MachineConfig().OSImageURL
	if pullSpec == "" || b.payloadFile != nil || b.LoadStoredSoftware() {
		return false, nil
	}
	limited, cancel := context.WithTimeout(ctx, softwareTimeout)
	defer cancel()
	image, err := b.OpenOSImage(limited, log)
	if err == nil {
		b.Software, err = osimage.Read(pullSpec, image)
	}
	b.SoftwareErr = err
	return b.Software != nil, ctx.Err()
}

// LoadStoredSoftware sets Software to what an earlier run stored or staged for the same OS image. It reports
// whether there is any: a damaged file is like none.
func (b *Builder) LoadStoredSoftware() bool {
	stored, err := joinstate.LoadSoftware(b.Run.Dir)
	if err != nil {
		stored = nil
	}
	candidates := []*software.Contents{stored}
	if b.Run.State.Staged != nil {
		candidates = append(candidates, b.Run.State.Staged.Software)
	}
	for _, one := range candidates {
		if one != nil && one.Image == b.Payload.MachineConfig().OSImageURL {
			b.Software = one
			return true
		}
	}
	return false
}

// OpenOSImage reads the manifest of the payload's OS image.
func (b *Builder) OpenOSImage(ctx context.Context, log report.Log) (*osimage.Image, error) {
	return b.registryClient(log).Open(ctx, b.Payload.MachineConfig().OSImageURL)
}

// checkImagePolicy fails unless the signature policy accepts software of the payload's OS image. A host
// without a policy has no requirements.
func (b *Builder) checkImagePolicy() error {
	policy, found := b.effectiveFile(osimage.PolicyPath)
	if !found {
		return nil
	}
	return osimage.CheckPolicy(b.Payload.MachineConfig().OSImageURL, policy)
}

// registryClient returns a client that pulls images as CRI-O does on the node.
func (b *Builder) registryClient(log report.Log) *osimage.Client {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // the host has no CAs
	}
	for _, file := range b.Payload.Config.Storage.Files {
		if strings.HasPrefix(file.Path, crio.TrustAnchorsDir+"/") {
			content, _, _ := b.Payload.File(file.Path)
			roots.AppendCertsFromPEM(content) // the file is empty if the cluster has no additional CAs
		}
	}
	registries, _ := b.effectiveFile(registriesConf)
	secret, _ := b.effectiveFile(pods.PullSecretPath)
	return &osimage.Client{
		RegistriesConf: registries,
		DropInDir:      registriesDropIn,
		PullSecret:     secret,
		Roots:          roots,
		Proxy:          b.payloadProxy().For,
		Arch:           b.Host.Facts.Arch,
		Log:            log,
	}
}

// payloadProxy returns the proxy of CRI-O.
func (b *Builder) payloadProxy() fetch.Proxy {
	content, _, _ := b.Payload.File(proxyEnvironment)
	variables := hostinfo.ParseEnv(content)
	return fetch.Proxy{
		HTTP:  variables["HTTP_PROXY"],
		HTTPS: variables["HTTPS_PROXY"],
		No:    strings.Split(variables["NO_PROXY"], ","),
	}
}
