// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.podman.io/image/v5/docker/policyconfiguration"
	"go.podman.io/image/v5/docker/reference"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// PolicyPath is the file with the signature policy of images (containers-policy.json(5)).
const PolicyPath = "/etc/containers/policy.json"

type policyRequirements []struct {
	Type string `json:"type"`
}

// signaturePolicy is the content of PolicyPath.
type signaturePolicy struct {
	Default    policyRequirements                       `json:"default"`
	Transports map[string]map[string]policyRequirements `json:"transports"` // by transport and scope
}

// CheckPolicy fails if the content of PolicyPath does not accept an image. It verifies no signatures:
// it also fails if the policy requires one. A policy applies to the pull spec, not to the mirror that
// the image is read from.
func CheckPolicy(pullSpec string, content []byte) error {
	return checkPolicy(pullSpec, content, puller{
		remedy: "hcp-node-agent join --software rpm # install the packages from repositories",
		limit:  "the agent cannot verify signatures",
	})
}

// skopeoOfIndexes is the first version of skopeo that finds the sigstore signatures of an image that was requested with
// the digest of an index for several architectures (machine-config-operator, pull request 6475).
var skopeoOfIndexes = version.MustParseGeneric("1.22.2")

// CheckPullPolicy fails if a version of skopeo, with which bootc and rpm-ostree pull images, refuses the image because
// of the content of PolicyPath, however it is signed. An unknown version, "", is not refused.
func CheckPullPolicy(image *Image, content []byte, skopeo string) error {
	verifies := []string{"signedBy", "sigstoreSigned"}
	digest, err := image.Digest()
	if err != nil {
		return fmt.Errorf("reading the digest of image %s: %w", image.PullSpec, err)
	}
	isOfIndex := !strings.HasSuffix(image.PullSpec, "@"+digest.String())
	installed, err := version.ParseGeneric(skopeo)
	if err == nil && isOfIndex && installed.LessThan(skopeoOfIndexes) {
		verifies = verifies[:1]
	}
	return checkPolicy(image.PullSpec, content, puller{
		verifies: verifies,
		remedy: report.Remedyf("# boot a host image with skopeo %s or newer, or change the policy of "+
			"the cluster for this image: oc get clusterimagepolicies", skopeoOfIndexes),
		limit: "skopeo " + skopeo + " of this host does not find the signatures of an image for several architectures",
	})
}

// puller describes a program that pulls an image.
type puller struct {
	verifies []string      // types of requirements that it can meet
	limit    string        // why it does not meet others
	remedy   report.Remedy // for a policy that it cannot meet
}

// checkPolicy fails if the content of PolicyPath has a requirement for an image that the puller cannot meet.
func checkPolicy(pullSpec string, content []byte, by puller) error {
	image, err := reference.ParseNormalizedNamed(pullSpec)
	if err != nil {
		return fmt.Errorf("parsing pull spec %q: %w", pullSpec, err)
	}
	var policy signaturePolicy
	if err := json.Unmarshal(content, &policy); err != nil {
		return report.Fail(report.Refused, "jq . "+PolicyPath, "reading the signature policy %s: %w", PolicyPath, err)
	}
	requirements := policy.requirements(image)
	if len(requirements) == 0 {
		return report.Fail(report.Refused, by.remedy,
			"the signature policy %s has no requirement for OS image %s", PolicyPath, pullSpec)
	}
	for _, requirement := range requirements {
		switch {
		case requirement.Type == "insecureAcceptAnything" || slices.Contains(by.verifies, requirement.Type):
		case requirement.Type == "reject":
			return report.Fail(report.Refused, by.remedy,
				"the signature policy %s rejects OS image %s", PolicyPath, pullSpec)
		default:
			return report.Fail(report.Refused, by.remedy,
				"the signature policy %s requires %s for OS image %s, and %s",
				PolicyPath, requirement.Type, pullSpec, by.limit)
		}
	}
	return nil
}

// requirements returns the requirements of the narrowest scope that contains an image.
func (p signaturePolicy) requirements(image reference.Named) policyRequirements {
	scopes := p.Transports["docker"]
	names := slices.Concat([]string{image.String()}, policyconfiguration.DockerReferenceNamespaces(image), []string{""})
	for _, name := range names {
		if requirements, found := scopes[name]; found {
			return requirements
		}
	}
	return p.Default
}
