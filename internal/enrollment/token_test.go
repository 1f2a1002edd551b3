// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

const userDataText = `{"ignition":{"version":"3.2.0"},"canary":"STUB-CANARY"}`

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func fullOptions(t testing.TB) Options {
	t.Helper()
	return Options{
		NodeName: "worker-7.example.com", ClusterCA: append(certtest.NewCA(t, "ca").PEM, certtest.NewCA(t, "ca").PEM...),
		Addresses: []netip.Prefix{
			netip.MustParsePrefix("192.0.2.7/32"),
			netip.MustParsePrefix("2001:db8::7/128"),
			netip.MustParsePrefix("198.51.100.0/24"),
		},
		Labels: []string{"example.com/rack=r1", "plain="}, Taints: []string{"dedicated=gpu:NoSchedule", "alone:NoExecute"},
		UserData: []byte(userDataText),
		Networks: []ClusterNetwork{
			{Use: Pods, CIDR: netip.MustParsePrefix("10.132.0.0/14")},
			{Use: Join, CIDR: netip.MustParsePrefix("fd98::/64")},
		},
	}
}

func newToken(t testing.TB, desired Options) (*Token, *Enrollment) {
	t.Helper()
	token, enrollment, err := New(desired, noon)
	if err != nil {
		t.Fatal(err)
	}
	return token, enrollment
}

func TestWrittenFilesParseUnchanged(t *testing.T) {
	for name, desired := range map[string]Options{
		"full":  fullOptions(t),
		"least": {NodeName: "worker-7", ClusterCA: certtest.NewCA(t, "ca").PEM},
	} {
		token, enrollment := newToken(t, desired)
		dir := t.TempDir()
		files := newFiles(t, dir, token, enrollment)
		if err := Create(files...); err != nil {
			t.Fatal(err)
		}
		tokenPath, enrollmentPath := Paths(dir, token.NodeName)
		for path, mode := range map[string]os.FileMode{tokenPath: 0o600, enrollmentPath: 0o644} {
			if info, err := os.Stat(path); err != nil || info.Mode()&^0o022 != mode {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
		readToken, err := ParseToken(readFile(t, tokenPath))
		if err != nil {
			t.Fatal(err)
		}
		readEnrollment, err := ParseEnrollment(readFile(t, enrollmentPath))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprintf("%#v", *(*plainToken)(token)), fmt.Sprintf("%#v", *(*plainToken)(readToken)); a != b {
			t.Errorf("%s: join token\n%s\n%s", name, a, b)
		}
		if a, b := fmt.Sprintf("%#v", *enrollment), fmt.Sprintf("%#v", *readEnrollment); a != b {
			t.Errorf("%s: enrollment\n%s\n%s", name, a, b)
		}
		if Fingerprint(token.key.Public()) != Fingerprint(enrollment.key) {
			t.Errorf("%s: two keys", name)
		}
		if strings.Contains(string(readFile(t, enrollmentPath)), "PRIVATE") ||
			strings.Contains(string(readFile(t, enrollmentPath)), "CANARY") {
			t.Errorf("%s: a secret is in the enrollment", name)
		}
		if err := Create(files...); !errors.Is(err, os.ErrExist) {
			t.Errorf("%s: written over what is there: %v", name, err)
		}
	}
}

// newFiles returns the files of a token.
func newFiles(t *testing.T, dir string, token *Token, enrollment *Enrollment) []File {
	t.Helper()
	public, err := ManifestFile(dir, enrollment)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := TokenFile(dir, token)
	if err != nil {
		t.Fatal(err)
	}
	return []File{public, secret}
}

// plainToken is a Token without the methods that hide the secrets.
type plainToken Token

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestCreateRemovesOtherFilesIfOneExists(t *testing.T) {
	token, enrollment := newToken(t, fullOptions(t))
	for _, suffix := range []string{TokenSuffix, ".ign"} {
		dir := t.TempDir()
		inTheWay := filepath.Join(dir, "tokens", token.NodeName+suffix)
		if err := os.Mkdir(filepath.Dir(inTheWay), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(inTheWay, []byte("an earlier secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		files := append(newFiles(t, dir, token, enrollment), File{Path: HostPath(dir, token.NodeName, ".ign")})
		if err := Create(files...); !errors.Is(err, os.ErrExist) {
			t.Errorf("%s: error %v", suffix, err)
		}
		left, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil || len(left) != 1 || string(readFile(t, inTheWay)) != "an earlier secret" {
			t.Errorf("%s: the files are %q (%v), or the earlier file was replaced", suffix, left, err)
		}
	}
}

// No formatting of a token, and no masked text, contains its secrets.
func TestFormattingHidesSecrets(t *testing.T) {
	token, _ := newToken(t, fullOptions(t))
	content, err := token.Encode()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), "-----BEGIN PRIVATE KEY-----\n")
	key, _, found := strings.Cut(strings.TrimSpace(rest), "\n")
	if !found || len(key) < 40 {
		t.Fatalf("no key in the join token")
	}
	shown, err := ParseSummary(content, noon)
	if err != nil {
		t.Fatal(err)
	}
	inJSON, err := json.Marshal(map[string]any{"pointer": token, "value": *token, "shown": shown})
	if err != nil {
		t.Fatal(err)
	}
	texts := append([]string{string(inJSON)}, redact.Text(string(content)))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		texts = append(texts, fmt.Sprintf(verb, token), fmt.Sprintf(verb, *token))
	}
	for _, text := range texts[:1] {
		if strings.Contains(text, "CANARY") {
			t.Errorf("the user data is in %s", text)
		}
	}
	for _, text := range texts {
		if strings.Contains(text, key) || strings.Contains(text, fmt.Sprintf("%x", []byte(token.key)[:16])) {
			t.Errorf("the key is in %s", text)
		}
	}
	for _, text := range texts[2:] {
		if strings.Contains(text, "CANARY") || !strings.Contains(text, token.ID) {
			t.Errorf("printed as %s", text)
		}
	}
}

func TestLifetimes(t *testing.T) {
	for name, test := range map[string]struct {
		lifetime time.Duration
		userData []byte
		want     time.Duration
		refused  string
	}{
		"default":                 {0, nil, 24 * time.Hour, ""},
		"default with user data":  {0, []byte("{}"), 5 * time.Hour, ""},
		"requested":               {48 * time.Hour, nil, 48 * time.Hour, ""},
		"short with user data":    {time.Hour, []byte("{}"), time.Hour, ""},
		"too long with user data": {5*time.Hour + time.Second, []byte("{}"), 0, "because the user data expires"},
		"too long":                {31 * 24 * time.Hour, nil, 0, "1 minute to 30 days"},
		"too short":               {time.Second, nil, 0, "1 minute to 30 days"},
		"negative":                {-time.Hour, nil, 0, "1 minute to 30 days"},
		"user data is no text":    {0, []byte{0xff}, 0, "not valid UTF-8 text"},
	} {
		desired := Options{
			NodeName:  "a",
			ClusterCA: certtest.NewCA(t, "ca").PEM,
			Lifetime:  test.lifetime,
			UserData:  test.userData,
		}
		token, enrollment, err := New(desired, noon)
		if test.refused != "" {
			if err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || !token.Expires.Equal(noon.Add(test.want)) || !enrollment.Expires.Equal(token.Expires) {
			t.Errorf("%s: %v, %v", name, token, err)
			continue
		}
		last := token.Expires.Add(-time.Second)
		if token.CheckExpiry(last) != nil || enrollment.CheckExpiry(last) != nil ||
			!errors.Is(token.CheckExpiry(token.Expires), ErrExpired) ||
			!errors.Is(enrollment.CheckExpiry(token.Expires), ErrExpired) {
			t.Errorf("%s: %v, %v", name, token.CheckExpiry(last), enrollment.CheckExpiry(token.Expires))
		}
		if now, later := enrollment.CheckExpiry(token.Expires),
			enrollment.CheckExpiry(token.Expires.Add(time.Minute)); now.Error() != later.Error() {
			t.Errorf("%s: %v, and a minute later %v", name, now, later)
		}
	}
}
