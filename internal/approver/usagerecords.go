// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Defaults for the ConfigMap of the usage records.
const (
	DefaultNamespace = "kube-system"
	DefaultConfigMap = "hcp-node-admin-used-tokens"
)

// usageRecords record which key each join token was used for, in one ConfigMap of the hosted cluster.
// An entry is "TOKEN-ID: KEY", with 32 and 43 characters. The ConfigMap is updated by
// compare-and-swap, so only one of two concurrent approvers succeeds. The records survive a
// restart.
//
// An object is limited to 1 MiB and a write to etcd to 1.5 MiB; an entry takes about 80 bytes.
// One ConfigMap is therefore limited to ten thousand tokens, more than the number of nodes that a
// cluster supports. A single object needs the fewest rights. When the ConfigMap is full, no
// further tokens are accepted, and the reason is reported for each CSR.
type usageRecords struct {
	client    *kube.Client
	namespace string
	name      string
}

const (
	maxUsageRecords        = 10_000
	usageRecordsFullRemedy = "# remove the entries of expired enrollments from the ConfigMap, and their files " +
		"from the directory"
)

// The annotation of the ConfigMap with the version of its records. A ConfigMap without records has none.
const (
	usageRecordsAnnotation = "node.hcp-agent.io/usage-records-version"
	usageRecordsVersion    = "v1"
)

// usageSnapshot is the content of the ConfigMap when it was read.
type usageSnapshot struct {
	object *corev1.ConfigMap
	keys   map[string]string // token ID to key fingerprint
}

func (u usageRecords) read(ctx context.Context) (usageSnapshot, error) {
	object, err := u.client.ConfigMaps(u.namespace).Get(ctx, u.name)
	if apierrors.IsNotFound(err) {
		return usageSnapshot{}, report.Fail(report.Usage,
			"oc --kubeconfig hosted.kubeconfig apply -f deploy/approver-rbac.yaml # creates the ConfigMap; or select "+
				"another with --namespace and --configmap",
			"ConfigMap %s/%s, which records used join tokens, does not exist in the hosted cluster: %w",
			u.namespace, u.name, err)
	}
	if err != nil {
		return usageSnapshot{}, fmt.Errorf("reading the usage records of join tokens: %w", err)
	}
	return newUsageSnapshot(object)
}

// newUsageSnapshot fails if another version has written the records: this version could not read which keys the
// join tokens were used with.
func newUsageSnapshot(object *corev1.ConfigMap) (usageSnapshot, error) {
	if version := object.Annotations[usageRecordsAnnotation]; version != usageRecordsVersion && len(object.Data) > 0 {
		return usageSnapshot{}, report.RefuseFormat("the usage records in ConfigMap %s/%s are of version %q, not of "+
			"version %s", object.Namespace, object.Name, truncate(version), usageRecordsVersion)
	}
	keys := make(map[string]string, len(object.Data))
	for id, value := range object.Data {
		keys[id] = decodeFingerprint(value)
	}
	return usageSnapshot{object: object, keys: keys}, nil
}

// add records tokens as used. It returns a conflict error if the ConfigMap has changed since was
// was read.
func (u usageRecords) add(ctx context.Context, was usageSnapshot, more map[string]string) error {
	object := was.object.DeepCopy()
	if object.Data == nil {
		object.Data = map[string]string{}
	}
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, usageRecordsAnnotation, usageRecordsVersion)
	for id, fingerprint := range more {
		object.Data[id] = encodeFingerprint(fingerprint)
	}
	if _, err := u.client.ConfigMaps(u.namespace).Update(ctx, object); err != nil {
		return fmt.Errorf("recording join tokens as used: %w", err)
	}
	maps.Copy(was.keys, more)
	return nil
}

// encodeFingerprint encodes the 32 bytes of a fingerprint in 43 characters.
func encodeFingerprint(fingerprint string) string {
	sum, err := hex.DecodeString(strings.TrimPrefix(fingerprint, "SHA256:"))
	if err != nil {
		return fingerprint
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// decodeFingerprint decodes a value that encodeFingerprint returned. For any other value it returns a text
// that is not equal to any fingerprint.
func decodeFingerprint(value string) string {
	sum, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(sum) != 32 {
		return fmt.Sprintf("unreadable: %q", truncate(value))
	}
	return "SHA256:" + hex.EncodeToString(sum)
}
