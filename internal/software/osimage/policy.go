// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.podman.io/image/v5/docker/policyconfiguration"
	"go.podman.io/image/v5/docker/reference"

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
	image, err := reference.ParseNormalizedNamed(pullSpec)
	if err != nil {
		return fmt.Errorf("parsing pull spec %q: %w", pullSpec, err)
	}
	var policy signaturePolicy
	if err := json.Unmarshal(content, &policy); err != nil {
		return report.Fail(report.Refused, "jq . "+PolicyPath, "reading the signature policy %s: %w", PolicyPath, err)
	}
	const remedy = "hcp-node-agent join --software rpm # install the packages from repositories"
	requirements := policy.requirements(image)
	if len(requirements) == 0 {
		return report.Fail(report.Refused, remedy,
			"the signature policy %s has no requirement for OS image %s", PolicyPath, pullSpec)
	}
	for _, requirement := range requirements {
		switch requirement.Type {
		case "insecureAcceptAnything":
		case "reject":
			return report.Fail(report.Refused, remedy, "the signature policy %s rejects OS image %s", PolicyPath, pullSpec)
		default:
			return report.Fail(report.Refused, remedy,
				"the signature policy %s requires %s for OS image %s, and the agent cannot verify signatures",
				PolicyPath, requirement.Type, pullSpec)
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
