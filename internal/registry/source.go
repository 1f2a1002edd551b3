// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"go.podman.io/image/v5/docker/reference"
	"go.podman.io/image/v5/pkg/docker/config"
	"go.podman.io/image/v5/pkg/sysregistriesv2"
	"go.podman.io/image/v5/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// source is a place from which an image can be read.
type source struct {
	sysregistriesv2.PullSource
	login authn.AuthConfig // zero: none
}

// host returns HOST[:PORT] of the registry.
func (s source) host() string { return reference.Domain(s.Reference) }

// sources returns the places from which an image can be read, in the order of registries.conf: its
// mirrors, then its registry.
func (c *Client) sources(pullSpec string) ([]source, error) {
	named, err := reference.ParseNormalizedNamed(pullSpec)
	if err != nil {
		return nil, fmt.Errorf("parsing pull spec %q: %w", pullSpec, err)
	}
	if _, isDigested := named.(reference.Canonical); !isDigested {
		return nil, fmt.Errorf("pull spec %s has no digest", pullSpec)
	}
	system, closeFiles, err := c.systemContext()
	if err != nil {
		return nil, err
	}
	defer closeFiles()
	sysregistriesv2.InvalidateCache() // its keys are the names of the files
	registry, err := sysregistriesv2.FindRegistry(system, named.Name())
	if err != nil {
		return nil, fmt.Errorf("reading registries.conf: %w", err)
	}
	if registry != nil && registry.Blocked {
		return nil, report.Fail(report.Refused, "grep -r -B3 -A3 'blocked' /etc/containers/registries.conf /etc/containers/registries.conf.d",
			"registries.conf blocks registry %s", registry.Prefix)
	}
	pulls := []sysregistriesv2.PullSource{{Reference: named}}
	if registry != nil {
		if pulls, err = registry.PullSourcesFromReference(named); err != nil {
			return nil, fmt.Errorf("finding the mirrors of %s: %w", named, err)
		}
	}
	var sources []source
	for _, pull := range pulls {
		login, err := config.GetCredentialsForRef(system, pull.Reference)
		if err != nil {
			return nil, fmt.Errorf("reading the pull secret: %w", err)
		}
		sources = append(sources, source{pull, authn.AuthConfig{
			Username:      login.Username,
			Password:      login.Password,
			IdentityToken: login.IdentityToken,
		}})
	}
	return sources, nil
}

// systemContext returns the configuration for the container libraries, and a function that closes
// its files. The libraries accept only names of files. The pull secret is a secret, so that the files
// are in memory and not in a directory.
func (c *Client) systemContext() (*types.SystemContext, func(), error) {
	registries, err := memoryFile("registries.conf", c.RegistriesConf)
	if err != nil {
		return nil, nil, err
	}
	secret := c.PullSecret
	if len(secret) == 0 {
		secret = []byte("{}")
	}
	auth, err := memoryFile("auth.json", secret)
	if err != nil {
		_ = registries.Close() // it was only in memory
		return nil, nil, err
	}
	closeFiles := func() {
		_ = registries.Close()
		_ = auth.Close()
	}
	return &types.SystemContext{
		SystemRegistriesConfPath:    pathOf(registries),
		SystemRegistriesConfDirPath: c.DropInDir,
		AuthFilePath:                pathOf(auth),
	}, closeFiles, nil
}

// memoryFile creates a file in memory with content.
func memoryFile(name string, content []byte) (*os.File, error) {
	file, err := command.NewMemoryFile(name)
	if err != nil {
		return nil, err
	}
	if _, err := file.Write(content); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("writing %s in memory: %w", name, err)
	}
	return file, nil
}

// pathOf returns a name under which this process can open a file in memory.
func pathOf(file *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", file.Fd()) }
