// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// A finding is a word that a rule does not permit.
type finding struct {
	file    string
	line    int
	word    string
	where   string
	instead string
}

// String formats the finding for editors, which expect FILE:LINE: TEXT.
func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %q in %s: write %s", f.file, f.line, f.word, f.where, f.instead)
}

// check returns the findings in a file. Generated files have none.
func check(file string, source []byte, rules []rule) ([]finding, error) {
	c := &checker{file: file, set: token.NewFileSet(), rules: rules, checked: map[*ast.BasicLit]bool{}}
	switch {
	case strings.HasSuffix(file, ".go"):
		err := c.goFile(source)
		return c.findings, err
	case strings.HasSuffix(file, ".md"):
		c.markdown(string(source))
	case strings.HasSuffix(file, ".yaml"), strings.HasSuffix(file, ".yml"):
		c.yaml(string(source))
	default:
		c.hashComments(string(source))
	}
	return c.findings, nil
}

// checker collects the findings of one file.
type checker struct {
	file     string
	set      *token.FileSet
	rules    []rule
	checked  map[*ast.BasicLit]bool // literals that were checked, or must not be
	findings []finding
}

func (c *checker) goFile(source []byte) error {
	parsed, err := parser.ParseFile(c.set, c.file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(parsed) {
		return err
	}
	for _, group := range parsed.Comments {
		c.comment(group)
	}
	ast.Inspect(parsed, c.declarations)
	if strings.HasSuffix(c.file, "_test.go") {
		ast.Inspect(parsed, c.labels) // other literals in tests are mostly inputs
	} else {
		ast.Inspect(parsed, c.messages)
	}
	return nil
}

func (c *checker) line(node ast.Node) int { return c.set.Position(node.Pos()).Line }

func (c *checker) add(line int, r rule, word, where string) {
	c.findings = append(c.findings, finding{
		file:    c.file,
		line:    line,
		word:    word,
		where:   where,
		instead: r.instead,
	})
}

// comment checks a comment group. Its lines are joined, because phrases continue on the next line.
func (c *checker) comment(group *ast.CommentGroup) {
	var pieces []piece
	for _, comment := range group.List {
		pieces = append(pieces, piece{c.line(comment), commentText(comment.Text) + " "})
	}
	c.text(pieces, inComment, "a comment")
}

// directive matches comments for tools. The explanation of nolint directives is text.
var directive = regexp.MustCompile(`^//([a-z]+:[a-z]|extern |export |line )`)

func commentText(comment string) string {
	if strings.HasPrefix(comment, "//nolint") {
		_, text, _ := strings.Cut(comment[len("//"):], "//")
		return strings.TrimSpace(text)
	}
	if directive.MatchString(comment) {
		return ""
	}
	comment = strings.TrimSuffix(strings.TrimPrefix(comment, "/*"), "*/")
	return strings.Join(strings.Fields(strings.TrimPrefix(comment, "//")), " ")
}

// declarations checks the names that a node declares.
func (c *checker) declarations(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.FuncDecl:
		c.function(n)
		c.identifiers(n.Name)
	case *ast.TypeSpec:
		c.identifiers(n.Name)
	case *ast.ValueSpec:
		c.identifiers(n.Names...)
	case *ast.Field:
		c.identifiers(n.Names...)
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			c.expressions(n.Lhs...)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			c.expressions(n.Key, n.Value)
		}
	}
	return true
}

func (c *checker) expressions(expressions ...ast.Expr) {
	for _, expression := range expressions {
		if name, ok := expression.(*ast.Ident); ok {
			c.identifiers(name)
		}
	}
}

func (c *checker) identifiers(names ...*ast.Ident) {
	for _, name := range names {
		c.name(c.line(name), name.Name)
	}
}

// name checks the words of a declared name.
func (c *checker) name(line int, name string) {
	words := splitName(name)
	for _, r := range c.rules {
		if r.places&inIdentifier == 0 {
			continue
		}
		if word := r.pattern.FindString(words); word != "" {
			c.add(line, r, word, "identifier "+name)
		}
	}
}

// function checks the beginning of a function's doc comment.
func (c *checker) function(f *ast.FuncDecl) {
	text, ok := strings.CutPrefix(f.Doc.Text(), f.Name.Name+" ")
	if !ok {
		return
	}
	for _, r := range c.rules {
		if r.places&inFunction == 0 {
			continue
		}
		if word := r.pattern.FindString(text); word != "" {
			c.add(c.line(f.Doc), r, f.Name.Name+" "+word, "a function's comment")
		}
	}
}

// nameWord matches a word of a name: an acronym, a capitalized word, or lower-case letters.
var nameWord = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// acronymEnd matches the end of an acronym before a capitalized word, as in "HTTPServer".
var acronymEnd = regexp.MustCompile(`([A-Z])([A-Z][a-z]{2})`)

// splitName returns the words of a name in lower case, separated by blanks.
func splitName(name string) string {
	name = acronymEnd.ReplaceAllString(name, "${1}_$2")
	return strings.ToLower(strings.Join(nameWord.FindAllString(name, -1), " "))
}
