// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Administrators search the page for a message. Each part of a quoted message, between the variable
// parts, must occur in the code.
func TestTroubleshootingQuotesMessages(t *testing.T) {
	content, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	messages := literals(t, "../../cmd", "../../internal")
	quoted := regexp.MustCompile("`([^`]+)`")
	isTable, count := false, 0
	for line := range strings.Lines(string(content)) {
		isTable = strings.HasPrefix(line, "| message |") || isTable && strings.HasPrefix(line, "|")
		cells := strings.Split(line, "|")
		if !isTable || len(cells) < 4 {
			continue
		}
		for _, match := range quoted.FindAllStringSubmatch(cells[1], -1) {
			count++
			for part := range strings.SplitSeq(match[1], "…") {
				if !strings.Contains(messages, strings.TrimSpace(part)) {
					t.Errorf("no message contains %q, which the page quotes as %s", strings.TrimSpace(part), match[0])
				}
			}
		}
	}
	if count < 100 {
		t.Errorf("the page quotes %d messages, want at least 100", count)
	}
}

// literals returns the string literals of all Go files in the directories, without those of tests.
// The literals of a sum are joined, with a line break for each other operand.
func literals(t *testing.T, directories ...string) string {
	t.Helper()
	var all strings.Builder
	for _, directory := range directories {
		err := filepath.WalkDir(directory, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool {
				switch n := node.(type) {
				case *ast.BinaryExpr:
					all.WriteString(sum(n) + "\n")
				case *ast.BasicLit:
					all.WriteString(sum(n) + "\n")
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

func sum(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.BinaryExpr:
		return sum(e.X) + sum(e.Y)
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	}
	return "\n"
}
