// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"encoding/base64"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// PublishedUserData returns a manifest with the objects by which the controller publishes the user data of NodePool
// workers to one node: the Secret, its Role, and the RoleBinding with the account of the node.
func PublishedUserData(userData []byte, node string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: user-data-workers, namespace: hcp-node-admin}
  data: {user-data.ign: %s}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {name: user-data-workers, namespace: hcp-node-admin}
  rules: [{apiGroups: [""], resources: [secrets], resourceNames: [user-data-workers], verbs: [get]}]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: user-data-workers, namespace: hcp-node-admin}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: user-data-workers}
  subjects: [{kind: ServiceAccount, name: %s, namespace: hcp-node-admin}]
`, base64.StdEncoding.EncodeToString(userData), v1alpha1.ServiceAccount(node))
}
