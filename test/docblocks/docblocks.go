// SPDX-License-Identifier: Apache-2.0

// Package docblocks finds the code blocks of the documentation, for tests that run them.
package docblocks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Shell is the language of blocks with commands.
const Shell = "sh"

// Block is a code block of a page.
type Block struct {
	Page     string // its path in the repository
	Line     int    // the line of its fence
	Language string
	File     string // the second word of the fence: the name of the file that the block shows
	Text     string // without the indentation of the fence
}

// String returns the position of the block.
func (b Block) String() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

var fence = regexp.MustCompile("^( *)```([^` ]*) *([^` ]*)$")

// Find returns the code blocks of README.md, docs, examples and deploy, page by page. root is the directory of the
// repository. The generated references are not read.
func Find(root string) ([]Block, error) {
	var all []Block
	for _, top := range []string{"README.md", "docs", "examples", "deploy"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			isReference := strings.HasPrefix(entry.Name(), "reference")
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" || isReference {
				return err
			}
			page, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			blocks, err := read(path, page)
			all = append(all, blocks...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("finding the code blocks: %w", err)
		}
	}
	return all, nil
}

// Of returns the blocks of one page in a language.
func Of(root, page, language string) ([]Block, error) {
	all, err := read(filepath.Join(root, page), page)
	if err != nil {
		return nil, fmt.Errorf("reading code blocks: %w", err)
	}
	var found []Block
	for _, block := range all {
		if block.Language == language {
			found = append(found, block)
		}
	}
	return found, nil
}

func read(path, page string) ([]Block, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var blocks []Block
	indentation, inBlock, number := "", false, 0
	for line := range strings.Lines(string(content)) {
		number++
		match := fence.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case match != nil && !inBlock:
			indentation = match[1]
			blocks = append(blocks, Block{Page: page, Line: number, Language: match[2], File: match[3]})
		case match == nil && inBlock:
			blocks[len(blocks)-1].Text += strings.TrimPrefix(line, indentation)
		}
		if match != nil {
			inBlock = !inBlock
		}
	}
	if inBlock {
		return nil, errors.New(page + ": a code block does not end")
	}
	return blocks, nil
}
