// SPDX-License-Identifier: Apache-2.0

package waittest_test

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// minTimeout is the shortest timeout of a wait that a test may have.
const minTimeout = time.Minute

// No test depends on the speed of the machine: none sleeps, and none limits a wait to less than a minute.
// testdata/exceptions.txt contains the exceptions.
func TestNoWaitDependsOnSpeed(t *testing.T) {
	const root = "../.."
	allowed := readExceptions(t, "testdata/exceptions.txt")
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		if err == nil && entry.IsDir() && (name == "testdata" || name == "build" || path != root && name[0] == '.') {
			return filepath.SkipDir
		}
		relative, _ := filepath.Rel(root, path)
		isTest := strings.HasSuffix(name, "_test.go") || strings.HasPrefix(relative, "test/")
		if err != nil || entry.IsDir() || !isTest || filepath.Ext(name) != ".go" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range findWaits(t, relative, string(content)) {
			key := relative + " " + found.function
			if used[key] = true; !allowed[key] {
				t.Errorf("%s: %s %s; wait for an event with package waittest", found.position, found.function, found.problem)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key := range allowed {
		if !used[key] {
			t.Errorf("testdata/exceptions.txt: %s is not needed", key)
		}
	}
}

// readExceptions returns the files and functions of the lines FILE FUNCTION REASON.
func readExceptions(t *testing.T, name string) map[string]bool {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	exceptions := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 3 {
			t.Fatalf("%s: %q has no reason", name, line)
		}
		exceptions[fields[0]+" "+fields[1]] = true
	}
	return exceptions
}

// foundWait is a sleep, or a wait with a short timeout.
type foundWait struct {
	position token.Position
	function string
	problem  string
}

// timeoutArguments are the functions whose argument limits a wait, with its index.
var timeoutArguments = map[string]int{
	"context.WithTimeout": 1, "context.WithTimeoutCause": 1, "time.After": 0, "time.NewTimer": 0,
	"wait.PollUntilContextTimeout": 2, "waittest.UntilWithin": 1,
}

var deadlineName = regexp.MustCompile(`(?i)deadline|limit|^end$`)

// findWaits returns the waits of a file that depend on the speed of the machine. Those within synctest.Test do not.
func findWaits(t *testing.T, name, content string) []foundWait {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all []foundWait
	if file.Name.Name == "main" && !strings.HasSuffix(name, "_test.go") {
		return nil // a program, such as one that stands in for another
	}
	for _, declaration := range file.Decls {
		function := "-"
		if f, isFunction := declaration.(*ast.FuncDecl); isFunction {
			function = f.Name.Name
		}
		add := func(node ast.Node, format string, args ...any) {
			all = append(all, foundWait{files.Position(node.Pos()), function, fmt.Sprintf(format, args...)})
		}
		ast.Inspect(declaration, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.SelectStmt:
				return !endsWithContext(n) // the context limits the wait
			case *ast.AssignStmt:
				if target, isName := n.Lhs[0].(*ast.Ident); isName && deadlineName.MatchString(target.Name) {
					if limit := timeFromNow(n.Rhs[0]); isShort(limit) {
						add(n, "waits at most %s", limit)
					}
				}
			case *ast.CallExpr:
				called := selector(n.Fun)
				if called == "synctest.Test" {
					return false
				}
				if called == "time.Sleep" {
					add(n, "sleeps")
				}
				if index, limits := timeoutArguments[called]; limits && isShort(duration(n.Args[index])) {
					add(n, "waits at most %s", duration(n.Args[index]))
				}
			}
			return true
		})
	}
	return all
}

func isShort(limit time.Duration) bool { return limit > 0 && limit < minTimeout }

// endsWithContext reports whether a select statement ends with a context.
func endsWithContext(statement *ast.SelectStmt) bool {
	return slices.ContainsFunc(statement.Body.List, func(clause ast.Stmt) bool {
		receive, isReceive := clause.(*ast.CommClause).Comm.(*ast.ExprStmt)
		if !isReceive {
			return false
		}
		from, isUnary := receive.X.(*ast.UnaryExpr)
		if !isUnary {
			return false
		}
		call, isCall := from.X.(*ast.CallExpr)
		if !isCall {
			return false
		}
		done, isSelector := call.Fun.(*ast.SelectorExpr)
		return isSelector && (selector(done) == "ctx.Done" || strings.HasSuffix(selector(done.X), ".ctx"))
	})
}

// timeFromNow returns the duration in time.Now().Add(duration), or 0.
func timeFromNow(expression ast.Expr) time.Duration {
	call, isCall := expression.(*ast.CallExpr)
	if !isCall || len(call.Args) != 1 {
		return 0
	}
	add, isSelector := call.Fun.(*ast.SelectorExpr)
	if !isSelector || add.Sel.Name != "Add" {
		return 0
	}
	now, isCall := add.X.(*ast.CallExpr)
	if !isCall || selector(now.Fun) != "time.Now" {
		return 0
	}
	return duration(call.Args[0])
}

var units = map[string]time.Duration{
	"time.Nanosecond": time.Nanosecond, "time.Microsecond": time.Microsecond, "time.Millisecond": time.Millisecond,
	"time.Second": time.Second, "time.Minute": time.Minute, "time.Hour": time.Hour,
}

// duration returns the value of a unit, or of a literal number times a unit. It returns 0 for all other expressions.
func duration(expression ast.Expr) time.Duration {
	switch e := expression.(type) {
	case *ast.SelectorExpr:
		return units[selector(e)]
	case *ast.BinaryExpr:
		literal, isLiteral := e.X.(*ast.BasicLit)
		if !isLiteral || e.Op != token.MUL {
			return 0
		}
		count, err := strconv.Atoi(literal.Value)
		if err != nil {
			return 0
		}
		return time.Duration(count) * duration(e.Y)
	}
	return 0
}

// selector returns "a.b" for such an expression, and "" for others.
func selector(expression ast.Expr) string {
	s, isSelector := expression.(*ast.SelectorExpr)
	if !isSelector {
		return ""
	}
	if of, isName := s.X.(*ast.Ident); isName {
		return of.Name + "." + s.Sel.Name
	}
	return ""
}

func TestFindWaits(t *testing.T) {
	const content = `package x
		func bad() {
			time.Sleep(interval)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			select {
			case <-done:
			case <-time.After(time.Second):
			}
			for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
			}
		}
		func good() {
			ctx, cancel := context.WithTimeout(t.Context(), waittest.Timeout)
			ended, cancel := context.WithTimeout(t.Context(), 0)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			expires := time.Now().Add(20 * time.Second)
			synctest.Test(t, func(t *testing.T) { time.Sleep(time.Second) })
		}`
	var got []string
	for _, found := range findWaits(t, "x.go", content) {
		got = append(got, fmt.Sprint(found.position.Line, " ", found.function, " ", found.problem))
	}
	want := []string{"3 bad sleeps", "4 bad waits at most 3s", "7 bad waits at most 1s", "9 bad waits at most 20s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
