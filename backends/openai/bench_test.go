package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"assay/backends"
	"assay/backends/wire"
	"assay/timing"
)

// memory is a connection that hands over one chunk per Read, without a system
// call, so that a benchmark sees the client's own cost only.
type memory struct {
	net.Conn
	left  int
	chunk []byte
	head  []byte
	wrote chan struct{}
}

func newMemory(chunks int, content string) *memory {
	event := fmt.Sprintf(`data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"memory","choices":[{"index":0,"delta":{"content":%q},"logprobs":null,"finish_reason":null}]}`+"\n\n", content)
	return &memory{
		left:  chunks,
		chunk: fmt.Appendf(nil, "%x\r\n%s\r\n", len(event), event),
		head:  []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"),
		wrote: make(chan struct{}, 9),
	}
}

func (m *memory) Read(p []byte) (int, error) {
	switch {
	case m.head != nil:
		<-m.wrote
		n := copy(p, m.head)
		m.head = nil
		return n, nil
	case m.left > 0:
		m.left--
		return copy(p, m.chunk), nil
	case m.left == 0:
		m.left--
		return copy(p, "0\r\n\r\n"), nil
	}
	return 0, io.EOF
}

func (m *memory) Write(p []byte) (int, error) { m.wrote <- struct{}{}; return len(p), nil }
func (m *memory) Close() error                { return nil }

func (m *memory) SetDeadline(time.Time) error      { return nil }
func (m *memory) SetReadDeadline(time.Time) error  { return nil }
func (m *memory) SetWriteDeadline(time.Time) error { return nil }

// BenchmarkChunk is our own cost per streamed chunk: to the buffer, with a live
// look at every line (no chunk has content, so the look never ends), decoded
// after the stream, and a client as most are written, which decodes while the
// clock runs. A stream has 2,000 chunks; what it costs to set up and to copy the
// finished buffer is in the figures.
func BenchmarkChunk(b *testing.B) {
	const perStream = 2000
	run := func(b *testing.B, content string, decode bool) {
		var conn *memory
		be, err := New(wire.Config{URL: "http://memory.invalid", Dial: func(context.Context, string, string) (net.Conn, error) { return conn, nil }})
		if err != nil {
			b.Fatal(err)
		}
		clock := timing.NewClock()
		b.ReportAllocs()
		for left := b.N; left > 0; left -= perStream {
			n := min(left, perStream)
			conn = newMemory(n, content)
			rec := timing.NewRecorder(clock)
			buffer, err := be.Client.Stream(context.Background(), ChatPath, nil, backends.Timeouts{Stall: time.Minute}, rec, hasContent)
			if err != nil {
				b.Fatal(err)
			}
			if !decode {
				continue
			}
			if _, chunks, _ := be.decode(buffer, timing.NewRecorder(timing.NewClock())); len(chunks) != n {
				b.Fatal(len(chunks))
			}
		}
	}
	b.Run("buffer", func(b *testing.B) { run(b, " word7", false) })
	b.Run("live", func(b *testing.B) { run(b, "", false) })
	b.Run("decoded", func(b *testing.B) { run(b, " word7", true) })
	b.Run("naive", func(b *testing.B) {
		b.ReportAllocs()
		for left := b.N; left > 0; left -= perStream {
			conn := newMemory(min(left, perStream), " word7")
			tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
			resp, err := (&http.Client{Transport: tr}).Post("http://memory.invalid", "application/json", bytes.NewReader(nil))
			if err != nil {
				b.Fatal(err)
			}
			if n := len(naive(b, resp.Body)); n != min(left, perStream) {
				b.Fatal(n)
			}
		}
	})
}

// naive reads a stream line by line, decodes each and only then looks at the clock.
func naive(b *testing.B, body io.Reader) (at []time.Time) {
	in := bufio.NewReader(body)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return at
		}
		if err != nil {
			b.Error(err)
			return at
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		var c chunk
		if ok && json.Unmarshal(data, &c) == nil && len(c.Choices) > 0 && c.Choices[0].Delta.Content.answer != "" {
			at = append(at, time.Now())
		}
	}
}
