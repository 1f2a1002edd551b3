// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
)

// A piece is a part of a text that continues in the next piece.
type piece struct {
	line int
	text string
}

// text checks a text whose phrases can continue in the next piece.
func (c *checker) text(pieces []piece, p place, where string) {
	var text strings.Builder
	var starts []int // offset of each piece in text
	for _, piece := range pieces {
		starts = append(starts, text.Len())
		text.WriteString(piece.text)
	}
	for _, r := range c.rules {
		if r.places&p == 0 {
			continue
		}
		for _, match := range r.pattern.FindAllStringIndex(text.String(), -1) {
			i := len(starts) - 1
			for starts[i] > match[0] {
				i--
			}
			c.add(pieces[i].line, r, text.String()[match[0]:match[1]], where)
		}
	}
}

// code matches code in a Markdown paragraph.
var code = regexp.MustCompile("`[^`]*`")

// markdown checks the paragraphs and table rows of a Markdown file. Code is not checked.
func (c *checker) markdown(source string) {
	var paragraph []piece
	isCode := false
	for i, line := range strings.Split(source, "\n") {
		line = strings.TrimSpace(line)
		isFence, isRow := strings.HasPrefix(line, "```"), strings.HasPrefix(line, "|")
		if isFence || isRow || line == "" {
			c.text(paragraph, inDocument, "a document")
			paragraph = nil
		}
		if isFence {
			isCode = !isCode
		}
		if isFence || isCode || line == "" {
			continue
		}
		paragraph = append(paragraph, piece{i + 1, code.ReplaceAllString(line, "`") + " "})
	}
	c.text(paragraph, inDocument, "a document")
}

// hashComment matches a comment of a shell script, a YAML file, a unit or a spec file.
var hashComment = regexp.MustCompile(`^(.*\s)?#+(?:\s+(.*))?$`)

// hashComments checks the comments of a file in which they begin with "#".
func (c *checker) hashComments(source string) {
	var group []piece
	flush := func() {
		c.text(group, inComment, "a comment")
		group = nil
	}
	for i, line := range strings.Split(source, "\n") {
		match := hashComment.FindStringSubmatch(line)
		if match == nil {
			flush()
			continue
		}
		if strings.TrimSpace(match[1]) != "" {
			flush() // a comment behind code is a text of its own
		}
		group = append(group, piece{i + 1, match[2] + " "})
	}
	flush()
}

// yaml checks the comments, keys and values of a YAML file.
func (c *checker) yaml(source string) {
	var lines []piece
	for i, line := range strings.Split(source, "\n") {
		lines = append(lines, piece{i + 1, strings.TrimLeft(line, " #") + " "})
	}
	c.text(lines, inComment|inMessage, "a YAML file")
}
