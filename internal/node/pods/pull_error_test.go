// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"strings"
	"testing"
)

// The messages are those of containers/image, as CRI-O returns them.
func TestExplainPullError(t *testing.T) {
	const image = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:1234"
	reading := "rpc error: code = Unknown desc = initializing source docker://" + image + ": "
	tests := map[string]struct {
		message string
		auths   []string
		want    string
		remedy  string
	}{
		"not found": {message: "reading manifest sha256:1234 in quay.io/openshift-release-dev/ocp-v4.0-art-dev: " +
			"manifest unknown", want: "quay.io does not have it", remedy: "crictl pull " + image},
		"refused": {
			message: reading + "reading manifest sha256:1234 in quay.io/x: unauthorized: access to the requested " +
				"resource is not authorized",
			auths:  []string{"quay.io", "registry.redhat.io"},
			want:   "quay.io rejects this node's pull secret, or has no such image for it",
			remedy: "crictl pull " + image,
		},
		"refused by a path's entry": {
			message: reading + "unable to retrieve auth token: invalid username/password: unauthorized",
			auths:   []string{"https://quay.io/openshift-release-dev"},
			want:    "quay.io rejects this node's pull secret, or has no such image for it",
			remedy:  "crictl pull",
		},
		"refused, pull secret not readable": {
			message: "unauthorized: authentication required",
			want:    "quay.io rejects this node's pull secret, or has no such image for it",
			remedy:  "crictl pull",
		},
		"nothing for it": {
			message: reading + "unable to retrieve auth token: invalid username/password: unauthorized",
			auths:   []string{"registry.redhat.io"},
			want:    "this node's pull secret (/var/lib/kubelet/config.json) has no credential for quay.io",
			remedy:  "# add quay.io to the cluster's pull secret (HostedCluster spec.pullSecret;",
		},
		"a mirror": {
			message: reading + `(Mirrors also failed: [mirror.example.com:5000/x@sha256:1234: pinging container ` +
				`registry mirror.example.com:5000: Get "https://mirror.example.com:5000/v2/": dial tcp ` +
				`192.0.2.5:5000: connect: connection refused])`,
			want:   "no service listens at mirror.example.com:5000 (connection refused)",
			remedy: "curl -kvm 20 https://mirror.example.com:5000/v2/",
		},
		"DNS": {
			message: reading + `pinging container registry quay.io: Get "https://quay.io/v2/": dial tcp: lookup ` +
				`quay.io on 192.0.2.1:53: no such host`,
			want: "this host's DNS does not resolve quay.io (192.0.2.1:53 no such host)", remedy: "getent ahosts quay.io",
		},
		"DNS that does not answer": {
			message: `Get "https://quay.io/v2/": dial tcp: lookup quay.io on 192.0.2.1:53: read udp ` +
				`192.0.2.7:41000->192.0.2.1:53: i/o timeout`,
			want: "this host's DNS does not resolve quay.io (192.0.2.1:53 read udp 192.0.2.7:41000->192.0.2.1:53: i/o " +
				"timeout)",
			remedy: "getent ahosts quay.io",
		},
		"timeout": {
			message: reading + `pinging container registry quay.io: Get "https://quay.io/v2/": dial tcp ` +
				`198.51.100.1:443: i/o timeout`, want: "quay.io did not respond in time",
			remedy: "curl -kvm 20 https://quay.io/v2/",
		},
		"unknown CA": {
			message: reading + `Get "https://quay.io/v2/": tls: failed to verify certificate: x509: certificate ` +
				`signed by unknown authority`, want: "this host does not trust the certificate of quay.io",
			remedy: "# add its CA to the cluster",
		},
		"clock": {
			message: `tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current ` +
				`time 2020-01-01T00:00:00Z is before 2026-01-01T00:00:00Z`,
			want:   "the certificate of quay.io is not valid yet; this host's clock shows 2020-01-01T00:00:00Z",
			remedy: "chronyc makestep",
		},
		"other names": {message: `tls: failed to verify certificate: x509: certificate is valid for a.example.com, ` +
			`not quay.io`, want: "the certificate of quay.io is not valid for it: certificate is valid for a.example.com, not " +
			"quay.io", remedy: "openssl s_client -connect quay.io:443"},
		"plain HTTP": {
			message: `Get "https://quay.io/v2/": http: server gave HTTP response to HTTPS client`,
			want:    "quay.io does not use TLS", remedy: "# configure TLS for the registry",
		},
		"proxy": {message: `Get "https://quay.io/v2/": proxyconnect tcp: dial tcp 192.0.2.3:3128: connect: ` +
			`connection refused`, want: "the proxy does not allow CRI-O to connect to quay.io", remedy: "systemctl show"},
		"no way": {
			message: `dial tcp 198.51.100.1:443: connect: no route to host`,
			want:    "this host has no route to quay.io", remedy: "curl -kv",
		},
		"too many": {message: "reading manifest latest in docker.io/x: toomanyrequests: You have reached your " +
			"pull rate limit", want: "quay.io limits the number of requests from this host", remedy: "# retry later, or"},
		"signature": {
			message: "SignatureValidationFailed: Source image rejected: A signature was required, but no " +
				"signature exists", want: "its signature does not meet the policy of /etc/containers/policy.json",
			remedy: "cat /etc",
		},
		"other architecture": {
			message: `choosing an image from manifest list docker://x: no image found in image index for ` +
				`architecture "arm64", variant "", OS "linux"`, want: "quay.io does not have it for this machine's architecture",
			remedy: "uname -m",
		},
		"registry down": {
			message: "received unexpected HTTP status: 503 Service Unavailable",
			want:    "quay.io failed (HTTP 503)", remedy: "curl -kv",
		},
		"disk": {
			message: "writing blob: storing blob to file: write /var/tmp/x: no space left on device",
			want:    "this host has no free space for it", remedy: "df -h",
		},
		"no name": {message: "InvalidImageName", want: "the image name is invalid", remedy: "# correct the image name"},
		"never": {
			message: `Container image "x" is not present with pull policy of Never`,
			want:    "it does not exist on this host, and the pod's pull policy is Never", remedy: "crictl pull",
		},
		"new to us":          {message: "the dog ate it", want: "the dog ate it", remedy: "crictl pull"},
		"no reason reported": {want: "kubelet has not reported a reason", remedy: "crictl pull"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ExplainPull(image, test.message, test.auths)
			if got.Text != test.want {
				t.Errorf("text = %q\nwant   %q", got.Text, test.want)
			}
			if !strings.HasPrefix(string(got.Remedy), test.remedy) {
				t.Errorf("remedy = %q, want %q", got.Remedy, test.remedy)
			}
		})
	}
	if len(tests) < len(pullPatterns()) {
		t.Errorf("%d tests for %d stories", len(tests), len(pullPatterns()))
	}
}

func TestRegistryOf(t *testing.T) {
	for image, want := range map[string]string{
		"busybox": "docker.io", "library/busybox": "docker.io", "quay.io/a/b": "quay.io", "reg:5000/a": "reg:5000",
		"localhost/a": "localhost",
	} {
		if got := registryOf(image); got != want {
			t.Errorf("registryOf(%s) = %s, want %s", image, got, want)
		}
	}
	if got := shortImage("quay.io/a@sha256:0123456789abcdef0123"); got != "quay.io/a@sha256:0123456789ab…" {
		t.Errorf("shortImage() = %s", got)
	}
}
