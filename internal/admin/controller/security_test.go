// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// securityTests lists the tests that show the lines of docs/security.md about what a party can and cannot do. A key is
// the begin of a line. Tests without a directory are in this package.
var securityTests = map[string]string{
	// A stolen host file
	"join one machine as node NAME": "TestControlPlaneEnrolledNodeGetsCertificates " +
		"TestControlPlaneUsedToken",
	"with `--reinstall allow-same-token`: join one":   "TestControlPlaneSameTokenAgain",
	"read the current user data of the NodePool, and": "TestControlPlaneAccessToUserData",
	"join a second machine":                           "TestControlPlaneUsedToken TestControlPlaneRefusesInvalidCSRs",
	"replace a Node":                                  "TestControlPlaneReinstall",
	"read another Secret, list Secrets":               "TestControlPlaneJoinTokenIsLimited",
	"approve a CSR | neither":                         "TestControlPlaneJoinTokenIsLimited",
	"get a new credential after a revocation":         "TestControlPlaneJoinTokenIsLimited",

	// A stolen file for several hosts
	"join a machine as any node of the list":  "TestControlPlaneEnrolledNodeGetsCertificates",
	"take the name of a host that has joined": "TestControlPlaneUsedToken",
	"join more machines than the list":        "TestControlPlaneUsedToken TestControlPlaneRefusesInvalidCSRs",

	// A node
	"get the user data of its own NodePool":   "TestControlPlaneAccessToUserData",
	"get the pull secret and the additional":  "../../node/TestControlPlanePublished",
	"get the object Infrastructure `cluster`": "../../node/TestControlPlanePublished",
	"write a false state to the annotations":  "TestControlPlaneNodeIsLimited TestControlPlaneRolloutWithLyingNode",
	"write a false address to its Node":       "TestControlPlaneNodeCannotBlockServingCSROfAnother",
	"get the user data of another NodePool":   "TestControlPlaneAccessToUserData TestControlPlaneNodeIsLimited",
	"write another Node, for example":         "TestControlPlaneNodeIsLimited",
	"set labels such as": "TestControlPlaneNodeIsLimited TestControlPlaneKubeletLabels " +
		"TestControlPlaneNodeSettings",
	"read, create or change a NodeEnrollment":    "TestControlPlaneNodeIsLimited",
	"approve a CSR, or get a client certificate": "TestControlPlaneNodeIsLimited TestControlPlaneRefusesInvalidCSRs",
	"get a serving certificate for an address":   "TestControlPlaneRefusesInvalidCSRs",
	"get a serving certificate when":             "TestControlPlaneDeletedEnrollment",

	// A lost host
	"read Services, Endpoints, CSRs":             "../../../cmd/node-admin/TestControlPlaneFleet",
	"send reviews of tokens and of permissions":  "../../../cmd/node-admin/TestControlPlaneFleet",
	"read with the client certificates of OVN":   "../../../cmd/node-admin/TestControlPlaneFleet",
	"use what it copied before, such as Secrets": "../../../cmd/node-admin/TestControlPlaneFleet",
	"renew its certificate, create its Node, or": "../../../cmd/node-admin/TestControlPlaneFleet",
	"get a token of a ServiceAccount, or evict":  "../../../cmd/node-admin/TestControlPlaneFleet",
	"read the Secrets and ConfigMaps of its":     "../../../cmd/node-admin/TestControlPlaneFleet",
	"have a CSR approved, also with a bootstrap": "TestControlPlaneLostNodeIsNotApproved",
	"stop other nodes from writing":              "../../../cmd/node-admin/TestControlPlaneFleet",

	// A pod on a node
	"read published user data, NodeEnrollments or Nodes": "TestControlPlanePodIsLimited",
	"submit or approve a CSR, or write a Node":           "TestControlPlanePodIsLimited",

	// A holder of a bootstrap kubeconfig
	"submit CSRs, any number and size":         "TestControlPlaneHugeRequestsStayWithinMemoryLimit",
	"have a client CSR approved":               "TestControlPlaneRefusesInvalidCSRs TestControlPlaneBootstrapperIsLimited",
	"make a host fail by a CSR":                "TestControlPlaneLateEnrollment TestControlPlaneApprovesOneCSRForAKey",
	"read user data or NodeEnrollments, write": "TestControlPlaneBootstrapperIsLimited",

	// A holder of the controller's credential
	"approve any client and serving CSR": "TestControlPlaneControllerCredential " +
		"TestControlPlaneEnrolledNodeGetsCertificates",
	"read every Secret of namespace":            "TestControlPlaneControllerCredential",
	"write labels, annotations and taints":      "TestControlPlaneNodeSettings TestControlPlaneRollout",
	"create, change or delete NodeEnrollments":  "TestControlPlaneRights",
	"read Secrets of another namespace, or":     "TestControlPlaneRights",
	"approve CSRs of other signers":             "TestControlPlaneRights",
	"delete Nodes, or list pods, without":       "TestControlPlaneRights TestControlPlaneRemediation",
	"write Secrets, unless it was installed":    "TestControlPlaneRights ../publisher/TestControlPlanePublisher",
	"get the credential of the controller, and": "TestControlPlaneControllerCredential",
	"enroll a node, approve a CSR, write a":     "TestControlPlaneControllerCredential",

	// A holder of the publisher's management credential
	"get every Secret of the hosted control":   "../publisher/TestControlPlanePublisher",
	"list the NodePools of all HostedClusters": "../publisher/TestControlPlanePublisher",
	"list or watch Secrets":                    "../publisher/TestControlPlanePublisher",
	"change anything on the management":        "../publisher/TestControlPlanePublisher",
	"get Secrets of another namespace, or":     "../publisher/TestControlPlanePublisher",
}

// Each line about a party has a test, and each test exists.
func TestSecurityLinesHaveTests(t *testing.T) {
	content, err := os.ReadFile("../../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	isParty := false
	for line := range strings.Lines(string(content)) {
		row, isRow := strings.CutPrefix(strings.TrimSpace(line), "| ")
		switch {
		case !isRow:
			isParty = isParty && strings.HasPrefix(line, "|")
			continue
		case strings.HasPrefix(row, "can |"), strings.HasPrefix(row, "cannot |"):
			isParty = true
			continue
		case !isParty:
			continue
		}
		var found []string
		for begin := range securityTests {
			if strings.HasPrefix(row, begin) {
				found = append(found, begin)
				used[begin] = true
			}
		}
		if len(found) != 1 {
			t.Errorf("%d entries for %q", len(found), row)
		}
	}
	for begin, tests := range securityTests {
		if !used[begin] {
			t.Errorf("docs/security.md does not contain %q", begin)
		}
		for name := range strings.FieldsSeq(tests) {
			if !hasTest(t, name) {
				t.Errorf("%q: there is no test %s", begin, name)
			}
		}
	}
}

// hasTest reports whether a directory has a test function, as DIRECTORY/NAME.
func hasTest(t *testing.T, path string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "\nfunc "+filepath.Base(path)+"(t *testing.T)") {
			return true
		}
	}
	return false
}
