// SPDX-License-Identifier: Apache-2.0

// Package remedies finds the remedies in the source of the project, for tests.
package remedies

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Placeholder replaces the part of a remedy that is known only at run time.
const Placeholder = "…"

// Remedy is a remedy in the source.
type Remedy struct {
	At   string // its position
	Text string
}

// Below returns the remedies in the source files below directories. It fails if it finds fewer than
// the project has.
func Below(t *testing.T, roots ...string) []Remedy {
	t.Helper()
	packages := map[string][]*ast.File{}
	fset := token.NewFileSet()
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(fset, path, nil, 0)
			packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var all []Remedy
	for _, files := range packages {
		s := sourcePackage{
			fset:        fset,
			remedyParam: map[string]int{},
			values:      map[string]ast.Expr{},
			functions:   map[string]*ast.FuncDecl{},
			added:       map[ast.Node]bool{},
		}
		for _, file := range files {
			ast.Inspect(file, s.collectDecls)
		}
		for _, file := range files {
			ast.Inspect(file, s.addRemedies)
		}
		all = append(all, s.found...)
	}
	if len(all) < 300 {
		t.Fatalf("only %d remedies were found: the search is broken", len(all))
	}
	return all
}

// sourcePackage is one package: the functions with a remedy parameter, the values of its names,
// and its remedies.
type sourcePackage struct {
	fset        *token.FileSet
	remedyParam map[string]int // index of the parameter, by function name
	values      map[string]ast.Expr
	// functions with a single result that is a string or a remedy, by name.
	functions map[string]*ast.FuncDecl
	added     map[ast.Node]bool // values and functions whose remedies were added
	found     []Remedy
}

func isRemedyName(name string) bool { return strings.EqualFold(name, "remedy") }

// collectDecls records functions with a parameter called remedy, and constants.
func (s *sourcePackage) collectDecls(node ast.Node) bool {
	note := func(name string, of *ast.FuncType) {
		at := 0
		for _, field := range of.Params.List {
			for _, parameter := range field.Names {
				if isRemedyName(parameter.Name) {
					s.remedyParam[name] = at
				}
				at++
			}
		}
	}
	switch node := node.(type) {
	case *ast.FuncDecl:
		note(node.Name.Name, node.Type)
		if results := node.Type.Results; results != nil && len(results.List) == 1 && node.Body != nil {
			if kind := lastName(results.List[0].Type); kind == "string" || kind == "Remedy" {
				s.functions[node.Name.Name] = node
			}
		}
	case *ast.AssignStmt:
		for i, value := range node.Rhs {
			if function, ok := value.(*ast.FuncLit); ok && len(node.Lhs) == len(node.Rhs) {
				if name, ok := node.Lhs[i].(*ast.Ident); ok {
					note(name.Name, function.Type)
				}
			}
			if name, ok := node.Lhs[i%len(node.Lhs)].(*ast.Ident); ok && node.Tok == token.DEFINE && s.values[name.Name] == nil {
				s.values[name.Name] = value
			}
		}
	case *ast.ValueSpec:
		for i, name := range node.Names {
			if i < len(node.Values) {
				s.values[name.Name] = node.Values[i]
			}
		}
	}
	return true
}

// addRemedies adds the remedies of a node.
func (s *sourcePackage) addRemedies(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.KeyValueExpr:
		if key, ok := node.Key.(*ast.Ident); ok && isRemedyName(key.Name) {
			s.add(node.Value)
		}
	case *ast.ValueSpec:
		for i, name := range node.Names {
			if i < len(node.Values) && isRemedyName(name.Name) {
				s.add(node.Values[i])
			}
		}
	case *ast.AssignStmt:
		for i, left := range node.Lhs {
			if len(node.Lhs) == len(node.Rhs) && isRemedyName(lastName(left)) {
				s.add(node.Rhs[i])
			}
		}
	case *ast.FuncDecl:
		s.addResults(node)
	case *ast.CallExpr:
		name := lastName(node.Fun)
		at, takes := s.remedyParam[name]
		switch {
		case name == "Fail" && len(node.Args) > 2:
			at, takes = 1, true
		case slices.Contains([]string{"Warn", "Wait", "Again"}, name) && len(node.Args) > 1:
			at, takes = 1, true
		case name == "NewPattern" && len(node.Args) == 3: // of package servicelog
			at, takes = 2, true
		case name == "Remedy" && len(node.Args) == 1:
			at, takes = 0, true
		case name == "Remedyf":
			s.add(node)
		}
		if takes && at < len(node.Args) {
			s.add(node.Args[at])
		}
	}
	return true
}

// addResults adds the values that a function returns as a result called remedy.
func (s *sourcePackage) addResults(function *ast.FuncDecl) {
	if function.Type.Results == nil || function.Body == nil {
		return
	}
	place, at := 0, -1
	for _, field := range function.Type.Results.List {
		for _, result := range field.Names {
			if isRemedyName(result.Name) {
				at = place
			}
			place++
		}
	}
	if isRemedyName(function.Name.Name) {
		at = 0
	}
	ast.Inspect(function.Body, func(node ast.Node) bool {
		if r, ok := node.(*ast.ReturnStmt); ok && at >= 0 && at < len(r.Results) {
			s.add(r.Results[at])
		}
		return true
	})
}

func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func (s *sourcePackage) add(e ast.Expr) {
	begins := true
	s.addCallResults(e, &begins)
	if text := s.text(e, 0); strings.Trim(text, Placeholder+" \n") != "" {
		s.found = append(s.found, Remedy{s.fset.Position(e.Pos()).String(), text})
	}
}

// addCallResults adds the values returned by functions of the package whose result begins a line of
// a remedy; begins reports whether e does.
func (s *sourcePackage) addCallResults(e ast.Expr, begins *bool) {
	switch e := e.(type) {
	case *ast.Ident:
		if value := s.values[e.Name]; value != nil && *begins && !s.added[value] {
			s.added[value] = true
			s.add(value)
		}
	case *ast.BinaryExpr:
		s.addCallResults(e.X, begins)
		s.addCallResults(e.Y, begins)
		return
	case *ast.CallExpr:
		function := s.functions[lastName(e.Fun)]
		if !*begins || function == nil || s.added[function] {
			break
		}
		s.added[function] = true
		ast.Inspect(function.Body, func(node ast.Node) bool {
			if r, ok := node.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
				s.add(r.Results[0])
			}
			return true
		})
	case *ast.BasicLit:
		*begins = strings.HasSuffix(e.Value, `\n"`)
		return
	}
	*begins = false
}

var (
	verbs  = regexp.MustCompile(`%(\[[0-9]\])?[-+# 0-9.]*[a-z]`)
	groups = regexp.MustCompile(`\$[0-9]`)
)

// text returns the value of an expression, with a placeholder for parts that are not
// constant.
func (s *sourcePackage) text(e ast.Expr, depth int) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			return Placeholder
		}
		return verbs.ReplaceAllString(groups.ReplaceAllString(text, Placeholder), Placeholder)
	case *ast.ParenExpr:
		return s.text(e.X, depth)
	case *ast.BinaryExpr:
		return s.text(e.X, depth) + s.text(e.Y, depth)
	case *ast.Ident:
		if value := s.values[e.Name]; value != nil && depth < 5 {
			return s.text(value, depth+1)
		}
	case *ast.CallExpr:
		if name := lastName(e.Fun); len(e.Args) > 0 && slices.Contains([]string{"Sprintf", "Remedy", "Remedyf"}, name) {
			return strings.ReplaceAll(verbs.ReplaceAllString(s.text(e.Args[0], depth), Placeholder), "%%", "%")
		}
	}
	return Placeholder
}
