package backends_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"assay/backends"
	"assay/backends/llamacpp"
	"assay/backends/ollama"
	"assay/backends/openai"
	"assay/backends/vllm"
	"assay/backends/wire"
)

// FuzzIdentify: whatever a server says of itself and of its models, at whatever
// path, is an identity whose figures can be true, or an error of a known kind.
func FuzzIdentify(f *testing.F) {
	for _, seed := range []string{
		`{"version":"0.24.0","models":[{"name":"m:latest","model":"m:latest","digest":"sha256:12","size":5,"size_vram":3,"context_length":4096,"details":{"quantization_level":"Q4_K_M"}}],` +
			`"capabilities":["vision","thinking"],"details":{"family":"f","parameter_size":"4.3B","quantization_level":"Q4_K_M"},"model_info":{"f.context_length":8192},"modelfile":"FROM /blobs/sha256-12\n","template":"x"}`,
		`{"model_path":"/m.gguf","build_info":"b10573","total_slots":1,"modalities":{"vision":true},"default_generation_settings":{"n_ctx":4096},"chat_template":"x",` +
			`"data":[{"id":"m","max_model_len":4096,"meta":{"n_ctx_train":4096,"n_params":43,"size":5}}]}`,
		`{"object":"list","data":[{"id":"m","object":"model","max_model_len":-1}],"version":"0.11"}`,
		`{"data":null,"models":[null],"model_info":{"a.context_length":-5},"total_slots":-1,"default_generation_settings":{"n_ctx":1e300}}`,
		`{"data":[{"id":"m","meta":{"size":-1,"n_params":1e99}}]}`, `[]`, `null`, `"m"`, ``, "\x00\xff", `{"error":"no"}`, `<html>`,
	} {
		f.Add(200, []byte(seed))
	}
	f.Add(404, []byte("not found"))
	f.Add(503, []byte(`{"error":{"message":"Loading model","code":503}}`))
	var status atomic.Int64
	var body atomic.Pointer[[]byte]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
		w.Write(*body.Load())
	}))
	f.Cleanup(s.Close)
	made := map[string]backends.Backend{}
	for name, make := range map[string]func(wire.Config) (backends.Backend, error){
		"ollama":   func(c wire.Config) (backends.Backend, error) { return ollama.New(c) },
		"llamacpp": func(c wire.Config) (backends.Backend, error) { return llamacpp.New(c) },
		"vllm":     func(c wire.Config) (backends.Backend, error) { return vllm.New(c) },
		"openai":   func(c wire.Config) (backends.Backend, error) { return openai.New(c) },
	} {
		b, err := make(wire.Config{URL: s.URL})
		if err != nil {
			f.Fatal(err)
		}
		made[name] = b
	}
	f.Fuzz(func(t *testing.T, code int, b []byte) {
		status.Store(int64(200 + max(0, code)%400))
		body.Store(&b)
		for name, adapter := range made {
			id, err := adapter.Identify(t.Context(), "m")
			var known *backends.Error
			if err != nil {
				if !errors.As(err, &known) {
					t.Fatalf("%s: an error of no kind: %v", name, err)
				}
				continue
			}
			if id.Model != "m" || id.Server == "" {
				t.Fatalf("%s: %+v", name, id)
			}
			if id.Context != nil && *id.Context < 1 || id.Slots != nil && *id.Slots < 1 || id.Bytes != nil && *id.Bytes < 1 {
				t.Fatalf("%s: what is not known is not 0 or less: %+v", name, id)
			}
		}
	})
}
