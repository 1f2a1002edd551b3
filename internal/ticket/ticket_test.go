package ticket

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

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const userDataText = `{"ignition":{"version":"3.2.0"},"canary":"STUB-CANARY"}`

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func fullOptions(t testing.TB) Options {
	t.Helper()
	return Options{
		NodeName: "worker-7.example.com", ClusterCA: append(certtest.NewCA(t, "ca").PEM, certtest.NewCA(t, "ca").PEM...),
		Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")},
		Labels:    []string{"example.com/rack=r1", "plain="}, Taints: []string{"dedicated=gpu:NoSchedule", "alone:NoExecute"},
		UserData: []byte(userDataText),
	}
}

func newToken(t testing.TB, wish Options) (*Token, *Enrollment) {
	t.Helper()
	ticket, claim, err := New(wish, noon)
	if err != nil {
		t.Fatal(err)
	}
	return ticket, claim
}

func TestWrittenFilesParseUnchanged(t *testing.T) {
	if APIVersion != report.APIVersion {
		t.Errorf("apiVersion %q, and the other documents have %q", APIVersion, report.APIVersion)
	}
	for name, wish := range map[string]Options{"full": fullOptions(t), "least": {NodeName: "worker-7", ClusterCA: certtest.NewCA(t, "ca").PEM}} {
		ticket, claim := newToken(t, wish)
		dir := t.TempDir()
		ticketPath, claimPath, err := Write(dir, ticket, claim)
		if err != nil {
			t.Fatal(err)
		}
		for path, mode := range map[string]os.FileMode{ticketPath: 0o600, claimPath: 0o644} {
			if info, err := os.Stat(path); err != nil || info.Mode()&^0o022 != mode {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
		readTicket, err := ParseToken(readFile(t, ticketPath))
		if err != nil {
			t.Fatal(err)
		}
		readClaim, err := ParseEnrollment(readFile(t, claimPath))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprintf("%#v", *(*plainToken)(ticket)), fmt.Sprintf("%#v", *(*plainToken)(readTicket)); a != b {
			t.Errorf("%s: ticket\n%s\n%s", name, a, b)
		}
		if a, b := fmt.Sprintf("%#v", *claim), fmt.Sprintf("%#v", *readClaim); a != b {
			t.Errorf("%s: claim\n%s\n%s", name, a, b)
		}
		if Fingerprint(ticket.key.Public()) != Fingerprint(claim.key) {
			t.Errorf("%s: two keys", name)
		}
		if strings.Contains(string(readFile(t, claimPath)), "PRIVATE") || strings.Contains(string(readFile(t, claimPath)), "CANARY") {
			t.Errorf("%s: a secret is in the claim", name)
		}
		if _, _, err := Write(dir, ticket, claim); !errors.Is(err, os.ErrExist) {
			t.Errorf("%s: written over what is there: %v", name, err)
		}
	}
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

func TestWriteRemovesEnrollmentIfTokenFails(t *testing.T) {
	ticket, claim := newToken(t, fullOptions(t))
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, ticket.NodeName+TokenSuffix)
	if err := os.WriteFile(inTheWay, []byte("an earlier ticket"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Write(dir, ticket, claim); !errors.Is(err, os.ErrExist) {
		t.Errorf("error %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || string(readFile(t, inTheWay)) != "an earlier ticket" {
		t.Errorf("%v, %v", entries, err)
	}
}

// No formatting of a token, and no masked support bundle, contains its secrets.
func TestFormattingHidesSecrets(t *testing.T) {
	ticket, _ := newToken(t, fullOptions(t))
	content, err := ticket.Encode()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), "-----BEGIN PRIVATE KEY-----\n")
	key, _, found := strings.Cut(strings.TrimSpace(rest), "\n")
	if !found || len(key) < 40 {
		t.Fatalf("no key in the ticket")
	}
	shown, err := ParseSummary(content, noon)
	if err != nil {
		t.Fatal(err)
	}
	inJSON, err := json.Marshal(map[string]any{"pointer": ticket, "value": *ticket, "shown": shown})
	if err != nil {
		t.Fatal(err)
	}
	texts := append([]string{string(inJSON)}, redact.Text(string(content)))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		texts = append(texts, fmt.Sprintf(verb, ticket), fmt.Sprintf(verb, *ticket))
	}
	for _, text := range texts[:1] {
		if strings.Contains(text, "CANARY") {
			t.Errorf("the stub is in %s", text)
		}
	}
	for _, text := range texts {
		if strings.Contains(text, key) || strings.Contains(text, fmt.Sprintf("%x", []byte(ticket.key)[:16])) {
			t.Errorf("the key is in %s", text)
		}
	}
	for _, text := range texts[2:] {
		if strings.Contains(text, "CANARY") || !strings.Contains(text, ticket.ID) {
			t.Errorf("printed as %s", text)
		}
	}
}

func TestLifetimes(t *testing.T) {
	for name, test := range map[string]struct {
		lifetime time.Duration
		stub     []byte
		want     time.Duration
		refused  string
	}{
		"default":            {0, nil, 24 * time.Hour, ""},
		"default with stub":  {0, []byte("{}"), 5 * time.Hour, ""},
		"asked for":          {48 * time.Hour, nil, 48 * time.Hour, ""},
		"short with stub":    {time.Hour, []byte("{}"), time.Hour, ""},
		"too long with stub": {5*time.Hour + time.Second, []byte("{}"), 0, "at most, as the stub's token is"},
		"too long":           {366 * 24 * time.Hour, nil, 0, "one minute to 365 days"},
		"too short":          {time.Second, nil, 0, "one minute to 365 days"},
		"negative":           {-time.Hour, nil, 0, "one minute to 365 days"},
		"stub is no text":    {0, []byte{0xff}, 0, "no text"},
	} {
		wish := Options{NodeName: "a", ClusterCA: certtest.NewCA(t, "ca").PEM, Lifetime: test.lifetime, UserData: test.stub}
		ticket, claim, err := New(wish, noon)
		if test.refused != "" {
			if err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || !ticket.Expires.Equal(noon.Add(test.want)) || !claim.Expires.Equal(ticket.Expires) {
			t.Errorf("%s: %v, %v", name, ticket, err)
			continue
		}
		last := ticket.Expires.Add(-time.Second)
		if ticket.CheckExpiry(last) != nil || claim.CheckExpiry(last) != nil || !errors.Is(ticket.CheckExpiry(ticket.Expires), ErrExpired) || !errors.Is(claim.CheckExpiry(ticket.Expires), ErrExpired) {
			t.Errorf("%s: %v, %v", name, ticket.CheckExpiry(last), claim.CheckExpiry(ticket.Expires))
		}
		if now, later := claim.CheckExpiry(ticket.Expires), claim.CheckExpiry(ticket.Expires.Add(time.Minute)); now.Error() != later.Error() {
			t.Errorf("%s: %v, and a minute later %v", name, now, later)
		}
	}
}
