// SPDX-License-Identifier: Apache-2.0

// Package crio handles the service CRI-O: its configuration sets the release's pause
// image, the running CRI-O must use its configuration files, and StopPods stops all
// pods before a host leaves the cluster. Start reading at Config and StopPods.
package crio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/trace"
)

// dropIn is the agent's CRI-O configuration file. CRI-O reads the files of this directory
// in order of their names, and later files override earlier ones.
const dropIn = "/etc/crio/crio.conf.d/99-hcp-node-agent.conf"

// Config is the part of CRI-O's configuration that the agent uses.
type Config struct {
	PauseImage    string
	PauseCommand  string
	PauseAuthFile string
	NetworkDir    string
	Runtime       string // default_runtime
}

// Parse parses configuration files in order. Later files override earlier ones.
func Parse(files ...[]byte) (Config, error) {
	var document struct {
		Crio struct {
			Image struct {
				PauseImage    string `toml:"pause_image"`
				PauseCommand  string `toml:"pause_command"`
				PauseAuthFile string `toml:"pause_image_auth_file"`
			} `toml:"image"`
			Network struct {
				NetworkDir string `toml:"network_dir"`
			} `toml:"network"`
			Runtime struct {
				DefaultRuntime string `toml:"default_runtime"`
			} `toml:"runtime"`
		} `toml:"crio"`
	}
	for _, content := range files {
		if err := toml.Unmarshal(content, &document); err != nil { // keeps the values that a file does not set
			return Config{}, fmt.Errorf("reading CRI-O configuration: %w", err)
		}
	}
	image := document.Crio.Image
	return Config{
		PauseImage:    image.PauseImage,
		PauseCommand:  image.PauseCommand,
		PauseAuthFile: image.PauseAuthFile,
		NetworkDir:    document.Crio.Network.NetworkDir,
		Runtime:       document.Crio.Runtime.DefaultRuntime,
	}, nil
}

// render returns the content of the agent's drop-in.
func render(config Config) []byte {
	var out strings.Builder
	out.WriteString("# Written by hcp-node-agent: the pause image of the cluster's release.\n[crio.image]\n")
	for _, line := range []struct{ key, value string }{
		{"pause_image", config.PauseImage},
		{"pause_image_auth_file", config.PauseAuthFile},
		{"pause_command", config.PauseCommand},
	} {
		if line.value != "" {
			fmt.Fprintf(&out, "%s = %q\n", line.key, line.value)
		}
	}
	return []byte(out.String())
}

// Desired returns the configuration of the payload's files. The administrator's pauseImage
// replaces the pause image of the payload if it is set.
func Desired(payload Config, pauseImage string) (Config, error) {
	payload.PauseImage = cmp.Or(pauseImage, payload.PauseImage)
	if payload.PauseImage == "" {
		return Config{}, report.Fail(report.Refused,
			"hcp-node-agent join --pause-image IMAGE # to find the release's image: oc adm release info "+
				"--image-for=pod",
			"the payload's CRI-O configuration contains no pause image")
	}
	return payload, nil
}

// Changes returns the changes that set CRI-O's pause image.
func Changes(wanted Config) []ledger.Change {
	return []ledger.Change{{
		Kind: ledger.File, Target: dropIn, Reason: "the release's pause image",
		Desired: ledger.FileState(render(wanted), 0o644),
	}}
}

// Verify compares the effective configuration of the running CRI-O with the desired
// configuration.
func Verify(effective, wanted Config) error {
	for _, field := range []struct{ name, is, want string }{
		{"pause_image", effective.PauseImage, wanted.PauseImage},
		{"pause_command", effective.PauseCommand, wanted.PauseCommand},
		{"network_dir", effective.NetworkDir, wanted.NetworkDir},
	} {
		if field.want != "" && field.is != field.want {
			return report.Fail(report.Failed,
				report.Remedy("grep -rn "+field.name+" /etc/crio # a file that is read after "+dropIn+
					" overrides it; remove the setting there"),
				"CRI-O runs with %s %q instead of %q", field.name, field.is, field.want)
		}
	}
	return nil
}

// OverlaySize returns the limit that a storage.conf sets for the writable layer of every
// container, or "" if there is none. It returns "" for an unreadable file too, because
// CRI-O rejects it with a better message.
func OverlaySize(storageConf []byte) string {
	var document struct {
		Storage struct {
			Options struct {
				Size    string `toml:"size"`
				Overlay struct {
					Size string `toml:"size"`
				} `toml:"overlay"`
			} `toml:"options"`
		} `toml:"storage"`
	}
	if err := toml.Unmarshal(storageConf, &document); err != nil {
		return ""
	}
	size := cmp.Or(document.Storage.Options.Overlay.Size, document.Storage.Options.Size)
	if size == "0" {
		return ""
	}
	return size
}

// NetworkDirectory is the directory from which CRI-O reads CNI configurations in an OpenShift
// release.
const NetworkDirectory = "/etc/kubernetes/cni/net.d"

// Unit is the name of CRI-O's service.
const Unit = systemd.CRIOUnit

// TrustAnchorsDir is the directory of the CAs that are added to the host's trust store.
const TrustAnchorsDir = "/etc/pki/ca-trust/source/anchors"

const (
	// TrustBundlePath is the file of a payload with the additional trust bundle of the cluster, and the CAs of its
	// proxy.
	TrustBundlePath = TrustAnchorsDir + "/openshift-config-user-ca-bundle.crt"
	// AddedCAsPath is the file with the CAs of the trust bundle that the payload does not contain.
	AddedCAsPath = TrustAnchorsDir + "/hcp-node-agent-added.crt"
)

// RunningConfig returns the configuration that the running CRI-O uses. It is a page of CRI-O's inspection
// interface, which is HTTP on the CRI socket.
func RunningConfig(ctx context.Context) (Config, error) {
	var dialer net.Dialer
	client := &http.Client{Timeout: 30 * time.Second, Transport: trace.Transport(&http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", cri.Socket)
		},
	})}
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
