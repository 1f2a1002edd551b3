package node

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
		"not found": {"reading manifest sha256:1234 in quay.io/openshift-release-dev/ocp-v4.0-art-dev: manifest unknown", nil, "quay.io does not have it", "crictl pull " + image},
		"refused": {
			reading + "reading manifest sha256:1234 in quay.io/x: unauthorized: access to the requested resource is not authorized",
			[]string{"quay.io", "registry.redhat.io"},
			"quay.io refuses this node's pull secret, or has no such image for it", "crictl pull " + image,
		},
		"refused by a path's entry": {
			reading + "unable to retrieve auth token: invalid username/password: unauthorized",
			[]string{"https://quay.io/openshift-release-dev"},
			"quay.io refuses this node's pull secret, or has no such image for it", "crictl pull",
		},
		"refused, pull secret not readable": {
			"unauthorized: authentication required", nil, "quay.io refuses this node's pull secret, or has no such image for it", "crictl pull",
		},
		"nothing for it": {
			reading + "unable to retrieve auth token: invalid username/password: unauthorized",
			[]string{"registry.redhat.io"},
			"this node's pull secret (/var/lib/kubelet/config.json) has nothing for quay.io", "# add quay.io to the cluster's pull secret (HostedCluster spec.pullSecret;",
		},
		"a mirror": {
			reading + `(Mirrors also failed: [mirror.example.com:5000/x@sha256:1234: pinging container registry mirror.example.com:5000: Get "https://mirror.example.com:5000/v2/": dial tcp 192.0.2.5:5000: connect: connection refused])`, nil,
			"nothing listens at mirror.example.com:5000 (connection refused)", "curl -kv https://mirror.example.com:5000/v2/",
		},
		"DNS": {
			reading + `pinging container registry quay.io: Get "https://quay.io/v2/": dial tcp: lookup quay.io on 192.0.2.1:53: no such host`, nil,
			"DNS of this host gives no address for quay.io (192.0.2.1:53 no such host)", "getent ahosts quay.io",
		},
		"DNS that does not answer": {
			`Get "https://quay.io/v2/": dial tcp: lookup quay.io on 192.0.2.1:53: read udp 192.0.2.7:41000->192.0.2.1:53: i/o timeout`, nil,
			"DNS of this host gives no address for quay.io (192.0.2.1:53 read udp 192.0.2.7:41000->192.0.2.1:53: i/o timeout)", "getent ahosts quay.io",
		},
		"timeout": {reading + `pinging container registry quay.io: Get "https://quay.io/v2/": dial tcp 198.51.100.1:443: i/o timeout`, nil, "no answer from quay.io in time", "curl -kv https://quay.io/v2/"},
		"unknown CA": {
			reading + `Get "https://quay.io/v2/": tls: failed to verify certificate: x509: certificate signed by unknown authority`, nil,
			"this host does not trust the certificate of quay.io", "# give its CA to the cluster",
		},
		"clock": {
			`tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2020-01-01T00:00:00Z is before 2026-01-01T00:00:00Z`, nil,
			"quay.io has a certificate that begins later than this host's clock, 2020-01-01T00:00:00Z", "chronyc makestep",
		},
		"other names": {`tls: failed to verify certificate: x509: certificate is valid for a.example.com, not quay.io`, nil, "the certificate of quay.io does not fit: certificate is valid for a.example.com, not quay.io", "openssl s_client -connect quay.io:443"},
		"plain HTTP":  {`Get "https://quay.io/v2/": http: server gave HTTP response to HTTPS client`, nil, "quay.io does not speak TLS", "# set insecure"},
		"proxy":       {`Get "https://quay.io/v2/": proxyconnect tcp: dial tcp 192.0.2.3:3128: connect: connection refused`, nil, "the proxy does not let CRI-O through to quay.io", "systemctl show"},
		"no way":      {`dial tcp 198.51.100.1:443: connect: no route to host`, nil, "there is no way to quay.io", "curl -kv"},
		"too many":    {"reading manifest latest in docker.io/x: toomanyrequests: You have reached your pull rate limit", nil, "quay.io has had too many requests from here", "# wait, or"},
		"signature":   {"SignatureValidationFailed: Source image rejected: A signature was required, but no signature exists", nil, "its signature is not as /etc/containers/policy.json wants it", "cat /etc"},
		"other architecture": {
			`choosing an image from manifest list docker://x: no image found in image index for architecture "arm64", variant "", OS "linux"`, nil,
			"quay.io has it, but not for this machine's architecture", "uname -m",
		},
		"registry down": {"received unexpected HTTP status: 503 Service Unavailable", nil, "quay.io is in trouble (HTTP 503)", "curl -kv"},
		"disk":          {"writing blob: storing blob to file: write /var/tmp/x: no space left on device", nil, "no space is left for it on this host", "df -h"},
		"no name":       {"InvalidImageName", nil, "this is no name of an image", "# correct it"},
		"never":         {`Container image "x" is not present with pull policy of Never`, nil, "it is not on this host, and the pod forbids pulling", "crictl pull"},
		"new to us":     {"the dog ate it", nil, "the dog ate it", "crictl pull"},
		"nothing said":  {"", nil, "kubelet has not said why", "crictl pull"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := explainPullError(image, test.message, test.auths)
			if got.text != test.want {
				t.Errorf("text = %q\nwant   %q", got.text, test.want)
			}
			if !strings.HasPrefix(got.remedy, test.remedy) {
				t.Errorf("remedy = %q, want %q", got.remedy, test.remedy)
			}
		})
	}
	if len(tests) < len(pullPatterns()) {
		t.Errorf("%d tests for %d stories", len(tests), len(pullPatterns()))
	}
}

func TestRegistryOf(t *testing.T) {
	for image, want := range map[string]string{
		"busybox": "docker.io", "library/busybox": "docker.io", "quay.io/a/b": "quay.io", "reg:5000/a": "reg:5000", "localhost/a": "localhost",
	} {
		if got := registryOf(image); got != want {
			t.Errorf("registryOf(%s) = %s, want %s", image, got, want)
		}
	}
	if got := shortImage("quay.io/a@sha256:0123456789abcdef0123"); got != "quay.io/a@sha256:0123456789ab…" {
		t.Errorf("shortImage() = %s", got)
	}
}
