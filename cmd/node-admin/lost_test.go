// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/lostnodes"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
)

// The policy about lost nodes has the names that the program uses, and never refuses the writes of all users.
func TestLostPolicy(t *testing.T) {
	documents, err := rights.Documents("hosted-lost/policy.yaml")
	if err != nil || len(documents) != 2 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	var policy admissionregistrationv1.ValidatingAdmissionPolicy
	var binding admissionregistrationv1.ValidatingAdmissionPolicyBinding
	for i, object := range []any{&policy, &binding} {
		if err := yaml.UnmarshalStrict([]byte(documents[i]), object); err != nil {
			t.Fatal(err)
		}
	}
	parameter := binding.Spec.ParamRef
	if policy.Name != lostnodes.Policy || binding.Name != lostnodes.Policy || binding.Spec.PolicyName != policy.Name ||
		parameter.Name != lostnodes.ConfigMap || parameter.Namespace != v1alpha1.Namespace {
		t.Errorf("policy %s, binding %s for %s with %+v", policy.Name, binding.Name, binding.Spec.PolicyName, parameter)
	}
	if *policy.Spec.FailurePolicy != admissionregistrationv1.Ignore ||
		*parameter.ParameterNotFoundAction != admissionregistrationv1.AllowAction {
		t.Error("an error, or a missing list, refuses the writes of all users")
	}
}

// The help lists each permission that --lost requires.
func TestLostPermissionsAreDocumented(t *testing.T) {
	help := runCommandLine(t, "remove", "--help").Out
	for _, p := range removeLostPermissions() {
		resource, _, _ := strings.Cut(p.resource, ".")
		if !strings.Contains(help, resource) || !strings.Contains(help, strings.ReplaceAll(p.verbs, ",", ", ")) {
			t.Errorf("the help does not list %s %s", p.verbs, p.resource)
		}
	}
}
