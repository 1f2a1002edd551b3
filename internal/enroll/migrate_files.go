// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Defaults for the ConfigMap in which earlier versions have recorded used join tokens.
const (
	DefaultRecordsNamespace = metav1.NamespaceSystem
	DefaultRecordsConfigMap = "hcp-node-admin-used-tokens"
)

// The annotation of the ConfigMap with the version of its records. A ConfigMap without records has none.
const (
	recordsAnnotation = "node.hcp-agent.io/usage-records-version"
	recordsVersion    = "v1"
)

// usedKeys returns the fingerprints of the keys with which join tokens were used, by the ID of the join token.
func (c *Cluster) usedKeys(ctx context.Context, namespace, name string) (map[string]string, error) {
	object, err := c.conn.Client.ConfigMaps(namespace).Get(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, report.Fail(report.Usage, "oc get configmaps -A # then select it with "+
			"--namespace and --configmap",
			"ConfigMap %s/%s, which records used join tokens, does not exist in the hosted cluster", namespace, name)
	case err != nil:
		return nil, c.explain(ctx, err, fmt.Sprintf("getting ConfigMap %s in namespace %s", name, namespace))
	}
	if version := object.Annotations[recordsAnnotation]; version != recordsVersion && len(object.Data) > 0 {
		return nil, report.RefuseFormat("the usage records in ConfigMap %s/%s are of version %q, not of version %s",
			namespace, name, version, recordsVersion)
	}
	keys := make(map[string]string, len(object.Data))
	for id, value := range object.Data {
		keys[id] = decodeFingerprint(value)
	}
	return keys, nil
}

// decodeFingerprint decodes the 32 bytes of a fingerprint. For any other value it returns a text that is not one of a
// fingerprint.
func decodeFingerprint(value string) string {
	sum, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(sum) != 32 {
		return fmt.Sprintf("%.80q", value)
	}
	return "SHA256:" + hex.EncodeToString(sum)
}

// readEnrollments reads the enrollments in a directory. Invalid files are refused, and so are several enrollments of
// one node or join token: it is unknown which of them is valid.
func readEnrollments(dir string) ([]Migrated, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, report.Fail(report.Usage, "", "reading the directory of enrollments: %w", err)
	}
	var all []Migrated
	for _, entry := range entries {
		suffix := filepath.Ext(entry.Name())
		if suffix != enrollment.EnrollmentSuffix && suffix != enrollment.OldEnrollmentSuffix {
			continue
		}
		one := Migrated{File: entry.Name()}
		if err := one.read(filepath.Join(dir, entry.Name())); err != nil {
			one.refuse("%v", err)
		}
		all = append(all, one)
	}
	files := map[string][]int{} // by node and by join token
	for i, one := range all {
		if one.record != nil {
			for _, key := range []string{"node " + one.NodeName, "join token " + one.record.ID} {
				files[key] = append(files[key], i)
			}
		}
	}
	for key, of := range files {
		for _, i := range of {
			if len(of) > 1 {
				all[i].refuse("%s and %s are enrollments of %s", all[of[0]].File, all[of[1]].File, key)
			}
		}
	}
	if len(all) == 0 {
		return nil, report.Fail(report.Usage, "", "%s contains no enrollments, NAME%s", dir, enrollment.EnrollmentSuffix)
	}
	return all, nil
}

// read reads the file of an enrollment.
func (m *Migrated) read(path string) error {
	const maxBytes = 64 << 10 // above the limit of ParseObject
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxBytes {
		return fmt.Errorf("it is not a file of at most %d KiB", maxBytes>>10)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the enrollment: %w", err)
	}
	if m.object, err = enrollment.ParseObject(content); err != nil {
		return err
	}
	// The object can have been printed by a cluster.
	m.object.ObjectMeta = metav1.ObjectMeta{
		Name: m.object.Name, Labels: m.object.Labels, Annotations: m.object.Annotations,
	}
	m.object.Status = v1alpha1.NodeEnrollmentStatus{}
	m.NodeName = m.object.Name
	m.record, err = enrollment.FromObject(m.object)
	return err
}

// checkMigrated returns an error if enrollments were refused.
func checkMigrated(all []Migrated) error {
	refused := slices.DeleteFunc(slices.Clone(all), func(one Migrated) bool { return one.State != MigrationRefused })
	if len(refused) == 0 {
		return nil
	}
	return report.Fail(report.Refused, "# correct or remove these files, then run the same command again",
		"%d of %d enrollments were refused; nothing was changed for them", len(refused), len(all))
}
