package backendtest_test

import (
	"os"
	"testing"

	"assay/backends"
	"assay/backends/backendtest"
	"assay/backends/llamacpp"
	"assay/backends/ollama"
	"assay/backends/wire"
)

// real lists the servers that the environment names: none on a machine without.
//
//	ASSAY_OLLAMA=http://127.0.0.1:11434 ASSAY_OLLAMA_MODEL=tiny-vlm ASSAY_OLLAMA_BLIND=tiny-text
//	ASSAY_LLAMACPP=http://127.0.0.1:8080 ASSAY_LLAMACPP_MODEL=any-name
func real() map[string]backendtest.Target {
	targets := map[string]backendtest.Target{}
	if url := os.Getenv("ASSAY_OLLAMA"); url != "" {
		targets["ollama"] = backendtest.Target{
			New:         func(d wire.Dial) (backends.Backend, error) { return ollama.New(wire.Config{URL: url, Dial: d}) },
			Model:       os.Getenv("ASSAY_OLLAMA_MODEL"),
			Blind:       os.Getenv("ASSAY_OLLAMA_BLIND"),
			Server:      "ollama",
			ChecksNames: true,
		}
	}
	if url := os.Getenv("ASSAY_LLAMACPP"); url != "" {
		targets["llamacpp"] = backendtest.Target{
			New:    func(d wire.Dial) (backends.Backend, error) { return llamacpp.New(wire.Config{URL: url, Dial: d}) },
			Model:  os.Getenv("ASSAY_LLAMACPP_MODEL"),
			Server: "llama.cpp",
		}
	}
	return targets
}

func TestRealServers(t *testing.T) {
	targets := real()
	t.Logf("%d real servers named by ASSAY_OLLAMA, ASSAY_LLAMACPP", len(targets))
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			if target.Model == "" {
				t.Fatal("set the model's name too: ASSAY_OLLAMA_MODEL or ASSAY_LLAMACPP_MODEL")
			}
			backendtest.Run(t, target)
		})
	}
}
