package backends

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
)

// APIKey is an API key, from the environment or from its file; "": there is none. of is
// whose it is, in words. The key itself never enters an error.
func APIKey(of, fromEnv, fromFile string, env func(string) string) (string, error) {
	switch {
	case fromEnv != "":
		key, err := goodKey(env(fromEnv))
		if err != nil {
			return "", fmt.Errorf("API key of %s: environment variable %s %w", of, fromEnv, err)
		}
		return key, nil
	case fromFile != "":
		text, err := os.ReadFile(fromFile)
		if err != nil {
			return "", fmt.Errorf("API key of %s: %w; put the key into that file", of, err)
		}
		key, err := goodKey(string(text))
		if err != nil {
			return "", fmt.Errorf("API key of %s: file %s %w", of, fromFile, err)
		}
		return key, nil
	}
	return "", nil
}

// Authorities are the system's authorities and those of a backend's file; nil: it has none.
func Authorities(backend, file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("ca_file of backend %s: %w", backend, err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a system without one believes this file alone
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("ca_file of backend %s: expected certificates in PEM form (-----BEGIN CERTIFICATE-----) in %s, found none; convert a DER file with openssl x509 -inform der", backend, file)
	}
	return pool, nil
}

// goodKey trims the newline that editors leave and refuses what no HTTP header can carry.
func goodKey(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return "", errors.New("is not set or empty; put the key into it")
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", errors.New("holds more than a key; leave only the key in it, one line without spaces")
	}
	return s, nil
}
