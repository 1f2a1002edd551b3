package ignition

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/wire"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// noticeableSkew is a difference of clocks that is told when something failed.
const noticeableSkew = time.Minute

// reply is what the ignition server gave.
type reply struct {
	raw  []byte
	date time.Time // the server's clock, zero when unknown
	skew time.Duration
}

// try asks once. What went wrong is a *refusal, or an error of the caller's.
func (f Fetcher) try(parent context.Context, stub *Stub) (*reply, error) {
	ctx, cancel := context.WithTimeout(parent, tryTimeout)
	defer cancel()
	response, err := f.get(ctx, stub)
	if err != nil {
		return nil, explain(stub, f.ConnectTo, err)
	}
	defer response.Body.Close()
	date, skew := serverClock(response, time.Now())
	if response.StatusCode != http.StatusOK {
		return nil, explainStatus(stub, response, skew)
	}
	raw, err := f.body(stub, response)
	if err != nil {
		return nil, err
	}
	return &reply{raw, date, skew}, nil
}

// serverClock reads the server's Date, and how far this host is behind it.
func serverClock(response *http.Response, now time.Time) (time.Time, time.Duration) {
	date, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		return time.Time{}, 0
	}
	return date, date.Sub(now.UTC().Truncate(time.Second))
}

// tellSkew says so when this host's clock and the server's differ.
func tellSkew(skew time.Duration) string {
	switch {
	case skew >= noticeableSkew:
		return fmt.Sprintf("; this host's clock is %s behind the server's", skew)
	case skew <= -noticeableSkew:
		return fmt.Sprintf("; this host's clock is %s ahead of the server's", -skew)
	}
	return ""
}

// body reads the whole payload, and tells one that was cut short (the server
// gives up on slow readers after ten seconds) from one that is no payload.
func (f Fetcher) body(stub *Stub, response *http.Response) ([]byte, error) {
	limit := f.MaxBytes
	if limit == 0 {
		limit = defaultMaxBytes
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return nil, truncated(stub, len(raw), response.ContentLength, err)
	}
	if int64(len(raw)) > limit {
		return nil, &refusal{
			code: report.Usage, remedy: "# check that the endpoint is the " + stub.server() + "'s",
			what: fmt.Sprintf("what it sends has more than %d bytes, which no payload has", limit),
		}
	}
	var whole json.RawMessage
	err = json.NewDecoder(bytes.NewReader(raw)).Decode(&whole)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, truncated(stub, len(raw), response.ContentLength, err)
	case err != nil:
		return nil, &refusal{
			code: report.Usage, cause: err,
			what:   fmt.Sprintf("what it sends (%s) is not JSON, so something else than the %s answers", kindOf(response, raw), stub.server()),
			remedy: "# check the endpoint, and what stands between this host and it:\n" + stub.whereEndpoint(),
		}
	}
	return raw, nil
}

func truncated(stub *Stub, got int, want int64, cause error) *refusal {
	no := &refusal{
		code: report.Failed, temporary: true, cause: cause,
		what:   "the payload was cut short after " + wire.Received(got, want),
		remedy: "# check the link to the server: it stops sending to a reader that takes more than 10 seconds",
	}
	if stub.standalone() {
		no.remedy = "# check the link to the server, and what stands in between"
	}
	return no
}

// specOf is the version that a config says it is of, "" where it says none.
func specOf(raw []byte) string {
	var config struct{ Ignition struct{ Version string } }
	if json.Unmarshal(raw, &config) != nil {
		return ""
	}
	return config.Ignition.Version
}

func kindOf(response *http.Response, raw []byte) string {
	if firstByte(raw) == '<' {
		return "a web page"
	}
	if kind := response.Header.Get("Content-Type"); kind != "" {
		return kind
	}
	return "without a content type"
}
