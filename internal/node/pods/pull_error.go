// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// PullSecretPath is where a payload stores the node's pull secret.
const PullSecretPath = "/var/lib/kubelet/config.json" //nolint:gosec // a path, no secret

// ExplainPull explains why an image cannot be pulled. The text completes "image X
// cannot be pulled: ".
func ExplainPull(image, message string, auths []string) servicelog.Cause {
	cause, _ := classifyPull(image, message, auths)
	return cause
}

// classifyPull explains why an image cannot be pulled. It also returns the registry that requires a
// credential, if auths, the registries in the node's pull secret, do not contain it.
func classifyPull(image, message string, auths []string) (cause servicelog.Cause, uncredentialed string) {
	registry := registryOf(image)
	// If a mirror is configured, the mirror rejected the request.
	if m := regexp.MustCompile(`pinging container registry ([\w.:\[\]-]+?):? `).FindStringSubmatch(message); m != nil {
		registry = m[1]
	}
	try := "crictl pull " + image
	cause, _, known := servicelog.FindCause([]string{message}, pullPatterns)
	switch {
	case known && cause.Text == unauthorized:
		return unauthorizedCause(registry, try, auths)
	case known:
		fill := strings.NewReplacer("REGISTRY", registry, "PULL", try)
		return servicelog.Cause{
			Text: fill.Replace(cause.Text), Remedy: report.Remedy(fill.Replace(string(cause.Remedy))),
		}, ""
	case message == "":
		message = "kubelet has not reported a reason"
	}
	return servicelog.Cause{Text: servicelog.Shorten(message, servicelog.MaxExcerpt), Remedy: report.Remedy(try)}, ""
}

// clusterRegistryAuth describes where an administrator changes the pull secret of the
// nodes.
const clusterRegistryAuth = "the cluster's pull secret (HostedCluster spec.pullSecret; on a standalone cluster " +
	"openshift-config/pull-secret)"

// unauthorizedCause explains a registry that requires a credential, or rejects the
// node's. In the former case it also returns the registry.
func unauthorizedCause(registry, try string, auths []string) (cause servicelog.Cause, uncredentialed string) {
	hasCredential := func(entry string) bool { return matchesRegistry(entry, registry) }
	if auths != nil && !slices.ContainsFunc(auths, hasCredential) {
		return servicelog.Cause{
			Text: "this node's pull secret (" + PullSecretPath + ") has no credential for " + registry,
			Remedy: report.Remedy("# add " + registry + " to " + clusterRegistryAuth + ", and join again with " +
				"current user data"),
		}, registry
	}
	return servicelog.Cause{
		Text: registry + " rejects this node's pull secret, or has no such image for it",
		// A change of the pull secret's content does not reach joined nodes (openshift/hypershift#3259), unless the
		// service renews it.
		Remedy: report.Remedy(try + "\n# if " + clusterRegistryAuth + " is newer, with current user " +
			"data:\nhcp-node-agent join --user-data USER_DATA"),
	}, ""
}

// matchesRegistry reports whether an entry of a pull secret is for a registry. Some
// entries have a scheme or a path (containers-auth.json(5)).
func matchesRegistry(entry, registry string) bool {
	entry = strings.TrimPrefix(strings.TrimPrefix(entry, "https://"), "http://")
	host, _, _ := strings.Cut(entry, "/")
	if registry == "docker.io" && host == "index.docker.io" {
		return true
	}
	return host == registry
}

// registryOf returns the registry in an image name.
func registryOf(image string) string {
	first, _, hasPath := strings.Cut(image, "/")
	if !hasPath || (!strings.ContainsAny(first, ".:") && first != "localhost") {
		return "docker.io"
	}
	return first
}

// unauthorized is the text of the pattern for registries that require a credential, which unauthorizedCause
// explains.
const unauthorized = "unauthorized"

// pullPatterns returns patterns for errors of containers/image and kubelet. The
// first match counts: network errors precede the responses of the registry.
// In their templates, REGISTRY stands for the registry, and PULL for the command
// that retries the pull.
func pullPatterns() []servicelog.Pattern {
	return []servicelog.Pattern{
		servicelog.NewPattern(`InvalidImageName|couldn't parse image|invalid reference format`, "the image name is invalid",
			"# correct the image name in the pod's owner"),
		servicelog.NewPattern(`not present with pull policy of Never`,
			"it does not exist on this host, and the pod's pull policy is Never", "PULL"),
		servicelog.NewPattern(`(?i)no space left on device`, "this host has no free space for it",
			"df -h /var/lib/containers; crictl rmi --prune"),
		servicelog.NewPattern(`proxyconnect tcp`, "the proxy does not allow CRI-O to connect to REGISTRY",
			"systemctl show -P Environment crio"),
		servicelog.NewPattern(
			`lookup ([\w.-]+)(?: on (\S+?))?: (no such host|server misbehaving|i/o timeout|Temporary failure[\w `+
				`]*|connection refused|.{3,60})`,
			"this host's DNS does not resolve $1 ($2 $3)", "getent ahosts $1; cat /etc/resolv.conf"),
		servicelog.NewPattern(`x509: certificate has expired or is not yet valid: current time (\S+?) is before`,
			"the certificate of REGISTRY is not valid yet; this host's clock shows $1", "chronyc makestep # or: "+
				"timedatectl set-ntp true"),
		servicelog.NewPattern(`x509: certificate has expired`,
			"the certificate of REGISTRY has expired, or this host's clock is ahead",
			"date -u; openssl s_client -connect REGISTRY:443 </dev/null | openssl x509 -noout -dates"),
		servicelog.NewPattern(`x509: certificate signed by unknown authority`,
			"this host does not trust the certificate of REGISTRY",
			"# add its CA to the cluster (HostedCluster spec.additionalTrustBundle), or to this host: "+
				"/etc/containers/certs.d/REGISTRY/ca.crt"),
		servicelog.NewPattern(`x509: (.{3,100})`, "the certificate of REGISTRY is not valid for it: $1",
			"openssl s_client -connect REGISTRY:443 -showcerts </dev/null"),
		servicelog.NewPattern(`server gave HTTP response to HTTPS client`, "REGISTRY does not use TLS",
			"# configure TLS for the registry. If others cannot change the traffic to it, permit HTTP instead: set "+
				"insecure = true for it in /etc/containers/registries.conf"),
		servicelog.NewPattern(`connection refused`,
			"no service listens at REGISTRY (connection refused)", "curl -kvm 20 https://REGISTRY/v2/"),
		servicelog.NewPattern(`no route to host|network is unreachable`, "this host has no route to REGISTRY",
			"curl -kvm 20 https://REGISTRY/v2/; ip route"),
		servicelog.NewPattern(`(?i)i/o timeout|deadline exceeded|TLS handshake timeout|Client\.Timeout`,
			"REGISTRY did not respond in time", "curl -kvm 20 https://REGISTRY/v2/"),
		servicelog.NewPattern(`(?i)toomanyrequests|\b429\b`, "REGISTRY limits the number of requests from this host",
			"# retry later, or use a credential or a mirror"),
		servicelog.NewPattern(`(?i)SignatureValidationFailed|Source image rejected|signature`,
			"its signature does not meet the policy of /etc/containers/policy.json", "cat /etc/containers/policy.json"),
		servicelog.NewPattern(`(?i)no image found in (?:image index|manifest list)|no matching manifest`,
			"REGISTRY does not have it for this machine's architecture",
			"uname -m; skopeo inspect --raw docker://IMAGE"),
		// A line of the journal contains only the beginning of "unable to retrieve auth token: invalid
		// username/password: unauthorized", because the rest is masked like a token.
		servicelog.NewPattern(
			`(?i)unauthorized|unable to retrieve auth token|authentication required|access to the requested `+
				`resource is not authorized|denied: |requested access|invalid username/password|no basic auth|\b40[13]\b`,
			unauthorized, ""),
		servicelog.NewPattern(`(?i)manifest unknown|name unknown|not found|repository name not known|\b404\b`,
			"REGISTRY does not have it", "PULL"),
		servicelog.NewPattern(`(?i)unexpected (?:http )?status(?: code)?:? ?.*?\b(5\d\d)\b|\b(50[0234])\b`,
			"REGISTRY failed (HTTP $1$2)", "curl -kvm 20 https://REGISTRY/v2/"),
	}
}

// shortImage shortens the digest in an image name to a length that is still
// distinguishable.
func shortImage(image string) string {
	name, digest, found := strings.Cut(image, "@sha256:")
	if found && len(digest) > 12 {
		return name + "@sha256:" + digest[:12] + "…"
	}
	return image
}

// AwaitsImage reports whether kubelet cannot pull an image of a pod.
func AwaitsImage(pod *corev1.Pod) bool {
	reasons := []string{"ErrImagePull", "ImagePullBackOff"}
	return slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses),
		func(s corev1.ContainerStatus) bool {
			return s.State.Waiting != nil && slices.Contains(reasons, s.State.Waiting.Reason)
		})
}

// MissingCredentials returns a finding for each registry that rejects images of pods, and for which the node's pull
// secret contains no credential. Such a registry may have been added to the pull secret of the cluster since the
// join, which a node cannot read without deploy/hosted-renewals. The findings are notes, because the pod may also
// need a pull secret of its own.
func MissingCredentials(all []*corev1.Pod, e Evidence) []report.Finding {
	names := map[string][]string{}
	for _, problem := range Problems(all, e) {
		if registry := problem.uncredentialed; registry != "" {
			names[registry] = append(names[registry], problem.Name())
		}
	}
	var findings []report.Finding
	for _, registry := range slices.Sorted(maps.Keys(names)) {
		findings = append(findings, report.Finding{
			Severity: report.SeverityNote,
			Reason:   report.RegistryCredentialMissing,
			Subject:  "registry " + registry,
			Message: fmt.Sprintf("registry %s requires a credential, and this node's pull secret (%s) has none for it; "+
				"pods that cannot pull from it: %s", registry, PullSecretPath, report.AbbreviateList(names[registry])),
			Remedy: "hcp-node-agent upgrade --user-data USER_DATA # with current user data, if " + clusterRegistryAuth +
				" contains the registry; otherwise add it there, or to a pull secret of the pods",
		})
	}
	return findings
}
