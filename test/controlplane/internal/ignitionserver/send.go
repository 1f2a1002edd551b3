package ignitionserver

import (
	"net/http"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/api"
)

// sendsPerSecond is how finely a slow body is cut up.
const sendsPerSecond = 10

// send writes the payload as the faults want it. Without a fault it is one
// write, which Go's server turns into a chunked body, as on the real server:
// a client sees a cut only by the missing last chunk.
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
			panic(http.ErrAbortHandler) // the write timeout, or the client went away
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

// countingWriter remembers what was answered.
type countingWriter struct {
	http.ResponseWriter
	status int
	bytes  int
}

// Unwrap lets http.ResponseController reach the connection.
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
