// SPDX-License-Identifier: Apache-2.0

package crio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// NetworkDirectory is the directory from which CRI-O reads CNI configurations in an OpenShift
// release.
const NetworkDirectory = "/etc/kubernetes/cni/net.d"

// Unit is the name of CRI-O's service.
const Unit = systemd.CRIOUnit

// TrustAnchorsDir is the directory of the CAs that are added to the host's trust store.
const TrustAnchorsDir = "/etc/pki/ca-trust/source/anchors"

// Version returns the version of the installed CRI-O.
func Version(ctx context.Context) (string, error) {
	out, err := command.Run(ctx, "crio", "version", "--json")
	if err != nil {
		return "", fmt.Errorf("getting CRI-O's version: %w", err)
	}
	var answer struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		return "", fmt.Errorf("reading CRI-O's version: %w", err)
	}
	return answer.Version, nil
}

// RunningConfig returns the configuration that the running CRI-O uses. It is a page of CRI-O's inspection
// interface, which is HTTP on the CRI socket.
func RunningConfig(ctx context.Context) (Config, error) {
	var dialer net.Dialer
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", cri.Socket)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://crio/config", nil)
	if err != nil {
		return Config{}, fmt.Errorf("querying CRI-O: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return Config{}, report.Fail(report.Failed, "journalctl -u crio -b", "getting CRI-O's configuration: %w", err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New("HTTP " + response.Status)
	}
	if err != nil {
		return Config{}, fmt.Errorf("getting CRI-O's configuration: %w", err)
	}
	return Parse(content)
}
