package main

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
)

type nodeIPDocument struct {
	bootstrap.NodeIPDocument
	result
}

func nodeIPVerb() verb {
	return verb{
		name: "node-ip",
		does: "tell kubelet and CRI-O the node's address when it has changed, as a unit does at boot",
		more: `
waits up to half a minute for addresses, chooses as nodeip-configuration.service does, and writes the drop-ins and the files in
/run/nodeip-configuration. Nothing is started or stopped: kubelet and CRI-O take the address at their next start.`,
		prepare: func(*pflag.FlagSet) action {
			return func(ctx context.Context, _ *pflag.FlagSet, face *face) error {
				told, err := bootstrap.RefreshNodeIP(ctx, bootstrap.Options{StateDir: bootstrap.StateDir, Sink: face.sink})
				if err != nil && !face.json {
					return err
				}
				document := nodeIPDocument{told, resultOf(err)}
				if writeErr := face.document(document, func(w io.Writer) { sayNodeIP(w, told) }); writeErr != nil && err == nil {
					err = writeErr
				}
				return err
			}
		},
	}
}

func sayNodeIP(w io.Writer, told bootstrap.NodeIPDocument) {
	switch {
	case told.Note != "":
		fmt.Fprintf(w, "%s; nothing was changed\n", told.Note)
	case told.Changed:
		fmt.Fprintf(w, "the node has %s now, and had %s; where kubelet and CRI-O run already: systemctl restart crio kubelet\n",
			addresses(told.Addresses), addresses(told.Before))
	default:
		fmt.Fprintf(w, "the node has %s, as before\n", addresses(told.Addresses))
	}
}

func addresses(list []netip.Addr) string {
	texts := make([]string, 0, len(list))
	for _, address := range list {
		texts = append(texts, address.String())
	}
	if len(texts) == 0 {
		return "no address"
	}
	return strings.Join(texts, " and ")
}
