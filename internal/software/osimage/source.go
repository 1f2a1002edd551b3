// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"fmt"
	"path"

	"github.com/google/go-containerregistry/pkg/authn"
	"go.podman.io/image/v5/docker/reference"
	"go.podman.io/image/v5/pkg/sysregistriesv2"
	"go.podman.io/image/v5/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// source is a place from which an image can be read.
type source struct {
	sysregistriesv2.PullSource
	login  authn.AuthConfig // zero: none
	helper string           // credential helper for the registry, which is never started
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
	files := map[string]string{"registries.conf": string(c.RegistriesConf)}
	for name, content := range c.DropIns {
		files[path.Join("registries.conf.d", name)] = string(content)
	}
	copied, remove, err := hostfs.NewScratchTree(files) // the container libraries accept only names of files
	if err != nil {
		return nil, err
	}
	defer remove()
	system := &types.SystemContext{
		SystemRegistriesConfPath:    path.Join(copied.Name(), "registries.conf"),
		SystemRegistriesConfDirPath: path.Join(copied.Name(), "registries.conf.d"),
	}
	sysregistriesv2.InvalidateCache() // its keys are the names of the files
	registry, err := sysregistriesv2.FindRegistry(system, named.Name())
	if err != nil {
		return nil, fmt.Errorf("reading registries.conf: %w", err)
	}
	pulls := []sysregistriesv2.PullSource{{Reference: named}}
	if registry != nil {
		if pulls, err = registry.PullSourcesFromReference(named); err != nil {
			return nil, fmt.Errorf("finding the mirrors of %s: %w", named, err)
		}
		if pulls, err = permitted(system, pulls); err != nil {
			return nil, err
		}
	}
	helpers, err := sysregistriesv2.CredentialHelpers(system)
	if err != nil {
		return nil, fmt.Errorf("reading registries.conf: %w", err)
	}
	return c.logIn(pulls, helpers)
}

// permitted returns the places that registries.conf does not block. Each place, also one that location in the entry of
// the registry names, is blocked by its own entry: the mirrors of a blocked registry are used (containers/image issue
// 2497). It fails if none remains.
func permitted(
	system *types.SystemContext, pulls []sysregistriesv2.PullSource,
) ([]sysregistriesv2.PullSource, error) {
	blocked := ""
	var left []sysregistriesv2.PullSource
	for _, pull := range pulls {
		own, err := sysregistriesv2.FindRegistry(system, pull.Reference.Name())
		if err != nil {
			return nil, fmt.Errorf("reading registries.conf: %w", err)
		}
		if own != nil && own.Blocked {
			blocked = own.Prefix
			continue
		}
		left = append(left, pull)
	}
	if len(left) == 0 {
		return nil, report.Fail(report.Refused,
			"grep -rs -B3 -A3 'blocked' /etc/containers/registries.conf /etc/containers/registries.conf.d",
			"registries.conf blocks registry %s", blocked)
	}
	return left, nil
}
