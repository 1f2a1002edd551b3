package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
)

type uplinkNameDocument struct {
	bootstrap.UplinkNameDocument
	result
}

func uplinkNameVerb() verb {
	return verb{
		name: "uplink-name",
		does: "tell the profiles of br-ex what the uplink is called since this boot, as a unit does",
		more: `
finds the uplink by the MAC that its maker gave it, and writes its name into the profiles of br-ex where it is another than before.
For the time before NetworkManager starts, which has read them later.`,
		prepare: func(*pflag.FlagSet) action {
			return func(ctx context.Context, _ *pflag.FlagSet, face *face) error {
				names, err := bootstrap.FollowUplink(ctx)
				if err != nil && !face.json {
					return err
				}
				document := uplinkNameDocument{names, resultOf(err)}
				if writeErr := face.document(document, func(w io.Writer) { sayUplinkName(w, names) }); writeErr != nil && err == nil {
					err = writeErr
				}
				return err
			}
		},
	}
}

func sayUplinkName(w io.Writer, names bootstrap.UplinkNameDocument) {
	switch names.Before {
	case "":
		fmt.Fprintln(w, "there is no br-ex of this agent whose uplink is known by its MAC; nothing was changed")
	case names.Now:
		fmt.Fprintf(w, "the uplink is called %s, as before\n", names.Now)
	default:
		fmt.Fprintf(w, "the uplink was called %s and is called %s since this boot; its profiles say so now\n", names.Before, names.Now)
	}
}
