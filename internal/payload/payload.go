// SPDX-License-Identifier: Apache-2.0

// Package payload gets the payload of a node from one of its sources: the one that an earlier run saved,
// the ignition server, or a file, and merges the administrator's overrides over it. Start reading at Get.
package payload

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Kind is the kind of a source.
type Kind string

// The kinds.
const (
	KindSaved  Kind = "saved"
	KindServer Kind = "server"
	KindFile   Kind = "file"
)

// Enum returns all kinds.
func (Kind) Enum() []string { return schema.Strings(KindSaved, KindServer, KindFile) }

// Source is a place from which a payload can be read.
type Source interface {
	Kind() Kind
	// Get returns the payload without overrides, nil if the source has none.
	Get(ctx context.Context, log report.Log) (*ignition.Payload, error)
}

// Loaded is a payload with its source.
type Loaded struct {
	Payload   *ignition.Payload // the overrides are merged over it
	Source    Kind
	Overrides []joinstate.Override // with the resources to which they refer
}

// IsSaved reports whether an earlier run saved the payload.
func (l Loaded) IsSaved() bool { return l.Source == KindSaved }

// Summary describes the payload in one line.
func (l Loaded) Summary() string {
	p := l.Payload
	text := fmt.Sprintf("%d files, %d units, %d kB", p.FileCount(), p.UnitCount(), len(p.Raw)/1000)
	switch n := len(l.Overrides); n {
	case 0:
		return text
	case 1:
		return text + ", with 1 override"
	default:
		return fmt.Sprintf("%s, with %d overrides", text, n)
	}
}

// Get returns the payload of the first source that has one. It merges the overrides over it, after it has
// fetched the resources to which they refer, with the proxy and CAs of the user data. It does not use the
// network if the source is a file.
func Get(ctx context.Context, in request.Request, log report.Log, sources ...Source) (Loaded, error) {
	for _, source := range sources {
		found, err := source.Get(ctx, log)
		if err != nil {
			return Loaded{}, err
		}
		if found != nil {
			return override(ctx, found, source.Kind(), in, log)
		}
	}
	return Loaded{}, nil
}

// override merges the overrides over a payload.
func override(
	ctx context.Context, p *ignition.Payload, source Kind, in request.Request, log report.Log,
) (Loaded, error) {
	loaded := Loaded{Source: source, Overrides: slices.Clone(in.Overrides)}
	configs := make([][]byte, 0, len(loaded.Overrides))
	for i, one := range loaded.Overrides {
		if source != KindFile {
			complete, err := ignition.OpenOverride(ctx, request.DescribeInput(one.Name), one.Config, in.UserData, log)
			if err != nil {
				return loaded, err
			}
			loaded.Overrides[i].Config = complete
		}
		configs = append(configs, loaded.Overrides[i].Config)
	}
	var err error
	loaded.Payload, err = p.Override(configs...)
	return loaded, err
}

// File is a rendered payload that was given as a file.
type File struct{ Content []byte }

// Kind returns KindFile.
func (File) Kind() Kind { return KindFile }

// Get parses the content. User data is never a complete payload, because it refers to a server.
func (f File) Get(context.Context, report.Log) (*ignition.Payload, error) {
	payload, err := ignition.LoadPayload(f.Content)
	if err == nil {
		return payload, nil
	}
	if _, wrong := ignition.ParseUserData(f.Content); wrong == nil {
		return nil, report.Fail(report.Usage,
			"# pass the file with --user-data; --payload requires the rendered config to which the user data refers",
			"the file of --payload is user data, not a payload")
	}
	return nil, err
}

// Server is the ignition server of the user data.
type Server struct {
	Fetcher  ignition.Fetcher
	UserData *ignition.UserData // nil: the server is unknown
	Dir      string             // of the agent's records, for messages
}

// Kind returns KindServer.
func (Server) Kind() Kind { return KindServer }

// Get downloads the payload. It fails without user data.
func (s Server) Get(ctx context.Context, log report.Log) (*ignition.Payload, error) {
	if s.UserData == nil {
		return nil, report.Fail(report.Usage,
			"# run the command again with --user-data FILE: the current user data of the NodePool",
			"the payload of this node must be downloaded again, because %s is missing or damaged, and no user data was given",
			filepath.Join(s.Dir, joinstate.PayloadFile))
	}
	s.Fetcher.Log = log
	return s.Fetcher.Fetch(ctx, s.UserData)
}
