// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// messages checks the string literals that contain blanks (messages, remedies, help), and descriptions
// in struct tags. Literals without blanks are names. Regular expressions are not checked.
func (c *checker) messages(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.Field:
		c.description(n.Tag)
	case *ast.CallExpr:
		if len(n.Args) > 0 && isPattern(n.Fun) {
			ast.Inspect(n.Args[0], c.seen)
		}
	case *ast.BinaryExpr:
		if n.Op == token.ADD {
			c.message(n)
		}
	case *ast.BasicLit:
		c.message(n)
	}
	return true
}

// labels checks the names of test cases: the names of subtests, keys of maps, fields called name, and first fields of
// unkeyed structs in a table.
func (c *checker) labels(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.Field:
		c.description(n.Tag)
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Run" && len(n.Args) == 2 {
			c.message(n.Args[0])
		}
	case *ast.CompositeLit:
		if n.Type == nil && len(n.Elts) > 1 {
			c.label(n.Elts[0])
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "name" {
			c.label(n.Value)
		}
		c.label(n.Key)
	}
	return true
}

// label checks an expression if it is a literal.
func (c *checker) label(expression ast.Expr) {
	if literal, ok := expression.(*ast.BasicLit); ok {
		c.message(literal)
	}
}

// description checks the name and the description in a struct tag.
func (c *checker) description(tag *ast.BasicLit) {
	if tag == nil {
		return
	}
	c.checked[tag] = true
	unquoted, err := strconv.Unquote(tag.Value)
	if err != nil {
		return // not valid Go, which the compiler reports
	}
	c.text([]piece{{c.line(tag), reflect.StructTag(unquoted).Get("doc")}}, inMessage, "a description")
	name, _, _ := strings.Cut(reflect.StructTag(unquoted).Get("json"), ",")
	c.name(c.line(tag), name)
}

// isPattern reports whether the first argument of a function is a regular expression.
func isPattern(function ast.Expr) bool {
	switch f := function.(type) {
	case *ast.Ident:
		return f.Name == "NewPattern"
	case *ast.SelectorExpr:
		return strings.HasPrefix(f.Sel.Name, "MustCompile") || f.Sel.Name == "NewPattern"
	}
	return false
}

// seen marks a node as checked.
func (c *checker) seen(node ast.Node) bool {
	if literal, ok := node.(*ast.BasicLit); ok {
		c.checked[literal] = true
	}
	return true
}

// message checks a literal or a sum of literals and other operands.
func (c *checker) message(expression ast.Expr) {
	pieces := c.pieces(expression)
	if slices.ContainsFunc(pieces, func(p piece) bool { return strings.Contains(p.text, " ") }) {
		c.text(pieces, inMessage, "a message")
	}
}

// pieces returns the lines of the literals that are not checked yet.
func (c *checker) pieces(expression ast.Expr) []piece {
	switch e := expression.(type) {
	case *ast.ParenExpr:
		return c.pieces(e.X)
	case *ast.BinaryExpr:
		return append(c.pieces(e.X), c.pieces(e.Y)...)
	case *ast.BasicLit:
		if e.Kind != token.STRING || c.checked[e] {
			return nil
		}
		c.checked[e] = true
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			return nil // not valid Go, which the compiler reports
		}
		if e.Value[0] == '"' {
			return []piece{{c.line(e), text}}
		}
		var lines []piece
		for i, line := range strings.SplitAfter(text, "\n") {
			lines = append(lines, piece{c.line(e) + i, line})
		}
		return lines
	}
	return []piece{{c.line(expression), "…"}}
}
