// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"errors"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The messages are those that users of both programs have reported, or that their sources contain.
func TestStageExplainsFailures(t *testing.T) {
	const (
		open     = "error: Creating importer: Failed to invoke skopeo proxy method OpenImage: remote error: "
		manifest = open + "reading manifest sha256:2222 in registry.example.com/os: "
		ping     = open + `pinging container registry registry.example.com: Get "https://registry.example.com/v2/": `
	)
	for name, test := range map[string]struct {
		printed string
		cause   string // "" for an unknown one
		code    report.Code
	}{
		"quay without credentials": {
			manifest + "unauthorized: access to the requested resource is not authorized",
			"the registry rejects the credentials", report.CredentialRefused,
		},
		"docker.io without credentials": {
			manifest + "requested access to the resource is denied",
			"the registry rejects the credentials", report.CredentialRefused,
		},
		"wrong password": {
			open + "unable to retrieve auth token: invalid username/password: unauthorized",
			"the registry rejects the credentials", report.CredentialRefused,
		},
		"forbidden token": {
			open + "Requesting bearer token: invalid status code from registry 403 (Forbidden)",
			"the registry rejects the credentials", report.CredentialRefused,
		},
		"no address": {
			ping + "dial tcp: lookup registry.example.com: no such host", "the registry is unreachable", report.Failed,
		},
		"no route": {
			ping + "dial tcp 192.0.2.1:443: connect: no route to host", "the registry is unreachable", report.Failed,
		},
		"proxy": {
			ping + "proxyconnect tcp: dial tcp 192.0.2.2:3128: connect: connection refused",
			"the proxy does not connect to the registry", report.Failed,
		},
		"certificate": {
			ping + "tls: failed to verify certificate: x509: certificate signed by unknown authority",
			"the certificate of the registry is not valid for this host", report.Failed,
		},
		"digest": {
			manifest + "manifest unknown", "the registry does not have an image with this digest", report.Refused,
		},
		"architecture": {
			"error: Preparing import: Image has architecture arm64; expected amd64",
			"the image is for another architecture", report.Refused,
		},
		"architecture of an index": {
			open + `choosing image instance: no image found in image index for architecture "amd64", variant "", OS "linux"`,
			"the image is for another architecture", report.Refused,
		},
		"label": {
			"error: Preparing import: Target image does not have ostree.bootable label",
			"the image contains no operating system that can boot", report.Refused,
		},
		"space": {
			"error: Insufficient free space for registry.example.com/os (available: 1.0 GB required: 1.2 GB)",
			"the host has too little space", report.Refused,
		},
		"space of the repository": {
			"error: Importing: min-free-space-percent '3%' would be exceeded, at least 13 bytes requested",
			"the host has too little space", report.Refused,
		},
		"layered packages, bootc": {
			"error: Deployment contains local rpm-ostree modifications; cannot upgrade via bootc.",
			"packages are layered onto the image", report.Refused,
		},
		"layered packages, rpm-ostree": {
			"error: Packages not found: jq", "packages are layered onto the image", report.Refused,
		},
		"policy": {
			open + "A signature was required, but no signature exists",
			"the signature policy does not accept the image", report.Refused,
		},
		"busy": {
			"error: Transaction in progress: upgrade\n You can cancel the current transaction with `rpm-ostree cancel`",
			"rpm-ostree is busy", report.Failed,
		},
		"unknown": {"error: out of cheese", "", report.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			programs := newPrograms(t, Status{Booted: *imageOf(first)}, test.printed, "rpm-ostree")
			err := programs.host(t, hostclass.CoreOS).Stage(t.Context(), Target{Image: repository + "@" + second})
			var failed *command.Error
			if !errors.As(err, &failed) || failed.Stderr != test.printed {
				t.Fatalf("error %v does not contain the message of the program", err)
			}
			want := "staging image " + repository + "@" + second + ": " + test.cause
			remedy := report.RemedyOf(err)
			if !strings.HasPrefix(err.Error(), want) || report.CodeOf(err) != test.code {
				t.Errorf("error %v, code %d, want %q, code %d", err, report.CodeOf(err), want, test.code)
			}
			if (remedy == "") != (test.cause == "") || strings.Contains(string(remedy), "REGISTRY") {
				t.Errorf("remedy %q", remedy)
			}
		})
	}
}
