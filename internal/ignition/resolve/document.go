package resolve

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/coreos/ignition/v2/config/v3_6/types"
)

// Document is a config that refers to nothing outside itself.
type Document struct {
	// Raw is the config's own text where it had all in it, else JSON of the
	// newest spec. It is a credential if the config or what it refers to is.
	Raw      []byte
	Version  string       // the spec that the config, the first one, is written in
	Config   types.Config // merged, translated to the newest spec; all sources are data URLs
	Warnings []string     // of Ignition's own validation, and of what was fetched in clear
	Fetched  int          // how many things came over the network

	Contents map[string][]byte // of the files that name a source, by path
	Appends  map[string][]byte // what is to be appended to files, joined, by path
}

func newDocument() *Document {
	return &Document{Contents: map[string][]byte{}, Appends: map[string][]byte{}}
}

// keep puts a content where it belongs. Without a source there is none; an
// empty source is an empty content.
func (d *Document) keep(reference reference, content []byte) {
	switch {
	case reference.addition:
		d.Appends[reference.file] = append(d.Appends[reference.file], content...)
	case reference.file != "" && reference.resource.Source != nil:
		d.Contents[reference.file] = content
	}
}

// String sums the document up without contents.
func (d Document) String() string {
	return fmt.Sprintf("Ignition config of spec %s, %d bytes, %d fetched", d.Version, len(d.Raw), d.Fetched)
}

// Format keeps the contents out of every verb.
func (d Document) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, d.String()) }

// MarshalJSON keeps the contents out of documents.
func (d Document) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }
