// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"path"
	"text/template"
)

//go:embed all:files all:units
var sources embed.FS

// source holds the parts of a payload before they are encoded.
type source struct {
	files []sourceFile
	units []Unit
}

type sourceFile struct {
	file
	content []byte
}

// load renders all templates.
func load(in Inputs) (*source, error) {
	s := &source{}
	for _, f := range files() {
		content, err := render("files"+f.path, in)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, sourceFile{f, content})
	}
	for _, u := range units() {
		out := Unit{Name: u.name}
		if u.state != unset {
			on := u.state == enabled
			out.Enabled = &on
		}
		if u.hasContents {
			content, err := render(path.Join("units", u.name), in)
			if err != nil {
				return nil, err
			}
			text := string(content)
			out.Contents = &text
		}
		for _, name := range u.dropins {
			content, err := render(path.Join("units", u.name+".d", name), in)
			if err != nil {
				return nil, err
			}
			out.Dropins = append(out.Dropins, Dropin{Name: name, Contents: string(content)})
		}
		s.units = append(s.units, out)
	}
	return s, nil
}

func render(name string, in Inputs) ([]byte, error) {
	text, err := sources.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading the payload's template %s: %w", name, err)
	}
	t, err := template.New(name).Funcs(template.FuncMap{"releaseImage": in.releaseImage}).Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("parsing the payload's template %s: %w", name, err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, in); err != nil {
		return nil, fmt.Errorf("filling the payload's template %s in: %w", name, err)
	}
	return b.Bytes(), nil
}

// releaseImage returns a pull spec of the release that the registry of the test environment does
// not contain.
func (in Inputs) releaseImage(name string) string {
	return fmt.Sprintf("%s@sha256:%x", in.ReleaseRepository, sha256.Sum256([]byte(name)))
}
