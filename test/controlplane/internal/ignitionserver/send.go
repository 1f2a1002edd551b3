// SPDX-License-Identifier: Apache-2.0

package ignitionserver

import (
	"net/http"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/api"
)

// sendsPerSecond is the number of writes per second of a rate-limited body.
const sendsPerSecond = 10

// send writes the payload, subject to the faults. Without a fault the payload is one write, which
// Go's server sends as a chunked body, as upstream: a client detects truncation only by the
// missing last chunk.
func send(w http.ResponseWriter, payload []byte, faults api.Faults) {
	whole := payload
	if faults.TruncateAfter > 0 && faults.TruncateAfter < len(payload) {
		payload = payload[:faults.TruncateAfter]
	}
	step := len(payload)
	if faults.BytesPerSecond > 0 {
		step = max(1, faults.BytesPerSecond/sendsPerSecond)
	}
	for len(payload) > 0 {
		n := min(step, len(payload))
		if _, err := w.Write(payload[:n]); err != nil {
			panic(http.ErrAbortHandler) // the write timeout, or the client closed the connection
		}
		if payload = payload[n:]; faults.BytesPerSecond > 0 {
			if err := http.NewResponseController(w).Flush(); err != nil {
				panic(http.ErrAbortHandler)
			}
			time.Sleep(time.Second / sendsPerSecond)
		}
	}
	if faults.TruncateAfter > 0 && faults.TruncateAfter < len(whole) {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// countingWriter records the status and the number of bytes of a response.
type countingWriter struct {
	http.ResponseWriter
	status int
	bytes  int
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *countingWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes += n
	return n, err
}
