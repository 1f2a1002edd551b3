// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"go.podman.io/image/v5/pkg/docker/config"
	"go.podman.io/image/v5/pkg/sysregistriesv2"
	"go.podman.io/image/v5/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// pullSecret is the content of .dockerconfigjson.
type pullSecret struct {
	Auths       json.RawMessage   `json:"auths,omitempty"`
	CredHelpers map[string]string `json:"credHelpers,omitempty"` // by registry
}

// logIn returns the sources with their credentials. It reads only the pull secret: a credential helper
// is a program, and commands that change nothing must not start one that a payload names. helpers are
// those of registries.conf.
func (c *Client) logIn(pulls []sysregistriesv2.PullSource, helpers []string) ([]source, error) {
	var secret pullSecret
	if len(c.PullSecret) > 0 {
		if err := json.Unmarshal(c.PullSecret, &secret); err != nil {
			return nil, fmt.Errorf("reading the pull secret: %w", err)
		}
	}
	auth, err := secret.authFile()
	if err != nil {
		return nil, err
	}
	defer auth.Close()
	system := &types.SystemContext{
		SystemRegistriesConfPath:    os.DevNull, // there are no credential helpers
		SystemRegistriesConfDirPath: os.DevNull,
		AuthFilePath:                pathOf(auth),
	}
	var sources []source
	for _, pull := range pulls {
		login, err := config.GetCredentialsForRef(system, pull.Reference)
		if err != nil {
			return nil, fmt.Errorf("reading the pull secret: %w", err)
		}
		s := source{PullSource: pull, login: authn.AuthConfig{
			Username:      login.Username,
			Password:      login.Password,
			IdentityToken: login.IdentityToken,
		}}
		s.helper = secret.CredHelpers[s.host()]
		for _, helper := range helpers {
			if s.helper == "" && helper != sysregistriesv2.AuthenticationFileHelper {
				s.helper = helper
			}
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// authFile returns a file with the credentials for the container libraries, which accept only names of files. The
// pull secret is a secret, so that the file is in memory and not in a directory.
func (s pullSecret) authFile() (*os.File, error) {
	content, err := json.Marshal(pullSecret{Auths: s.Auths})
	if err != nil {
		return nil, fmt.Errorf("encoding the pull secret: %w", err)
	}
	return memoryFile("auth.json", content)
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
