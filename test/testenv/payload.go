// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
)

// Payload is an Ignition configuration, decoded without a schema: what the tests do not change is served as it is.
type Payload map[string]any

// Payload returns the default payload of the control plane. Serve replaces what is served, and not this payload.
func (s *Environment) Payload() (Payload, error) {
	content, err := os.ReadFile(s.ControlPlane.Payload)
	if err != nil {
		return nil, fmt.Errorf("reading the served payload: %w", err)
	}
	var payload Payload
	if err := json.Unmarshal(content, &payload); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", s.ControlPlane.Payload, err)
	}
	return payload, nil
}

// Serve makes the control plane serve a payload, and copies user data with a new token to the machine.
func (s *Environment) Serve(ctx context.Context, payload Payload) error {
	content, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encoding the payload: %w", err)
	}
	if err := s.ControlPlane.ReplacePayload(ctx, content); err != nil {
		return err
	}
	if err := s.ControlPlane.RotateToken(ctx); err != nil {
		return err
	}
	return s.CopyInputs(ctx)
}

// RemoveFile removes a file.
func (p Payload) RemoveFile(path string) {
	var files []any
	for _, one := range p.files() {
		if file, _ := one.(map[string]any); file["path"] != path {
			files = append(files, one)
		}
	}
	p.setFiles(files)
}

// SetFile adds or replaces a file. It keeps the other attributes of an existing file.
func (p Payload) SetFile(path, content string) {
	contents := map[string]any{"source": "data:," + url.PathEscape(content)}
	for _, one := range p.files() {
		if file, _ := one.(map[string]any); file["path"] == path {
			file["contents"] = contents
			return
		}
	}
	p.setFiles(append(p.files(), map[string]any{"path": path, "mode": 0o644, "overwrite": true, "contents": contents}))
}

// File returns the content of a file, which must not be compressed.
func (p Payload) File(path string) (string, error) {
	for _, one := range p.files() {
		file, _ := one.(map[string]any)
		if file["path"] != path {
			continue
		}
		contents, _ := file["contents"].(map[string]any)
		source, _ := contents["source"].(string)
		if _, encoded, isBase64 := strings.Cut(source, ";base64,"); isBase64 {
			content, err := base64.StdEncoding.DecodeString(encoded)
			return string(content), err
		}
		return url.PathUnescape(strings.TrimPrefix(source, "data:,"))
	}
	return "", fmt.Errorf("the payload has no file %s", path)
}

// EditUnit replaces a text in a unit.
func (p Payload) EditUnit(name, old, replacement string) {
	systemd, _ := p["systemd"].(map[string]any)
	units, _ := systemd["units"].([]any)
	for _, one := range units {
		if unit, _ := one.(map[string]any); unit["name"] == name {
			contents, _ := unit["contents"].(string)
			unit["contents"] = strings.Replace(contents, old, replacement, 1)
		}
	}
}

// SetOSImage replaces the OS image in the MachineConfig.
func (p Payload) SetOSImage(pullSpec string) error {
	content, err := p.File(ignition.MachineConfigPath)
	if err != nil {
		return err
	}
	var config map[string]any
	if err := json.Unmarshal([]byte(content), &config); err != nil {
		return fmt.Errorf("decoding %s: %w", ignition.MachineConfigPath, err)
	}
	spec, _ := config["spec"].(map[string]any)
	spec["osImageURL"] = pullSpec
	changed, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", ignition.MachineConfigPath, err)
	}
	p.SetFile(ignition.MachineConfigPath, string(changed))
	return nil
}

func (p Payload) files() []any {
	storage, _ := p["storage"].(map[string]any)
	files, _ := storage["files"].([]any)
	return files
}

func (p Payload) setFiles(files []any) {
	storage, _ := p["storage"].(map[string]any)
	storage["files"] = files
}
