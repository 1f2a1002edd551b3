package resolve

import (
	"fmt"

	"github.com/coreos/ignition/v2/config/v3_6/types"
)

// Document is a config that refers to nothing outside itself.
type Document struct {
	// Raw is the text of the config if it was complete, else JSON of the newest spec. Raw is a
	// credential if the config or a resource of it is one.
	Raw      []byte
	Version  string       // the spec of the outermost config
	Config   types.Config // merged, translated to the newest spec; all sources are data URLs
	Warnings []string     // of Ignition's own validation, and about unencrypted resources

	Contents map[string][]byte // of the files that name a source, by path
	Appends  map[string][]byte // to be appended to files, joined, by path
}

func newDocument() *Document {
	return &Document{Contents: map[string][]byte{}, Appends: map[string][]byte{}}
}

// addContent adds the content of a reference. A file without a source has no content; an empty source
// is an empty content.
func (d *Document) addContent(reference resourceRef, content []byte) {
	switch {
	case reference.isAppended:
		d.Appends[reference.file] = append(d.Appends[reference.file], content...)
	case reference.file != "" && reference.resource.Source != nil:
		d.Contents[reference.file] = content
	}
}

// Format excludes the contents from every verb.
func (d Document) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "Ignition config of spec %s, %d bytes", d.Version, len(d.Raw))
}
