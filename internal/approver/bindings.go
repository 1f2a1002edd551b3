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

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Where the bindings are when nothing else is said.
const (
	DefaultNamespace = "kube-system"
	DefaultConfigMap = "hcp-node-agent-tickets"
)

// bindings say which key each ticket was used for, in one ConfigMap of the
// hosted cluster: "TICKET: KEY", 32 and 43 characters. It is written by
// compare-and-swap, so that of two approvers one is first, and nothing is
// forgotten by a restart.
//
// An object may have 1 MiB and a write to etcd 1.5 MiB; an entry takes some 80
// bytes. One ConfigMap therefore takes ten thousand tickets, which is more nodes
// than a cluster may have, and one object needs the least rights. When it is
// full, no more tickets are taken, and each CSR is told why.
type bindings struct {
	client    *kube.Client
	namespace string
	name      string
}

const (
	mostBindings = 10_000
	fullRemedy   = "# take the entries of claims that have expired out of the ConfigMap, and their files out of the directory"
)

// bound is what the ConfigMap said, and where it was then.
type bound struct {
	object *corev1.ConfigMap
	keys   map[string]string // ticket to fingerprint
}

func (b bindings) read(ctx context.Context) (bound, error) {
	object, err := b.client.ConfigMaps(b.namespace).Get(ctx, b.name)
	if apierrors.IsNotFound(err) {
		return bound{}, report.Fail(report.Usage, "oc apply -f deploy/approver-rbac.yaml # makes it; or name another one with --namespace and --configmap",
			"the hosted cluster has no ConfigMap %s/%s, in which used tickets are noted: %w", b.namespace, b.name, err)
	}
	if err != nil {
		return bound{}, fmt.Errorf("reading which tickets were used: %w", err)
	}
	return boundOf(object), nil
}

func boundOf(object *corev1.ConfigMap) bound {
	keys := make(map[string]string, len(object.Data))
	for id, value := range object.Data {
		keys[id] = longForm(value)
	}
	return bound{object: object, keys: keys}
}

// add notes tickets as used, if nobody has written meanwhile: the error is then
// a conflict.
func (b bindings) add(ctx context.Context, was bound, more map[string]string) error {
	object := was.object.DeepCopy()
	if object.Data == nil {
		object.Data = map[string]string{}
	}
	for id, fingerprint := range more {
		object.Data[id] = shortForm(fingerprint)
	}
	if _, err := b.client.ConfigMaps(b.namespace).Update(ctx, object); err != nil {
		return fmt.Errorf("noting tickets as used: %w", err)
	}
	maps.Copy(was.keys, more)
	return nil
}

// shortForm writes the 32 bytes of a fingerprint in 43 characters.
func shortForm(fingerprint string) string {
	sum, err := hex.DecodeString(strings.TrimPrefix(fingerprint, "SHA256:"))
	if err != nil {
		return fingerprint
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// longForm reads it back. What is not of that form is some key too, and no
// fingerprint is equal to it.
func longForm(value string) string {
	sum, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(sum) != 32 {
		return fmt.Sprintf("unreadable: %q", shorten(value))
	}
	return "SHA256:" + hex.EncodeToString(sum)
}
