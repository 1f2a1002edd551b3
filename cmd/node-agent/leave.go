package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
)

type leaveDocument struct {
	bootstrap.LeaveDocument
	result
}

func leaveVerb() verb {
	return verb{
		name: "leave",
		does: "give the host back as it was before the join",
		more: `
moves the pods away, stops kubelet and its containers, and undoes every change by the ledger, newest first. What somebody
else has changed since stays theirs, and is listed. Run it again if it was stopped: it goes on where it ended.`,
		prepare: func(flags *pflag.FlagSet) action {
			noDrain := flags.Bool("no-drain", false, "do not move the pods away first")
			return func(ctx context.Context, _ *pflag.FlagSet, face *face) error {
				left, err := bootstrap.Leave(ctx, bootstrap.LeaveOptions{
					Options: bootstrap.Options{StateDir: bootstrap.StateDir, Sink: face.sink}, Evict: !*noDrain,
					FirstBoot: bootstrap.FirstBoot{Dir: bootstrap.FirstBootDir},
				})
				face.told = err != nil && stepFailed(face.recorder)
				if err != nil && !face.json {
					return err
				}
				document := leaveDocument{left, resultOf(err)}
				if writeErr := face.document(document, func(w io.Writer) { sayLeft(w, left) }); writeErr != nil && err == nil {
					err = writeErr
				}
				return err
			}
		},
	}
}

func sayLeft(w io.Writer, left bootstrap.LeaveDocument) {
	fmt.Fprintf(w, "\n%d things are as they were before the join\n", left.Restored)
	if left.Next != "" {
		fmt.Fprintf(w, "the Node object is still in the cluster; an administrator deletes it:\n  %s\n", left.Next)
	}
}
