// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enroll"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
)

// migrateTest is a directory of enrollments and the ConfigMap with the records of used join tokens.
type migrateTest struct {
	*hostedCluster
	dir string
}

// enrollment returns an enrollment that was created some time ago.
func (m *migrateTest) enrollment(t *testing.T, node string, ca []byte, ago time.Duration) *enrollment.Enrollment {
	t.Helper()
	_, record, err := enrollment.New(enrollment.Options{NodeName: node, ClusterCA: ca, Lifetime: time.Hour},
		time.Now().Add(-ago))
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// write writes an enrollment as earlier versions did, and returns its ID.
func (m *migrateTest) write(t *testing.T, file string, record *enrollment.Enrollment) string {
	t.Helper()
	content, err := record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(file) == enrollment.OldEnrollmentSuffix {
		object, err := record.Object()
		if err != nil {
			t.Fatal(err)
		}
		content = fmt.Appendf(nil, "apiVersion: %s\nkind: Enrollment\nid: %s\nnodeName: %s\nexpires: %s\nclusterCA: [%s]\n"+
			"addresses: [192.0.2.7]\npublicKey: %q\n", report.APIVersion, record.ID, record.NodeName,
			record.Expires.Format(time.RFC3339), strings.Join(object.Spec.ClusterCA, ", "), object.Spec.PublicKey)
	}
	writeTestFile(t, m.dir, file, string(content))
	return record.ID
}

// record records that a join token was used, as earlier versions did, and returns the fingerprint of the key.
func (m *migrateTest) record(t *testing.T, id string) string {
	t.Helper()
	sum := []byte(strings.Repeat("7", 32))
	m.addRecord(t, id, base64.RawURLEncoding.EncodeToString(sum))
	return "SHA256:" + hex.EncodeToString(sum)
}

func (m *migrateTest) addRecord(t *testing.T, id, value string) {
	t.Helper()
	body := fmt.Appendf(nil, `{"metadata": {"annotations": {"node.hcp-agent.io/usage-records-version": "v1"}},
		"data": {%q: %q}}`, id, value)
	_, err := m.admin.CoreV1().ConfigMaps("kube-system").Patch(t.Context(), enroll.DefaultRecordsConfigMap,
		"application/merge-patch+json", body, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// states runs the command, and returns the states by the names of the files.
func (m *migrateTest) states(t *testing.T) (map[string]enroll.Migrated, clitest.Result) {
	t.Helper()
	got := m.exec(t, "migrate", m.dir, "-o", "json")
	var document struct{ Enrollments []enroll.Migrated }
	if err := json.Unmarshal([]byte(got.Out), &document); err != nil {
		t.Fatalf("%+v: %v", got, err)
	}
	if wrong := admin().ValidateDocuments(t, got.Out); wrong != "" {
		t.Error(wrong)
	}
	states := map[string]enroll.Migrated{}
	for _, one := range document.Enrollments {
		states[one.File] = one
	}
	return states, got
}

func (m *migrateTest) check(t *testing.T, got map[string]enroll.Migrated, want map[string]string) {
	t.Helper()
	for file, text := range want {
		line := fmt.Sprintf("%s %s %s", got[file].State, got[file].BoundKey, got[file].Reason)
		if !strings.HasPrefix(line, text) {
			t.Errorf("%s: %s, want %s", file, line, text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, want %d: %+v", len(got), len(want), got)
	}
}

// get returns the NodeEnrollment of a node, nil if it does not exist.
func (m *migrateTest) get(t *testing.T, node string) *v1alpha1.NodeEnrollment {
	t.Helper()
	body, err := m.admin.Discovery().RESTClient().Get().AbsPath(enrollmentsPath, node).DoRaw(t.Context())
	if err != nil {
		return nil
	}
	object := &v1alpha1.NodeEnrollment{}
	if err := json.Unmarshal(body, object); err != nil {
		t.Fatal(err)
	}
	return object
}

func (h *hostedCluster) testMigrate(t *testing.T) {
	m := &migrateTest{hostedCluster: h, dir: t.TempDir()}
	ca := csrtest.ClusterCA(t)
	m.write(t, "unused.yaml", m.enrollment(t, "unused", ca, 0))
	missing := m.exec(t, "migrate", m.dir)
	if missing.Code != report.Usage || !strings.Contains(missing.Err, "ConfigMap kube-system/hcp-node-admin-used-tokens, "+
		"which records used join tokens, does not exist") || m.get(t, "unused") != nil {
		t.Errorf("without the records: %+v", missing)
	}
	records := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: enroll.DefaultRecordsConfigMap}}
	_, err := h.admin.CoreV1().ConfigMaps("kube-system").Create(t.Context(), records, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	later := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "later", Annotations: map[string]string{
		"node.hcp-agent.io/usage-records-version": "v2",
	}}, Data: map[string]string{"a": "b"}}
	if _, err := h.admin.CoreV1().ConfigMaps("default").Create(t.Context(), later, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	other := m.exec(t, "migrate", m.dir, "--namespace", "default", "--configmap", "later")
	if other.Code != report.Refused || !strings.Contains(other.Err, `ConfigMap default/later are of version "v2"`) {
		t.Errorf("records of a later version: %+v", other)
	}
	key := m.record(t, m.write(t, "used.enrollment", m.enrollment(t, "used", ca, 0)))
	m.record(t, m.write(t, "joined.yaml", m.enrollment(t, "joined", ca, 2*time.Hour)))
	m.testPermissions(t) // each of these continues with what the former has left
	m.testOrder(t, key)
	m.testRepetition(t, key)
	m.testRefusals(t, ca, key)
}

// testPermissions runs the command without and with the documented permissions, and without changes.
func (m *migrateTest) testPermissions(t *testing.T) {
	forbidden := runCommandLine(t, "migrate", m.dir, "--kubeconfig", m.as(t, "without-rights"))
	if forbidden.Code != report.CredentialRefused || !strings.Contains(forbidden.Err, "no permission: ") {
		t.Errorf("without permissions: %+v", forbidden)
	}
	m.grant(t, "migrator", migratePermissions())
	dry := m.await(t, "migrator", "migrate", m.dir, "--dry-run")
	if !strings.Contains(dry.Out, "unused.yaml: created\n") ||
		!strings.Contains(dry.Out, "\n# nothing was changed, because of --dry-run\n") {
		t.Errorf("dry run: %+v", dry)
	}
	for _, node := range []string{"unused", "used", "joined"} {
		if m.get(t, node) != nil {
			t.Errorf("a dry run has created %s", node)
		}
	}
}

// testOrder checks that no client sees a NodeEnrollment of a used join token that admits another key.
func (m *migrateTest) testOrder(t *testing.T, key string) {
	history, err := m.admin.Discovery().RESTClient().Get().AbsPath(enrollmentsPath).Param("watch", "true").
		Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer history.Close()
	got := runCommandLine(t, "migrate", m.dir, "--kubeconfig", m.as(t, "migrator"))
	if got.Code != report.Success || !strings.Contains(got.Out, "delete configmap hcp-node-admin-used-tokens\n") {
		t.Errorf("%+v", got)
	}
	m.enroll(t, "last", nil)
	versions := map[string]int{}
	for decoder := json.NewDecoder(history); ; {
		var event struct{ Object v1alpha1.NodeEnrollment }
		if err := decoder.Decode(&event); err != nil {
			t.Fatal(err)
		}
		object := event.Object
		if object.Name == "last" {
			break
		}
		versions[object.Name]++
		if slices.Contains([]string{"used", "joined"}, object.Name) && object.Status.BoundKey == "" &&
			time.Until(object.Spec.Expires.Time) > -24*time.Hour {
			t.Errorf("a controller could bind %s, version %d: %+v", object.Name, versions[object.Name], object)
		}
	}
	if versions["used"] != 3 || versions["joined"] != 3 || versions["unused"] != 1 {
		t.Errorf("versions: %v", versions)
	}
	if status := m.get(t, "unused").Status; status.BoundKey != "" {
		t.Errorf("unused: %+v", status)
	}
	used, joined := m.get(t, "used"), m.get(t, "joined")
	if used.Status.BoundKey != key || used.Spec.Expires.Before(&metav1.Time{Time: time.Now()}) ||
		strings.Join(used.Spec.Addresses, " ") != "192.0.2.7" {
		t.Errorf("used: %+v", used)
	}
	if joined.Status.BoundKey != key || time.Since(joined.Spec.Expires.Time) > 2*time.Hour {
		t.Errorf("joined: %+v", joined)
	}
}

// testRepetition repeats the command without a change, after an interruption, and after the use of another token.
func (m *migrateTest) testRepetition(t *testing.T, key string) {
	before := m.get(t, "used").ResourceVersion
	states, got := m.states(t)
	m.check(t, states, map[string]string{
		"unused.yaml": "unchanged", "used.enrollment": "unchanged " + key, "joined.yaml": "unchanged " + key,
	})
	if got.Code != report.Success || m.get(t, "used").ResourceVersion != before {
		t.Errorf("%+v", got)
	}
	for interrupted, patch := range map[string]string{
		"before the key": `{"status": {"boundKey": null}}`, "before the expiry": `{}`,
	} {
		const expired = `{"spec": {"expires": "2000-01-01T00:00:00Z"}}`
		for _, change := range []struct{ path, body string }{{"", expired}, {"/status", patch}} {
			err := m.admin.Discovery().RESTClient().Patch("application/merge-patch+json").
				AbsPath(enrollmentsPath + "/used" + change.path).Body([]byte(change.body)).Do(t.Context()).Error()
			if err != nil {
				t.Fatal(err)
			}
		}
		states, _ := m.states(t)
		used := m.get(t, "used")
		if states["used.enrollment"].State != enroll.MigrationBound || used.Status.BoundKey != key ||
			time.Until(used.Spec.Expires.Time) < 0 {
			t.Errorf("interrupted %s: %+v: %+v", interrupted, states, used)
		}
	}
	m.record(t, m.get(t, "unused").Spec.TokenID)
	states, _ = m.states(t)
	if states["unused.yaml"].State != enroll.MigrationBound || m.get(t, "unused").Status.BoundKey != key {
		t.Errorf("used meanwhile: %+v", states)
	}
}

// testRefusals checks that enrollments are refused, each for its own reason, and that nothing is changed for them.
func (m *migrateTest) testRefusals(t *testing.T, ca []byte, key string) {
	writeTestFile(t, m.dir, "invalid.yaml", "kind: Enrollment\n")
	m.write(t, "foreign.yaml", m.enrollment(t, "foreign", csrtest.OtherCA(t), 0))
	m.write(t, "expired.yaml", m.enrollment(t, "expired", ca, 2*time.Hour))
	m.write(t, "first.yaml", m.enrollment(t, "double", ca, 0))
	m.write(t, "second.enrollment", m.enrollment(t, "double", ca, 0))
	m.enroll(t, "conflict", nil)
	m.write(t, "conflict.yaml", m.enrollment(t, "conflict", ca, 0))
	conflict := m.get(t, "conflict").ResourceVersion
	m.patchStatus(t, "used", v1alpha1.NodeEnrollmentStatus{BoundKey: "SHA256:00"})
	m.write(t, "good.yaml", m.enrollment(t, "good", ca, 0))
	m.addRecord(t, m.write(t, "unreadable.yaml", m.enrollment(t, "unreadable", ca, 0)), "x")
	states, got := m.states(t)
	m.check(t, states, map[string]string{
		"invalid.yaml":      "refused  reading the enrollment: ",
		"foreign.yaml":      "refused  join token " + states["foreign.yaml"].Reason[len("join token "):],
		"expired.yaml":      "skipped  join token ",
		"first.yaml":        "refused  first.yaml and second.enrollment are enrollments of node double",
		"second.enrollment": "refused  first.yaml and second.enrollment are enrollments of node double",
		"conflict.yaml":     "refused  NodeEnrollment conflict has another join token (",
		"used.enrollment":   "refused " + key + " NodeEnrollment used is bound to another key (SHA256:00)",
		"unreadable.yaml":   `refused  the record of the used join token is unreadable: "x"`,
		"good.yaml":         "created",
		"unused.yaml":       "unchanged " + key,
		"joined.yaml":       "unchanged " + key,
	})
	if got.Code != report.Refused || !strings.Contains(states["foreign.yaml"].Reason, "is for another cluster") ||
		!strings.Contains(got.Out, "7 of 11 enrollments were refused; nothing was changed for them") {
		t.Errorf("%+v", got)
	}
	for _, node := range []string{"foreign", "expired", "double", "unreadable"} {
		if m.get(t, node) != nil {
			t.Errorf("%s was created", node)
		}
	}
	if m.get(t, "conflict").ResourceVersion != conflict || m.get(t, "used").Status.BoundKey != "SHA256:00" {
		t.Error("a NodeEnrollment was changed")
	}
}
