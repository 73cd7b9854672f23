package backends

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRoots(t *testing.T) {
	if pool, err := Authorities("b", ""); pool != nil || err != nil {
		t.Errorf("without ca_file: %v, %v", pool, err)
	}
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	pool, err := Authorities("b", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := srv.Certificate().Verify(x509.VerifyOptions{Roots: pool}); err != nil {
		t.Errorf("the authority is not believed: %v", err)
	}
	der := filepath.Join(dir, "ca.der")
	if err := os.WriteFile(der, srv.Certificate().Raw, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		der:                        "ca_file of backend b: expected certificates in PEM form (-----BEGIN CERTIFICATE-----) in " + der + ", found none",
		filepath.Join(dir, "none"): "no such file",
	} {
		if _, err := Authorities("b", file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestKey(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	env := func(name string) string {
		return map[string]string{"GOOD": "s3cret\n", "TWO": "s3cret\ns3cret"}[name]
	}
	type from struct{ Name, KeyEnv, KeyFile string }
	for _, c := range []struct {
		b         from
		key, want string
	}{
		{from{}, "", ""},
		{from{KeyEnv: "GOOD"}, "s3cret", ""},
		{from{KeyFile: write("good", "s3cret\r\n")}, "s3cret", ""},
		{from{Name: "b", KeyEnv: "NONE"}, "", "API key of backend b: environment variable NONE is not set or empty; put the key into it"},
		{from{Name: "b", KeyEnv: "TWO"}, "", "API key of backend b: environment variable TWO holds more than a key; leave only the key in it, one line without spaces"},
		{from{Name: "b", KeyFile: write("empty", "\n")}, "", "API key of backend b: file " + filepath.Join(dir, "empty") + " is not set or empty; put the key into it"},
		{from{Name: "b", KeyFile: write("two", "key: s3cret\n")}, "", "holds more than a key"},
		{from{Name: "b", KeyFile: filepath.Join(dir, "none")}, "", "no such file"},
	} {
		key, err := APIKey("backend "+c.b.Name, c.b.KeyEnv, c.b.KeyFile, env)
		if key != c.key || (err != nil) != (c.want != "") {
			t.Errorf("%+v: got %q, %v", c.b, key, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%+v: %v, want %q without the key", c.b, err, c.want)
		}
	}
}
