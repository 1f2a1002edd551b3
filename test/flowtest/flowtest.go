// SPDX-License-Identifier: Apache-2.0

// Package flowtest contains what the tests of joins, leaves and the service share.
package flowtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// ListTree returns a line for every path below root, with mode, content or link target.
func ListTree(t *testing.T, root string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(root, func(p string, entry fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		line := strings.TrimPrefix(p, root) + " " + info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			line = strings.TrimPrefix(p, root) + " -> " + target
		case info.Mode().IsRegular():
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += " " + strings.TrimSpace(string(content))
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// NoError ends the test if err is not nil.
func NoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// UUID is a token that no server accepts.
const UUID = "0b4fbd3e-0f8a-4e2e-9a39-a4d4c1e5ba45"

// EncodeUserData returns encoded user data for a server.
func EncodeUserData(t *testing.T, endpoint, pool, hash string) []byte {
	t.Helper()
	userData, err := ignition.NewUserData(ignition.Values{
		Endpoint: endpoint,
		Token:    []byte(UUID),
		CA:       certtest.NewCA(t, "ca").PEM,
		NodePool: pool,
		Hash:     hash,
	})
	if err != nil {
		t.Fatal(err)
	}
	content, err := userData.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// WriteTempFile writes a file of the test and returns its path.
func WriteTempFile(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// EncodeJoinToken returns an encoded join token that was created the given time ago.
func EncodeJoinToken(t *testing.T, ca, userData []byte, ago time.Duration) []byte {
	t.Helper()
	made, _, err := enrollment.New(enrollment.Options{
		NodeName: "worker-7", ClusterCA: ca, Labels: []string{"rack=r1", "zone=z1"},
		Taints: []string{"dedicated=gpu:NoSchedule", "x:NoExecute"}, UserData: userData,
		Lifetime: time.Hour,
	}, time.Now().Add(-ago))
	if err != nil {
		t.Fatal(err)
	}
	content, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// WriteTree creates files below a root, with their directories.
func WriteTree(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(root, name)
		NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))     //nolint:gosec // as on a host
		NoError(t, os.WriteFile(p, []byte(content), 0o755)) //nolint:gosec // as on a host
	}
}

// Events is a Sink that formats each event as one line.
type Events []string

// Emit appends the event.
func (e *Events) Emit(event report.Event) {
	*e = append(*e, strings.TrimSpace(fmt.Sprintf("%s %s %s", event.Kind, event.Step, event.Message)))
}

// WriteFileWithTime writes a file with the mode and modification time and returns its path.
func WriteFileWithTime(t *testing.T, dir, name string, mode os.FileMode, when time.Time) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
	return path
}
