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
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(parsed) {
		return nil, nil
	}
	c := &checker{file: file, set: set, rules: rules}
	for _, group := range parsed.Comments {
		c.comment(group)
	}
	ast.Inspect(parsed, c.declarations)
	return c.findings, nil
}

// checker collects the findings of one file.
type checker struct {
	file     string
	set      *token.FileSet
	rules    []rule
	findings []finding
}

func (c *checker) add(pos token.Pos, r rule, word, where string) {
	c.findings = append(c.findings, finding{
		file:    c.file,
		line:    c.set.Position(pos).Line,
		word:    word,
		where:   where,
		instead: r.instead,
	})
}

// comment checks a comment group. Its lines are joined, because phrases continue on the next line.
func (c *checker) comment(group *ast.CommentGroup) {
	var text strings.Builder
	var starts []int // offset of each comment in text
	for _, comment := range group.List {
		starts = append(starts, text.Len())
		text.WriteString(commentText(comment.Text))
		text.WriteByte(' ')
	}
	for _, r := range c.rules {
		if r.places&inComment == 0 {
			continue
		}
		for _, match := range r.pattern.FindAllStringIndex(text.String(), -1) {
			i := len(starts) - 1
			for starts[i] > match[0] {
				i--
			}
			c.add(group.List[i].Pos(), r, text.String()[match[0]:match[1]], "a comment")
		}
	}
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
		words := splitName(name.Name)
		for _, r := range c.rules {
			if r.places&inIdentifier == 0 {
				continue
			}
			if word := r.pattern.FindString(words); word != "" {
				c.add(name.Pos(), r, word, "identifier "+name.Name)
			}
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
			c.add(f.Doc.Pos(), r, f.Name.Name+" "+word, "a function's comment")
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
