// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

// The settings on documented command lines are valid, too.
func TestDocumentedCommands(t *testing.T) {
	agent().CheckDocumentedCommands(t, "../..", 20, func(c *cobra.Command) error {
		if c.Flags().Lookup("user-data") == nil {
			return nil
		}
		_, err := config.Load(config.Source{File: "/nonexistent/config.yaml", Flags: c.Flags()})
		return err
	})
}

// The table of settings in the document lists exactly the existing settings.
func TestBridgeDocumentListsSettings(t *testing.T) {
	content, err := os.ReadFile("../../docs/br-ex.md")
	if err != nil {
		t.Fatal(err)
	}
	c := &cobra.Command{}
	settingFlags(c, allSettings()...)
	rows := regexp.MustCompile("(?m)^\\| `--([a-z-]+)[^|]*\\| `([A-Za-z]+)`").FindAllStringSubmatch(string(content), -1)
	if len(rows) < 4 {
		t.Errorf("only %d rows were found", len(rows))
	}
	for _, row := range rows {
		if c.Flags().Lookup(row[1]) == nil {
			t.Errorf("there is no flag --%s", row[1])
		}
		file := filepath.Join(t.TempDir(), "config.yaml")
		value := map[string]string{"verifyReach": "[a:1]", "networkTimeout": "60s", "skip": "[network]"}[row[2]]
		text := "apiVersion: hcp-node-agent.io/v1alpha1\nkind: JoinConfig\n" + row[2] + ": " + value + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(config.Source{File: file}); err != nil {
			t.Errorf("%s: %v", row[2], err)
		}
	}
}
