// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// A failure is a well-known reason why an image cannot be staged. The programs print it to standard error.
type failure struct {
	texts  []string // one of these is printed
	cause  string
	code   report.Code
	remedy report.Remedy // REGISTRY is replaced
}

// failures lists the well-known reasons. The first that matches is reported: the message of a failure of the network
// can contain that of the proxy.
//
// Both programs print what skopeo reports: messages of Go's net and net/http, of containers/image (docker/errors.go,
// docker/docker_client.go, internal/image/unparsed.go, ChooseInstance in internal/manifest, signature/policy_eval*.go),
// and of registries (distribution, registry/api/v2/errors.go). Other messages are those of ostree-ext
// (create_prepared_import in crates/ostree-ext/src/container/store.rs of bootc), bootc (crates/lib/src/cli.rs,
// crates/lib/src/deploy.rs), libostree (src/libostree/ostree-repo-commit.c), libdnf, and rpm-ostree
// (src/libpriv/rpmostree-core.cxx, src/daemon/rpmostreed-sysroot.cxx).
var failures = []failure{
	{
		texts:  []string{"proxyconnect ", "Proxy Authentication Required", "socks connect "},
		cause:  "the proxy does not connect to the registry",
		code:   report.Failed,
		remedy: "systemctl show -p EnvironmentFiles rpm-ostreed.service # its proxy; check spec.configuration.proxy",
	},
	{
		texts:  []string{"x509: "},
		cause:  "the certificate of the registry is not valid for this host",
		code:   report.Failed,
		remedy: "curl -sSIm 20 https://REGISTRY/v2/ # add its CA to the additional trust bundle of the cluster",
	},
	{
		texts: []string{
			"unauthorized: ", "authentication required", "invalid username/password", "401 (Unauthorized)",
			"requested access to the resource is denied", "403 (Forbidden)", "StatusCode: 401", "StatusCode: 403",
			"getting username and password: ",
		},
		cause:  "the registry rejects the credentials",
		code:   report.CredentialRefused,
		remedy: "jq '.auths | keys' " + AuthFile + " # add credentials of the registry to the cluster's pull secret",
	},
	{
		texts: []string{
			"no such host", "connection refused", "i/o timeout", "no route to host", "network is unreachable",
			"TLS handshake timeout", "connection reset by peer", "server misbehaving", "deadline exceeded",
		},
		cause:  "the registry is unreachable",
		code:   report.Failed,
		remedy: "curl -sSIm 20 https://REGISTRY/v2/",
	},
	{
		texts: []string{
			"manifest unknown", "name unknown", "repository name not known to registry", "StatusCode: 404",
			"does not match provided manifest digest",
		},
		cause:  "the registry does not have an image with this digest",
		code:   report.Refused,
		remedy: "# mirror the image of the release again, with its digest",
	},
	{
		texts:  []string{"Image has architecture ", "no image found in manifest list", "no image found in image index"},
		cause:  "the image is for another architecture",
		code:   report.Refused,
		remedy: "# use the user data of a NodePool whose spec.arch is that of this host",
	},
	{
		texts:  []string{"does not have ostree.bootable label"},
		cause:  "the image contains no operating system that can boot",
		code:   report.Refused,
		remedy: BootableRemedy,
	},
	{
		texts:  []string{"Insufficient free space", "No space left on device", "' would be exceeded, at least "},
		cause:  "the host has too little space",
		code:   report.Refused,
		remedy: SpaceRemedy,
	},
	{
		texts: []string{
			"contains local rpm-ostree modifications", "Packages not found: ", "Updating rpm-md repo ", "Could not depsolve",
		},
		cause:  "packages are layered onto the image",
		code:   report.Refused,
		remedy: layeredRemedy,
	},
	{
		texts: []string{
			"rejected by policy", "A signature was required", "None of the signatures were accepted", "Signature for identity ",
			"cryptographic signature verification failed",
		},
		cause:  "the signature policy does not accept the image",
		code:   report.Refused,
		remedy: "cat /etc/containers/policy.json # the requirements for signatures of the image",
	},
	{
		texts:  []string{"Transaction in progress", "System transaction in progress"},
		cause:  "rpm-ostree is busy",
		code:   report.Failed,
		remedy: "rpm-ostree status # wait until its state is idle, or cancel the transaction: rpm-ostree cancel",
	},
}

const (
	// BootableRemedy is the remedy for an image without a label of bootable images.
	BootableRemedy = "# use the image of an OpenShift release, or add the label containers.bootc=1 to your image"
	// SpaceRemedy is the remedy for a host without space for another deployment.
	SpaceRemedy = "df -h /sysroot /boot # free some space, such as that of the previous image: rpm-ostree cleanup -r"
)

// explain returns the error for an image that a program failed to stage, with the cause and a remedy if the cause is
// well known. The error contains the message of the program.
func explain(err error, image string) error {
	var failed *command.Error
	if !errors.As(err, &failed) {
		return fmt.Errorf("staging image %s: %w", image, err)
	}
	registry, _, _ := strings.Cut(image, "/")
	for _, known := range failures {
		isPrinted := func(text string) bool { return strings.Contains(failed.Stderr, text) }
		if slices.ContainsFunc(known.texts, isPrinted) {
			remedy := report.Remedy(strings.ReplaceAll(string(known.remedy), "REGISTRY", registry))
			return report.Fail(known.code, remedy, "staging image %s: %s: %w", image, known.cause, err)
		}
	}
	return fmt.Errorf("staging image %s: %w", image, err)
}
