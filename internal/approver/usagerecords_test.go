// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// Records that this version cannot read must not be taken for those of unused join tokens.
func TestUsageRecordsOfOtherVersionsAreRefused(t *testing.T) {
	id := strings.Repeat("ab", 16)
	fingerprint := "SHA256:" + strings.Repeat("0f", 32)
	records := map[string]string{id: encodeFingerprint(fingerprint)}
	for name, test := range map[string]struct {
		version string
		records map[string]string
		isRead  bool
		key     string // of the join token
	}{
		"empty":              {"", nil, true, ""},
		"empty, another one": {"v9", nil, true, ""},
		"this version":       {usageRecordsVersion, records, true, fingerprint},
		"unreadable record":  {usageRecordsVersion, map[string]string{id: "v2:x"}, true, `unreadable: "v2:x"`},
		"another version":    {"v9", records, false, ""},
		"no version":         {"", records, false, ""},
	} {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "used"}, Data: test.records}
		if test.version != "" {
			metav1.SetMetaDataAnnotation(&object.ObjectMeta, usageRecordsAnnotation, test.version)
		}
		snapshot, err := newUsageSnapshot(object)
		if (err == nil) != test.isRead || snapshot.keys[id] != test.key {
			t.Errorf("%s: keys %v, %v", name, snapshot.keys, err)
		}
		if err != nil && (report.CodeOf(err) != report.Refused || report.RemedyOf(err) == "") {
			t.Errorf("%s: %v (code %d, remedy %q)", name, err, report.CodeOf(err), report.RemedyOf(err))
		}
	}
}

func TestUsageRecordsRoundTrip(t *testing.T) {
	key := certtest.NewKey(t)
	fingerprint := enrollment.Fingerprint(&key.PublicKey)
	if short := encodeFingerprint(fingerprint); len(short) != 43 || decodeFingerprint(short) != fingerprint {
		t.Errorf("%s is noted as %s and read as %s", fingerprint, short, decodeFingerprint(short))
	}
	if whole := maxUsageRecords * (32 + 43 + 8); whole > 1<<20 {
		t.Errorf("%d notes have %d bytes, and an object may have %d", maxUsageRecords, whole, 1<<20)
	}
}
